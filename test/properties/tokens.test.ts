import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isTokenError, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import type { JsonValue } from '../../packages/tokenlib/src/kit.js'
import { RESERVED_CLAIMS } from '../../packages/tokenlib/src/tokens/payload.js'
import { ALL_ALGORITHMS, configFor } from '../helpers/keys.js'
import { createClock, createManager } from '../helpers/manager.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const managers = ALL_ALGORITHMS.map(
  (algorithm) => new TokenManager({ config: new TokenConfig(configFor(algorithm)), clock: createClock() }),
)
const manager = fc.constantFrom(...managers)
// Signed in advance: otherwise these tests would spend most of their time signing.
const made = fc.constantFrom(
  ...managers.flatMap((tokens) =>
    Array.from({ length: 8 }, () => [tokens, tokens.createAccessToken({ uid: 'u' })] as const),
  ),
)

/** Any JSON object of a size a token can have, `__proto__` and the like among its names. */
const claims = fc
  .dictionary(
    fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty', ''),
    ),
    fc.jsonValue({ maxDepth: 4 }),
    { maxKeys: 8, noNullPrototype: true },
  )
  .map((object) =>
    Object.fromEntries(
      Object.entries(object).filter(([name]) => !RESERVED_CLAIMS.has(name) && name !== 'uid'),
    ),
  )
  .filter((object) => JSON.stringify(object).length < 4000)

/** -0 is the one JSON number that JSON.stringify does not keep. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

test('any JSON claims come back as they were given', () => {
  fc.assert(
    fc.property(manager, fc.string({ minLength: 1, unit: 'binary' }), claims, (tokens, uid, extras) => {
      const given = { ...extras, uid } as { uid: string; [claim: string]: JsonValue }
      const payload = internalsOf(tokens).verifyWithoutRevocation(tokens.createAccessToken(given))
      expect(payload.sub).toBe(uid)
      for (const name of Object.keys(extras)) {
        expect(Object.getOwnPropertyDescriptor(payload, name)?.value).toEqual(plain(extras[name]))
      }
    }),
    { numRuns: 500 },
  )
})

describe('a token that is not the one we made', () => {
  const { tokens } = createManager({ JWT_VERIFIED_CACHE_SIZE: 0 })
  const refuses = (verifier: TokenManager, token: string): void => {
    let thrown: unknown = 'nothing: it was accepted'
    try {
      internalsOf(verifier).verifyWithoutRevocation(token)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toSatisfy(isTokenError)
  }

  test('any one byte changed to any other is refused', () => {
    fc.assert(
      fc.property(made, fc.nat(), fc.integer({ min: 0, max: 255 }), ([tokens, token], position, byte) => {
        const bytes = Buffer.from(token)
        const at = position % bytes.length
        fc.pre(bytes[at] !== byte)
        bytes[at] = byte
        refuses(tokens, bytes.toString('latin1'))
      }),
      { numRuns: 2000 },
    )
  })

  test('any text inserted anywhere, any part removed, any part repeated is refused', () => {
    const edit = fc.oneof(
      fc.tuple(fc.constant('insert'), fc.string({ minLength: 1, maxLength: 4, unit: 'binary' })),
      fc.tuple(fc.constant('remove'), fc.constant('')),
      fc.tuple(fc.constant('repeat'), fc.constant('')),
    )
    fc.assert(
      fc.property(
        made,
        fc.nat(),
        fc.integer({ min: 1, max: 60 }),
        edit,
        ([tokens, token], position, length, [kind, text]) => {
          const at = position % token.length
          const part = token.slice(at, at + length)
          const rest = token.slice(kind === 'remove' ? at + part.length : at)
          refuses(tokens, token.slice(0, at) + (kind === 'repeat' ? part : text) + rest)
        },
      ),
      { numRuns: 2000 },
    )
  })

  test('any other spelling of its segments is refused', () => {
    const spell = (
      segment: string,
      padding: boolean,
      alphabet: boolean,
      at: number,
      blank: string,
    ): string => {
      const standard = alphabet ? segment.replaceAll('-', '+').replaceAll('_', '/') : segment
      const spaced =
        blank === ''
          ? standard
          : standard.slice(0, at % standard.length) + blank + standard.slice(at % standard.length)
      return padding ? spaced + '='.repeat((4 - (segment.length % 4)) % 4) : spaced
    }
    const option = fc.tuple(
      fc.boolean(),
      fc.boolean(),
      fc.nat(),
      fc.constantFrom('', '', ' ', '\n', '\r\n', '\t', '%20', '\0'),
    )
    fc.assert(
      fc.property(made, fc.tuple(option, option, option), ([tokens, token], options) => {
        const spelled = token
          .split('.')
          .map((segment, index) => spell(segment, ...(options[index] as (typeof options)[0])))
          .join('.')
        fc.pre(spelled !== token)
        refuses(tokens, spelled)
      }),
      { numRuns: 1000 },
    )
  })

  test('nothing but our errors comes out, whatever goes in', () => {
    const segment = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value)).toString('base64url')),
      fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
      fc.constantFrom('eyJhbGciOiJIUzI1NiJ9', 'eyJhbGciOiJub25lIn0', ''),
    )
    const token = fc.oneof(
      fc.array(segment, { maxLength: 6 }).map((segments) => segments.join('.')),
      fc.string({ unit: 'binary' }),
    )
    fc.assert(
      fc.property(token, (text) => refuses(tokens, text)),
      { numRuns: 5000 },
    )
    fc.assert(
      fc.property(fc.anything(), (value) => refuses(tokens, value as string)),
      { numRuns: 1000 },
    )
  })

  test('nothing but our errors comes out of a request, whatever its headers say', async () => {
    const all = createManager({ JWT_TOKEN_LOCATION: ['headers', 'cookies', 'json', 'query'] }).tokens
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('Bearer', 'Bearer ', 'Bearer a', 'bearer a, Bearer b', 'Basic x, Bearer y'),
    )
    const request = fc.record({
      method: fc.constantFrom('GET', 'POST', 'post', 'BREW'),
      url: fc.string({ unit: 'binary' }).map((text) => `/?${text}`),
      headers: fc.record(
        {
          authorization: value,
          cookie: fc.oneof(
            value,
            fc.constantFrom('access_token_cookie=x', 'access_token_cookie=x; access_token_cookie=y'),
          ),
          'content-type': fc.constantFrom(
            'application/json',
            'application/json; charset=utf-8',
            'text/plain',
            'a/b+json',
            ';;',
          ),
        },
        { requiredKeys: [] },
      ),
      body: fc.oneof(fc.string(), fc.jsonValue(), fc.anything()),
    })
    await fc.assert(
      fc.asyncProperty(request, async (source) => {
        const error = await all.accessTokenRequired(source).then(
          () => null,
          (error: unknown) => error,
        )
        expect(isTokenError(error)).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })
})
