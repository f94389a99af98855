import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { trustIssuer } from '../../packages/issuers/src/index.js'
import { openToken, withBearer } from '../helpers/manager.js'
import {
  type AuthorizationServer,
  createSigningKey,
  RESOURCE,
  startAuthorizationServer,
  WEB_CLIENT,
} from './authorization-server.js'

let server: AuthorizationServer
beforeAll(async () => void (server = await startAuthorizationServer([createSigningKey('first')])))
afterAll(() => server.stop())

function createManager(): TokenManager {
  return new TokenManager({
    config: new TokenConfig(),
    issuers: [
      trustIssuer({
        issuer: server.issuer,
        audience: RESOURCE,
        profile: 'at+jwt',
        keys: {
          discovery: `${server.issuer}/.well-known/openid-configuration`,
          allowPrivateNetwork: true,
        },
      }),
    ],
  })
}

describe('tokens of oidc-provider', () => {
  test('a token of a client passes, with its scopes', async () => {
    const token = await server.createServiceToken()
    expect(openToken(token).header).toMatchObject({ alg: 'ES256', typ: 'at+jwt', kid: 'first' })
    const payload = await createManager().accessTokenRequired(withBearer(token))
    expect(payload).toMatchObject({
      iss: server.issuer,
      sub: 'service',
      aud: RESOURCE,
      type: 'access',
      scopes: ['notes:read'],
    })
  })

  test('a token of a user passes, and the ID token next to it does not', async () => {
    const { accessToken, idToken } = await server.logIn('ada')
    const tokens = createManager()
    expect(await tokens.verify(accessToken)).toMatchObject({ sub: 'ada', client_id: WEB_CLIENT })
    await expect(tokens.verify(idToken)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  })
})

describe('ES256 signatures of both spellings', () => {
  test('every token passes in both, and is one token for the blocklist and for getTokenFromRequest', async () => {
    const tokens = createManager()
    const asked = new Set<string>()
    tokens.setTokenBlocklist((token) => {
      asked.add(token)
      return false
    })
    const issued = await Promise.all(Array.from({ length: 40 }, () => server.createServiceToken()))
    const found = new Set<string>()
    for (const token of issued) {
      for (const spelling of [token, otherSpelling(token)]) {
        await tokens.accessTokenRequired(withBearer(spelling))
        found.add((await tokens.getTokenFromRequest(withBearer(spelling)))?.token ?? '')
      }
    }
    // All 40 with the same s would happen once in 2^39 runs.
    const high = issued.filter(isHigh)
    expect(high.length).toBeGreaterThan(0)
    expect(high.length).toBeLessThan(issued.length)
    expect(asked.size).toBe(issued.length)
    expect([...found].toSorted()).toEqual([...asked].toSorted())
    expect([...asked].some(isHigh)).toBe(false)
  })

  test('a token that was revoked in one spelling is refused in the other', async () => {
    const tokens = createManager()
    const token = await server.createServiceToken()
    const refused = (await tokens.getTokenFromRequest(withBearer(token)))?.token
    tokens.setTokenBlocklist((presented) => presented === refused)
    for (const spelling of [token, otherSpelling(token)]) {
      await expect(tokens.verify(spelling)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
    }
  })
})

// The order of P-256 (FIPS 186-4, D.1.2.3).
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

function readS(token: string): bigint {
  const signature = Buffer.from(token.slice(token.lastIndexOf('.') + 1), 'base64url')
  return BigInt(`0x${signature.subarray(32).toString('hex')}`)
}

function isHigh(token: string): boolean {
  return readS(token) > ORDER / 2n
}

// (r, n - s) is as good a signature as (r, s).
function otherSpelling(token: string): string {
  const end = token.lastIndexOf('.') + 1
  const r = Buffer.from(token.slice(end), 'base64url').subarray(0, 32)
  const s = Buffer.from((ORDER - readS(token)).toString(16).padStart(64, '0'), 'hex')
  return token.slice(0, end) + Buffer.concat([r, s]).toString('base64url')
}
