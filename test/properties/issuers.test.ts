import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TokenConfig } from '../../packages/tokenlib/src/index.js'
import { TokenDecodeError } from '../../packages/tokenlib/src/errors.js'
import { createCanonicalizer } from '../../packages/tokenlib/src/tokens/token-sources.js'
import { toIssuerPayload } from '../../packages/issuers/src/profile.js'
import { resolveSettings } from '../../packages/tokenlib/src/config/settings.js'
import { readJsonObject } from '../../packages/tokenlib/src/encoding.js'
import { AUDIENCE, createForeign, createReceiver } from '../helpers/foreign.js'
import { NOW, SECRET } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'

const NAMES = [
  ['sub', 'sid', 'jti', 'aud', 'iss', 'exp', 'iat', 'nbf', 'type', 'typ', 'token_use', 'scope', 'scp'],
  ['permissions', 'scopes', 'roles', 'fresh', 'csrf', 'gen', 'remember', 'auth_time', 'nonce', 'events'],
  ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', 'oid', 'uti'],
].flat()
const name = fc.constantFrom(...NAMES)
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.string(),
  fc.array(fc.string(), { maxLength: 4 }),
  fc.constantFrom('access', 'refresh', 'Bearer', 'ID', 'id', 0, -1, NOW, 1e300, null, true),
)
// As text, so that `__proto__` and doubled names are there as a token has them. Most begin as honest ones.
const honestPairs = fc.constantFrom(
  [],
  [['sub', 'ada'] as const],
  [['type', 'access'] as const, ['sub', 'ada'] as const],
)
const claims = fc
  .tuple(honestPairs, fc.array(fc.tuple(name, value), { maxLength: 4 }))
  .map(([honest, pairs]) => {
    const members = [...honest, ...pairs].map(
      ([key, member]) => `${JSON.stringify(key)}:${JSON.stringify(member)}`,
    )
    return `{${members.join()}}`
  })
const optional = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined })
const text = fc.constantFrom(...NAMES.filter((one) => one !== ''))
const mapping = fc.record(
  {
    sub: text,
    sid: text,
    jti: text,
    aud: text,
    scopes: fc.oneof(text, fc.array(text, { minLength: 1, maxLength: 3 })),
    access: fc.record({ claim: text, value: fc.constantFrom('access', 'Bearer') }),
  },
  { requiredKeys: [] },
)
const header = fc.record({ alg: fc.constant('ES256'), typ: optional(fc.constantFrom('JWT', 'at+jwt', 'x')) })

test('whatever an issuer signs becomes an access token of its user, or is refused as a token', () => {
  let accepted = 0
  fc.assert(
    fc.property(
      claims,
      fc.oneof(fc.constant({}), mapping),
      header,
      fc.constantFrom('oidc-access', 'at+jwt', 'tokenlib' as const),
      fc.constantFrom(null, 60),
      (json, names, joseHeader, profile, freshFor) => {
        const parsed = readJsonObject(json)
        if (parsed === null) return
        const rules = {
          profile: profile as 'oidc-access',
          mapping: names,
          subjectPrefix: 'a:',
          identityClaim: 'sub',
          freshFor,
        }
        let payload
        try {
          payload = toIssuerPayload(parsed, joseHeader, rules, () => 'made')
        } catch (error) {
          expect(error).toBeInstanceOf(TokenDecodeError)
          return
        }
        accepted++
        expect(payload.type).toBe('access')
        expect(payload.sub).toMatch(/^a:./su)
        expect(Object.isFrozen(payload)).toBe(true)
        expect(payload.scopes === undefined || Array.isArray(payload.scopes)).toBe(true)
        if (profile !== 'tokenlib') {
          expect([payload.csrf, payload.gen, payload.remember]).toEqual([undefined, undefined, undefined])
          expect(
            payload.fresh === undefined || (freshFor !== null && typeof payload.fresh === 'number'),
          ).toBe(true)
          expect(typeof payload.jti).toBe('string')
        }
      },
    ),
    { numRuns: 5000 },
  )
  expect(accepted).toBeGreaterThan(100)
})

test('whatever the claims, a manager accepts or refuses, and never fails', async () => {
  const A = createForeign('https://a.example', { algorithm: 'EdDSA' })
  const { tokens } = createReceiver([A.options({ subjectPrefix: 'a:' })])
  const codes = new Set<string>()
  await fc.assert(
    fc.asyncProperty(claims, async (json) => {
      const rest = json === '{}' ? '' : `,${json.slice(1, -1)}`
      const honest = JSON.stringify({ iss: A.issuer, aud: AUDIENCE, sub: 'ada', iat: NOW - 1, exp: NOW + 9 })
      const outcome = await outcomeOf(tokens.verify(A.forge({ claims: `${honest.slice(0, -1)}${rest}}` })))
      codes.add(outcome)
      expect(outcome).toMatch(/^(?:ok|[A-Z_]+)$/)
    }),
    { numRuns: 2000 },
  )
  expect(codes).toContain('ok')
  expect(codes).toContain('TOKEN_INVALID')
})

test('any text has one canonical spelling, which is its own', () => {
  const A = createForeign('https://a.example')
  const { sources } = resolveSettings(new TokenConfig({ JWT_SECRET_KEY: SECRET }), {
    schema: null,
    issuers: [A.trust()],
    emit: () => undefined,
  })
  const toCanonical = createCanonicalizer(sources, 8192)
  const token = A.sign()
  const edited = fc
    .tuple(fc.nat({ max: token.length }), fc.nat({ max: 3 }), fc.string({ maxLength: 4 }))
    .map(([at, removed, inserted]) => token.slice(0, at) + inserted + token.slice(at + removed))
  fc.assert(
    fc.property(fc.oneof(edited, fc.string({ unit: 'binary' })), (given) => {
      const canonical = toCanonical(given)
      expect(toCanonical(canonical)).toBe(canonical)
      // Nothing but the signature is ever another one.
      expect(canonical.slice(0, canonical.lastIndexOf('.') + 1)).toBe(
        given.slice(0, given.lastIndexOf('.') + 1),
      )
      expect(canonical).toHaveLength(given.length)
    }),
    { numRuns: 5000 },
  )
})
