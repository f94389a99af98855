import { describe, expect, test } from 'vitest'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'
import { createForeign, createReceiver } from '../helpers/foreign.js'
import { keyPairFor } from '../helpers/keys.js'
import { createManager, SECRET } from '../helpers/manager.js'
import { createRevocable } from '../helpers/revocable.js'

const ISSUER = createForeign('https://idp.example')

describe('inspect', () => {
  test('tells which of the keys signs, by its id and its algorithm', () => {
    const { tokens, store } = createRevocable({
      JWT_PREVIOUS_SECRET_KEY: `old ${SECRET}`,
      JWT_DECODE_ALGORITHMS: ['HS256', 'HS512'],
    })
    const { keys, missingKey, ...rest } = internalsOf(tokens).inspect()
    const current = tokens.keys.current ?? ''
    const previous = createManager({ JWT_SECRET_KEY: `old ${SECRET}` }).tokens.keys.current ?? ''
    const toKey = (kid: string, algorithm: string, signs: boolean) => ({
      kid,
      ids: [kid],
      algorithm,
      signs,
      isTrusted: true,
    })
    expect(new Set(keys)).toEqual(
      new Set([
        toKey(current, 'HS256', true),
        toKey(current, 'HS512', false),
        toKey(previous, 'HS256', false),
        toKey(previous, 'HS512', false),
      ]),
    )
    expect(missingKey).toBeNull()
    expect(rest).toEqual({ config: tokens.config, store, issuers: [] })
  })

  test('a manager that only verifies has no key that signs, and tells why', () => {
    const { publicKey } = keyPairFor('ES256')
    const JWT_PUBLIC_KEY = publicKey.export({ type: 'spki', format: 'pem' }) as string
    const { tokens } = createManager({ JWT_SECRET_KEY: null, JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY })
    const { keys, missingKey } = internalsOf(tokens).inspect()
    expect(keys.map(({ signs }) => signs)).toEqual([false])
    expect(missingKey).toContain('JWT_PRIVATE_KEY')
  })

  test('has the issuers, and loads their keys', async () => {
    let isDown = false
    const fetch = async (): Promise<Response> => {
      if (isDown) throw new Error('offline')
      return Response.json({ keys: [ISSUER.jwk] })
    }
    const other = createForeign('https://other.example')
    const keys = { jwksUri: 'https://idp.example/keys', fetch }
    const { tokens } = createReceiver([ISSUER.options({ keys }), other.options()])
    const [remote, fixed] = internalsOf(tokens).inspect().issuers
    const facts = { profile: 'oidc-access', audience: ['https://api.example'] }
    expect(remote).toMatchObject({ issuer: ISSUER.issuer, ...facts })
    expect(fixed).toMatchObject({ issuer: other.issuer, ...facts })
    isDown = true
    await expect(remote?.loadKeys()).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    await expect(fixed?.loadKeys()).resolves.toBeUndefined()
  })
})

describe('toSubject', () => {
  const { tokens } = createReceiver([ISSUER.options({ subjectPrefix: 'idp:' })])
  const { toSubject } = internalsOf(tokens)

  test('adds the prefix of the issuer', () => {
    expect(toSubject(ISSUER.issuer, 'ada')).toBe('idp:ada')
  })

  test('refuses an unknown issuer and an empty sub by name', () => {
    const unknown = new TypeError('issuer must be one of the issuers of this manager')
    expect(() => toSubject('https://other.example', 'ada')).toThrow(unknown)
    expect(() => toSubject(ISSUER.issuer, '')).toThrow(new TypeError('sub must be a non-empty string'))
  })
})

// A process that does not check the issuer yet may still accept it.
test('a token without an issuer can be revoked where JWT_DECODE_ISSUER is set', async () => {
  const { tokens } = createRevocable({ JWT_DECODE_ISSUER: 'us' })
  const token = createManager().tokens.createAccessToken({ uid: 'ada' })
  expect(await internalsOf(tokens).readRevocableToken(token)).toMatchObject({ sub: 'ada' })
  const other = createManager().tokens.createAccessToken({ uid: 'ada' }, { issuer: 'them' })
  expect(await internalsOf(tokens).readRevocableToken(other)).toBeNull()
})
