import { expect, test } from 'vitest'
import {
  createId,
  createTimedId,
  idWords,
  readIdHead,
  readIdTail,
  readTimedId,
  readTokenStart,
  systemRandom,
  toId,
  toTimedId,
} from '../../packages/tokenlib/src/tokens/ids.js'
import { resolveSettings } from '../../packages/tokenlib/src/config/settings.js'
import { TokenConfig } from '../../packages/tokenlib/src/index.js'
import { NOW, SECRET } from '../helpers/manager.js'

const ms = NOW * 1000
const idAt = (at: number) => createTimedId(at, systemRandom)

test('a timed id carries its moment, and 80 random bits', () => {
  expect(readTimedId(idAt(ms + 123))).toBe(ms + 123)
  expect(toTimedId(ms, 'AAAAAAAAAAAAAA')).toMatch(/^[\w-]{8}A{14}$/)
  expect(idAt(ms)).toHaveLength(22)
  expect(new Set(Array.from({ length: 1000 }, () => idAt(ms))).size).toBe(1000)
})

test.each([0, 9, 11])('a source that returns %i bytes instead of ten makes no timed id', (size) => {
  expect(() => createTimedId(ms, () => new Uint8Array(size))).toThrow(TypeError)
})

test.each(['0123456789', { length: 10 }])(
  'a source that returns %j instead of bytes makes no timed id',
  (given) => {
    expect(() => createTimedId(ms, () => given as unknown as Uint8Array)).toThrow(TypeError)
  },
)

test('a moment of 48 bits is read as it is', () => {
  for (const at of [0, 2 ** 31, 2 ** 47, 2 ** 48 - 1]) expect(readTimedId(idAt(at))).toBe(at)
})

test.each(['', 'short', 'x'.repeat(21), 'x'.repeat(23), '!'.repeat(22), `${'A'.repeat(21)}B`])(
  '%j is no timed id',
  (id) => expect(readTimedId(id)).toBeNull(),
)

test.each(['00'.repeat(16), 'ff'.repeat(16), '00112233445566778899aabbccddeeff'])(
  'the id of the bytes %s is read as four words, which make the same id',
  (hex) => {
    const bytes = Buffer.from(hex, 'hex')
    const id = bytes.toString('base64url')
    expect([readIdHead(id), readIdTail(id)]).toEqual([true, true])
    expect([...idWords]).toEqual([0, 4, 8, 12].map((at) => bytes.readInt32BE(at)))
    const [w0 = 0, w1 = 0, w2 = 0, w3 = 0] = idWords
    expect(toId(w0, w1, w2, w3)).toBe(id)
  },
)

test('no half of an id is read from a text of another length', () => {
  for (const text of ['', 'A'.repeat(21), 'A'.repeat(23)]) {
    expect([readIdHead(text), readIdTail(text)]).toEqual([false, false])
  }
})

test('a character that is not a base64url digit spoils the half that it is in', () => {
  for (let at = 0; at < 22; at++) {
    const text = `${'A'.repeat(at)}+${'A'.repeat(21 - at)}`
    // Both halves have some bits of digit 10.
    expect([readIdHead(text), readIdTail(text)], `digit ${at}`).toEqual([at > 10, at < 10])
  }
})

const ours = { jti: idAt(ms), iat: NOW }

test.each([
  ['the session of a refreshed token', { ...ours, sid: idAt(ms - 5_000_123) }, ms - 5_000_123],
  ['a session whose store runs ahead', { ...ours, sid: idAt(ms + 3_600_000) }, ms + 3_600_000],
  ['the token, where the session is of another make', { ...ours, sid: 'abc' }, ms],
  ['the token itself, to the millisecond', { jti: idAt(ms + 456), iat: NOW }, ms + 456],
  ['a token a little after its issue date', { jti: idAt(ms + 120_999), iat: NOW }, ms + 120_999],
  ['the issue date, where the id is of another moment', { jti: idAt(ms - 1), iat: NOW }, ms],
  ['the issue date, where the id is later than that', { jti: idAt(ms + 121_000), iat: NOW }, ms],
  ['the issue date, where the ids are foreign', { sid: 'abc', jti: 'f81d4fae-7dec-11d0', iat: NOW }, ms],
  [
    'the issue date, where only the session looks like ours',
    { sid: idAt(ms - 9000), jti: 'x', iat: NOW },
    ms,
  ],
  ['the issue date, where the token has no id', { sid: idAt(ms - 9000), iat: NOW }, ms],
  ['before everything, where there is no issue date', { sid: idAt(ms), jti: idAt(ms) }, 0],
  ['before everything, where there is nothing', {}, 0],
])('a token starts with %s', (_what, claims, start) => {
  expect(readTokenStart(claims)).toBe(start)
})

test.each([
  ['its exp', { ...ours, exp: NOW + 60 }, ms + 60_000],
  ['nothing, without an exp', ours, null],
  // It counts as started in 1970.
  ['nothing, without an iat to count from', { exp: NOW + 60 }, null],
])('the life of an own token ends with %s', (_, claims, end) => {
  const { sources } = resolveSettings(new TokenConfig({ JWT_SECRET_KEY: SECRET }), {
    schema: null,
    issuers: [],
    emit: () => undefined,
  })
  const payload = { sub: 'ada', type: 'access', ...claims } as const
  expect(sources.own.lifeOf(payload)).toEqual({ start: 'iat' in claims ? ms : 0, end })
})

test('of foreign ids of the same shape next to none is taken for ours', () => {
  const foreign = Array.from({ length: 20_000 }, () => createId(systemRandom))
  const starts = foreign.map((sid) => readTokenStart({ sid, jti: createId(systemRandom), iat: NOW }))
  expect(starts.filter((start) => start !== ms)).toEqual([])
})

test('the random source gives as many bytes as it is asked for, and none twice', () => {
  const sizes = [16, 4096, 5000, 10]
  const drawn = sizes.map((size) => Buffer.from(systemRandom(size)))
  expect(drawn.map(({ length }) => length)).toEqual(sizes)
  expect(new Set(Array.from({ length: 1000 }, () => createId(systemRandom))).size).toBe(1000)
})
