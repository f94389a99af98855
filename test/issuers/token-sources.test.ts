import { describe, expect, test } from 'vitest'
import { introspect, trustLegacyIssuer } from '../../packages/issuers/src/index.js'
import { resolveSettings } from '../../packages/tokenlib/src/config/settings.js'
import { TokenConfig, type TrustedIssuer } from '../../packages/tokenlib/src/index.js'
import type { JwsHeader } from '../../packages/tokenlib/src/tokens/jose.js'
import type { SourceKeys } from '../../packages/tokenlib/src/tokens/token-source.js'
import { createCanonicalizer, parseUnverifiedJwt } from '../../packages/tokenlib/src/tokens/token-sources.js'
import { createForeign, createReceiver, flipToken } from '../helpers/foreign.js'
import { OPAQUE_ISSUER, opaqueOptions } from '../helpers/introspection.js'
import { NOW, SECRET, withBearer } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { encode, forge } from '../security/harness/forge.js'
import { countWork } from '../security/limits/count-work.js'

const A = createForeign('https://a.example')
const OLD_SECRET = 'Rk2vYw8sQe5uTz1xLm7nBc4pHd9fGj3a'
const OLD = trustLegacyIssuer({
  issuer: 'before',
  withoutIss: true,
  secret: OLD_SECRET,
  maxTokenAge: '1h',
  acceptUntil: new Date((NOW + 86_400) * 1000),
})

/** The application before, with another way to find its keys. */
function withKeys(find: SourceKeys['find']): TrustedIssuer {
  return {
    ...OLD,
    connect(manager) {
      const source = OLD.connect(manager)
      return { ...source, keys: { ...source.keys, find } }
    },
  }
}

const connect = (issuers: readonly TrustedIssuer[]) =>
  resolveSettings(new TokenConfig({ JWT_SECRET_KEY: SECRET }), {
    schema: null,
    issuers,
    emit: () => undefined,
  }).sources

const signOld = (header: object | string) => forge({ key: OLD_SECRET, header, claims: { sub: 'ada' } })

describe('the source of a token without iss', () => {
  const findIn = (issuers: readonly TrustedIssuer[], token: string) =>
    connect(issuers).find(parseUnverifiedJwt(token, 8192)).issuer

  test('is the issuer that has a key for its header, and otherwise we', () => {
    expect(findIn([OLD], signOld({ alg: 'HS256' }))).toBe('before')
    expect(findIn([OLD], signOld({ alg: 'HS512' }))).toBeNull()
    expect(findIn([OLD], signOld({ alg: 'HS256', kid: 'own' }))).toBeNull()
  })

  test.each<[what: string, header: object | string]>([
    ['no algorithm', { kid: 'main' }],
    ['an algorithm that is no text', { alg: ['HS256'] }],
    ['a kid that is no text', { alg: 'HS256', kid: ['main'] }],
    ['a kid that is null', { alg: 'HS256', kid: null }],
    ['no JSON', 'HS256'],
    ['a list', '["HS256"]'],
  ])('is we for a header with %s, and no issuer sees that header', (_, header) => {
    const seen: JwsHeader[] = []
    const issuer = withKeys((given) => {
      seen.push(given)
      return []
    })
    expect(findIn([issuer], signOld(header))).toBeNull()
    expect(seen).toEqual([])
  })

  test('is we while the issuer has no keys yet, so that our own tokens pass', async () => {
    const issuer = withKeys(() => null)
    expect(findIn([issuer], signOld({ alg: 'HS256' }))).toBeNull()
    const { tokens } = createReceiver([issuer])
    expect(await outcomeOf(tokens.verify(tokens.createAccessToken({ uid: 'ada' })))).toBe('ok')
  })
})

describe('what is no token is refused as one, also next to issuers', () => {
  const header = encode({ alg: 'ES256' })

  test.each([
    ['an empty text', ''],
    ['no dot', header],
    ['a header that is not base64url', `e30=.${encode({ sub: 'ada' })}.AA`],
    ['a header that is not JSON', `${encode('{')}.${encode({ sub: 'ada' })}.AA`],
    ['a header without an algorithm', `${encode({})}.${encode({ sub: 'ada' })}.AA`],
    ['an algorithm that is no text', `${encode({ alg: ['ES256'] })}.${encode({ sub: 'ada' })}.AA`],
    ['claims that are not base64url', `${header}.e30=.AA`],
    ['claims that are not UTF-8', `${header}.${encode(Buffer.from('{"sub":"\xFF"}', 'latin1'))}.AA`],
    ['claims that are not JSON', `${header}.${encode('{')}.AA`],
    ['nothing', undefined],
    ['null', null],
    ['a number', 1],
    ['a list', ['a.b.c']],
    ['an object with a length', { length: 3 }],
  ])('%s', async (_, token) => {
    const { tokens } = createReceiver([OLD, A.trust({ subjectPrefix: 'a:' })])
    expect(await outcomeOf(tokens.verify(token as string))).toBe('TOKEN_INVALID')
    if (typeof token !== 'string' || token === '') return
    expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('TOKEN_INVALID')
  })
})

describe('the issuer that is asked about a token', () => {
  const { findOpaque } = connect([introspect(opaqueOptions())])
  const of = (text: string): string => Buffer.from(text, 'latin1').toString('base64url')

  test.each([
    ['text that decodes to text', of('abc')],
    ['text of one segment that is JSON but for its last byte', of('{ab\xFF')],
    ['as long as a token may be', 'o'.repeat(100)],
    ['a JWT of the issuer', forge({ key: SECRET, claims: { iss: OPAQUE_ISSUER } })],
  ])('is its own for %s', (_, token) => {
    expect(findOpaque(token, Math.max(100, token.length))?.issuer).toBe(OPAQUE_ISSUER)
  })

  test.each([
    ['no text', 1],
    ['a text that is too long', 'o'.repeat(101)],
    ['what is no bearer token', 'opaque token'],
    ['a JWT of nobody', forge({ key: SECRET, claims: {} })],
    ['a JWT that is cut off', of('{"alg":"HS256"}')],
    ['a JWT with a space in front of its header', `${of(' {"alg":"HS256"}')}.e30.AA`],
  ])('is nobody for %s', (_, token) => {
    expect(findOpaque(token as string, String(token).includes('.') ? 8192 : 100)).toBeNull()
  })
})

describe('the one spelling of a token', () => {
  const create = (maxLength = 8192) =>
    createCanonicalizer(connect([OLD, A.trust({ subjectPrefix: 'a:' })]), maxLength)
  const low = A.sign()
  const high = flipToken(low, 'ES256')

  test('holds for the longest token that is accepted', () => {
    expect(create(high.length)(high)).toBe(low)
    expect(create(high.length - 1)(high)).toBe(high)
  })

  test('is the one it has, where no source can be told', () => {
    const toCanonical = create()
    const [header = '', payload = '', signature = ''] = high.split('.')
    const named = encode({ iss: 'before' })
    for (const token of [
      `${header}.${signature}`,
      `${header}..${signature}`,
      `${header}.${payload}.${payload}.${signature}`,
      // Not an issuer, but the name of one whose tokens have no iss.
      `${header}.${named}.${signature}`,
    ]) {
      expect(toCanonical(token)).toBe(token)
    }
    expect(toCanonical(high)).toBe(low)
  })

  test('is the one it has, if its algorithm is no text', () => {
    const [, payload, signature] = high.split('.')
    const token = `${encode({ alg: ['ES256'] })}.${payload}.${signature}`
    expect(create()(token)).toBe(token)
  })

  test('is not looked for in what is too long to be a token', async () => {
    const toCanonical = create()
    const huge = `${'A'.repeat(2 ** 20)}.e30.${high.slice(high.lastIndexOf('.') + 1)}`
    const { work, error } = await countWork(() => toCanonical(huge))
    expect(error).toBeNull()
    expect(work.total).toBe(0)
  })
})
