import { generateKeyPairSync } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { Jwk } from '../../packages/tokenlib/src/tokens/jose.js'
import {
  type Answer,
  createJwk,
  createTestedKeys,
  headerOf,
  type KeyServer,
  messagesOf,
  startKeyServer,
  type TestedKeys,
  until,
} from '../helpers/key-server.js'
import { outcomeOf } from '../helpers/revocable.js'

const good = createJwk('good')
const set = { keys: [good.jwk] }

const createKeys = (server: KeyServer, options: object = {}): TestedKeys =>
  createTestedKeys({ jwksUri: server.url, allowPrivateNetwork: true, ...options })

/** Sends the same bytes until the client has enough, and tells how many were sent. */
function sendEndlessly(
  chunk: Uint8Array,
  headers: Record<string, string> = {},
): { answer: Answer; sent: () => number } {
  let sent = 0
  return {
    sent: () => sent,
    answer(response) {
      response.writeHead(200, { 'content-type': 'application/json', ...headers })
      const send = (): void => {
        while (!response.destroyed) {
          sent += chunk.length
          if (!response.write(chunk)) return void response.once('drain', send)
        }
      }
      send()
    },
  }
}

const text =
  (body: string, type = 'application/json'): Answer =>
  (response) =>
    void response.writeHead(200, { 'content-type': type }).end(body)

const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(code, headers).end(code === 304 ? undefined : JSON.stringify(set))

const REFUSED: readonly (readonly [string, Answer])[] = [
  ['empty', text('')],
  ['not JSON', text('{"keys":[')],
  ['HTML', text('<!doctype html><title>Log in</title>', 'text/html')],
  ['a list', text(JSON.stringify([good.jwk]))],
  ['null', text('null')],
  ['a text', text('"keys"')],
  ['an object without keys', text('{}')],
  ['keys that are an object', text(JSON.stringify({ keys: { 0: good.jwk, length: 1 } }))],
  ['keys that are null', text('{"keys":null}')],
  ['an empty set', text('{"keys":[]}')],
  ['keys in __proto__', text(JSON.stringify(set).replace('{"keys"', '{"__proto__":{"keys"').concat('}'))],
  ['nested too deeply', text(`{"keys":${'['.repeat(100)}${']'.repeat(100)}}`)],
  ['nested very deeply', text(`{"keys":${'['.repeat(100_000)}`)],
  ['not UTF-8', (response) => void response.end(Buffer.from('{"keys":[],"a":"\xff"}', 'latin1'))],
  [
    '101 keys',
    text(JSON.stringify({ keys: Array.from({ length: 101 }, (_, at) => ({ ...good.jwk, kid: `k${at}` })) })),
  ],
  ['1,000 keys', text(JSON.stringify({ keys: Array.from({ length: 1000 }, () => ({})) }))],
  ['larger than 256 KiB', text(JSON.stringify({ ...set, padding: 'x'.repeat(256 * 1024) }))],
  ['a kid of 1 MB', text(JSON.stringify({ keys: [{ ...good.jwk, kid: 'k'.repeat(1_000_000) }] }))],
  ['reset before the answer', (response) => void response.socket?.destroy()],
  [
    'reset in the body',
    (response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('{"keys":[', () => response.socket?.destroy())
    },
  ],
  ...[201, 204, 206, 304, 400, 401, 403, 404, 429, 500, 502, 503].map(
    (code) => [`status ${code}`, status(code)] as const,
  ),
  ...[301, 302, 303, 307, 308].map(
    (code) => [`a redirect ${code}`, status(code, { location: '/other.json' })] as const,
  ),
  ['a redirect without a location', status(302)],
]

describe('an answer that is', () => {
  test.each(REFUSED)('%s is a failed load, and leaves the keys as they are', async (_, answer) => {
    const server = await startKeyServer(good.jwk)
    const keys = createKeys(server)
    await keys.ready()
    const [key] = keys.find(headerOf('good')) ?? []
    server.answer(answer)
    await keys.advance(601)
    expect(keys.find(headerOf('good'))).toEqual([key])
    await until(() => keys.failed.length === 1)
    expect(keys.isTrusted(key as never)).toBe(true)
    expect(keys.find(headerOf('good'))).toEqual([key])
    expect(server.requests).toEqual(['/jwks.json', '/jwks.json'])
    expect(keys.failed[0]?.cause).toBeInstanceOf(Error)
  })

  test('of another content type is accepted: a set in object storage often has a wrong one', async () => {
    const server = await startKeyServer()
    server.answer(text(`\uFEFF${JSON.stringify(set)}`, 'binary/octet-stream'))
    expect(await createKeys(server).look(headerOf('good'))).toEqual(['good'])
  })

  test('large, but allowed, is read: 100 keys with certificates', async () => {
    const server = await startKeyServer(
      ...Array.from({ length: 100 }, (_, at) => ({
        ...good.jwk,
        kid: `k${at}`,
        key_ops: ['verify', 'sign'],
        x5c: ['M'.repeat(1500)],
        x5t: 'x'.repeat(27),
        issuer: 'https://login.example/{tenantid}/v2.0',
      })),
    )
    const keys = createKeys(server)
    expect(await keys.look(headerOf('k99'))).toEqual(['k99'])
    expect(keys.loaded[0]?.kids).toHaveLength(100)
  })
})

describe('an endpoint that', () => {
  test.each([
    ['never answers', () => {}],
    ['never ends its headers', (response) => void response.socket?.write('HTTP/1.1 200 OK\r\nx: ')],
    ['never ends its body', (response) => void response.writeHead(200).write('{"keys":[')],
  ] satisfies [string, Answer][])('%s is given up after the timeout', async (_, answer) => {
    const server = await startKeyServer()
    let isClosed = false
    server.answer((response, request) => {
      response.once('close', () => (isClosed = true))
      ;(answer as Answer)(response, request)
    })
    const keys = createKeys(server, { timeout: '50ms' })
    const loading = outcomeOf(keys.load(headerOf('good')))
    await until(() => server.requests.length === 1)
    await keys.advance('49ms')
    expect(keys.failed).toHaveLength(0)
    await keys.advance('1ms')
    expect(await loading).toBe('KEYS_UNAVAILABLE')
    expect(messagesOf(keys.failed[0]?.cause)).toContain('50 ms')
    // The connection is closed as well.
    await until(() => isClosed)
  })

  test('never stops sending is cut off at maxBytes', async () => {
    const server = await startKeyServer()
    const endless = sendEndlessly(Buffer.alloc(16_384, ' '))
    server.answer(endless.answer)
    const keys = createKeys(server, { maxBytes: 100_000 })
    await expect(keys.load(headerOf('good'))).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    expect(messagesOf(keys.failed[0]?.cause)).toContain('100000 bytes')
    // What was in the buffers of both sides.
    expect(endless.sent()).toBeLessThan(20_000_000)
  })

  test('sends a small body that decompresses to a large one is cut off at maxBytes', async () => {
    const server = await startKeyServer()
    const bomb = gzipSync(JSON.stringify({ ...set, padding: ' '.repeat(5_000_000) }))
    expect(bomb.length).toBeLessThan(100_000)
    server.answer((response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb))
    const keys = createKeys(server)
    await expect(keys.load(headerOf('good'))).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    expect(messagesOf(keys.failed[0]?.cause)).toContain('262144 bytes')
    server.answer((response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(JSON.stringify(set)))
    })
    await keys.advance(1)
    expect(await keys.look(headerOf('good'))).toEqual(['good'])
  })

  test('announces more than maxBytes is not read', async () => {
    const server = await startKeyServer()
    let sent = 0
    server.answer((response) => {
      response.writeHead(200, { 'content-length': '300000' }).flushHeaders()
      sent++
    })
    const keys = createKeys(server)
    await expect(keys.load(headerOf('good'))).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    expect(sent).toBe(1)
    expect(messagesOf(keys.failed[0]?.cause)).toContain('262144 bytes')
  })

  test('flaps is used whenever it works, and its keys stay meanwhile', async () => {
    // Of an empty set, keys are used for `maxAge` only.
    const answers = REFUSED.filter(([name]) => name !== 'an empty set')
    const server = await startKeyServer(good.jwk)
    const keys = createKeys(server)
    await keys.ready()
    for (let round = 1; round <= 20; round++) {
      if (round % 2 === 0) server.publish(good.jwk, createJwk(`round ${round}`).jwk)
      else server.answer(answers[round]?.[1] as Answer)
      await keys.advance(601)
      expect(keys.find(headerOf('good'))).toHaveLength(1)
      await until(() => keys.loaded.length + keys.failed.length === round + 1)
      if (round % 2 === 0) expect(keys.find(headerOf(`round ${round}`))).toHaveLength(1)
    }
    expect([keys.loaded.length, keys.failed.length]).toEqual([11, 10])
  })
})

describe('a key that', () => {
  const { n } = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
  const rsa = createJwk('rsa', 'RS256').jwk
  const ed = createJwk('ed', 'EdDSA').jwk
  const without = (jwk: Jwk, ...names: string[]): object =>
    Object.fromEntries(Object.entries(jwk).filter(([name]) => !names.includes(name)))

  test.each<readonly [string, unknown, string | null]>([
    ['is private', { ...createJwk('bad').privateKey.export({ format: 'jwk' }), kid: 'bad' }, 'bad'],
    ['is private in part', { ...rsa, kid: 'bad', p: 'AQAB' }, 'bad'],
    ['is symmetric', { kty: 'oct', kid: 'bad', k: 'c2VjcmV0', alg: 'HS256' }, 'bad'],
    ['is symmetric without its secret', { kty: 'oct', kid: 'bad' }, 'bad'],
    ['is for encryption', { ...rsa, kid: 'bad', use: 'enc' }, 'bad'],
    ['has a use of the wrong type', { ...rsa, kid: 'bad', use: ['sig'] }, 'bad'],
    ['cannot verify', { ...good.jwk, kid: 'bad', key_ops: ['deriveKey'] }, 'bad'],
    ['has key_ops of the wrong type', { ...good.jwk, kid: 'bad', key_ops: 'verify' }, 'bad'],
    ['is of an unknown type', { kty: 'AKP', kid: 'bad', alg: 'ML-DSA-44', pub: 'AAAA' }, 'bad'],
    ['has no type', without({ ...good.jwk, kid: 'bad' }, 'kty'), 'bad'],
    ['is on an unknown curve', { ...good.jwk, kid: 'bad', crv: 'secp256k1', alg: undefined }, 'bad'],
    ['is on another curve than its alg', { ...createJwk('bad', 'ES384').jwk, alg: 'ES256' }, 'bad'],
    ['is not on its curve', { ...good.jwk, kid: 'bad', y: good.jwk['x'] }, 'bad'],
    ['is for key agreement', { kty: 'OKP', crv: 'X25519', kid: 'bad', x: ed['x'] }, 'bad'],
    ['lacks a member', without({ ...good.jwk, kid: 'bad' }, 'y'), 'bad'],
    ['has a member of the wrong type', { ...good.jwk, kid: 'bad', x: 1 }, 'bad'],
    ['is a weak RSA key', { kty: 'RSA', kid: 'bad', n, e: 'AQAB' }, 'bad'],
    ['has the exponent 1', { ...rsa, kid: 'bad', e: 'AQ' }, 'bad'],
    ['has an endless exponent', { ...rsa, kid: 'bad', e: rsa['n'] }, 'bad'],
    ['has an endless modulus', { ...rsa, kid: 'bad', n: 'q'.repeat(100_000) }, 'bad'],
    [
      'is of small order',
      { ...ed, kid: 'bad', x: Buffer.alloc(32).fill(1, 0, 1).toString('base64url') },
      'bad',
    ],
    ['is for an algorithm that is not accepted', { ...rsa, kid: 'bad', alg: 'RS512' }, 'bad'],
    ['is for HMAC', { ...rsa, kid: 'bad', alg: 'HS256' }, 'bad'],
    ['has an alg of the wrong type', { ...rsa, kid: 'bad', alg: ['RS256'] }, 'bad'],
    ['has an alg of another type of key', { ...rsa, kid: 'bad', alg: 'ES256' }, 'bad'],
    ['has a kid of 129 characters', { ...good.jwk, kid: 'k'.repeat(129) }, null],
    ['has a kid that is a number', { ...good.jwk, kid: 1 }, null],
    ['has a kid that is null', { ...good.jwk, kid: null }, null],
    ['has an empty kid', { ...good.jwk, kid: '' }, null],
    ['is null', null, null],
    ['is a text', 'bad', null],
    ['is a list', [good.jwk], null],
  ])('%s is refused alone, and reported', async (_, bad, kid) => {
    const server = await startKeyServer(bad, good.jwk)
    const keys = createKeys(server)
    expect(await keys.look(headerOf('good'))).toEqual(['good'])
    expect(keys.loaded[0]).toMatchObject({
      kids: ['good'],
      refused: [{ kid, reason: expect.any(String) as string }],
    })
    for (const alg of ['ES256', 'RS256', 'EdDSA', 'HS256'])
      expect(await keys.look(headerOf('bad', alg))).toEqual([])
    // A set of it alone is no set.
    server.publish(bad)
    await expect(createKeys(server).ready()).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
  })

  test('shares kid and algorithm with another one is not used, and neither is the other', async () => {
    const twin = createJwk('twin')
    const server = await startKeyServer(twin.jwk, good.jwk, createJwk('twin').jwk, twin.jwk)
    const keys = createKeys(server)
    expect(await keys.look(headerOf('twin'))).toEqual([])
    expect(keys.loaded[0]?.kids).toEqual(['good'])
    expect(new Set(keys.loaded[0]?.refused.map(({ kid }) => kid))).toEqual(new Set(['twin']))
  })

  test('is there twice is one key, and the same kid may name keys of two algorithms', async () => {
    const server = await startKeyServer(good.jwk, { ...good.jwk }, { ...rsa, kid: 'good' })
    const keys = createKeys(server)
    await keys.ready()
    expect(keys.find(headerOf('good'))).toMatchObject([{ algorithm: 'ES256' }])
    expect(keys.find(headerOf('good', 'RS256'))).toMatchObject([{ algorithm: 'RS256' }])
    expect(keys.loaded[0]).toMatchObject({ kids: ['good', 'good'], refused: [] })
  })

  test('has no alg is bound to the first algorithm that fits, and to no other', async () => {
    const server = await startKeyServer(without(rsa, 'alg'), without(ed, 'alg'))
    const keys = createKeys(server)
    await keys.ready()
    expect(keys.find(headerOf('rsa', 'RS256'))).toMatchObject([{ algorithm: 'RS256' }])
    expect(await keys.look(headerOf('rsa', 'PS256'))).toEqual([])
    expect(keys.find(headerOf('ed', 'EdDSA'))).toMatchObject([{ algorithm: 'EdDSA' }])
    // Two names of one algorithm.
    expect(await keys.look(headerOf('ed', 'Ed25519'))).toEqual(['ed'])
  })

  test('has no kid is for tokens without one, and only if no other key fits', async () => {
    const unnamed = without(good.jwk, 'kid')
    const server = await startKeyServer(unnamed, rsa)
    const keys = createKeys(server)
    await keys.ready()
    expect(keys.find(headerOf())).toMatchObject([
      { kid: '', ids: [expect.stringMatching(/^.{43}$/) as string] },
    ])
    expect(keys.find(headerOf(undefined, 'RS256'))).toMatchObject([{ kid: 'rsa' }])
    expect(await keys.look(headerOf('good'))).toEqual([])
    expect(keys.find(headerOf(''))).toEqual([])
    server.publish(unnamed, createJwk('second').jwk)
    const both = createKeys(server)
    await both.ready()
    expect(both.find(headerOf())).toEqual([])
  })

  test.each(['__proto__', 'constructor', 'toString', '../../dev/null', "' OR 1=1 --", '\u0000'])(
    'has the kid %j is found by it, and nothing else is',
    async (kid) => {
      const server = await startKeyServer(good.jwk)
      const keys = createKeys(server)
      expect(await keys.look(headerOf(kid))).toEqual([])
      server.publish({ ...good.jwk, kid })
      await keys.advance(31)
      expect(await keys.look(headerOf(kid))).toEqual([kid])
    },
  )
})
