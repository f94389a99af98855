import { sign as signBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { trustIssuer } from '../../packages/issuers/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createJwk } from '../helpers/key-server.js'
import { createClock, NOW, PATIENT, SECRET } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { encode } from '../routes/provider.js'

const ISSUER = 'https://partner.example'
const API = 'https://api.example'
const { privateKey, jwk } = createJwk('real')

function sign(kid: string): string {
  const claims = { iss: ISSUER, aud: API, sub: 'ada', sid: kid, iat: NOW, exp: NOW + 3600 }
  const input = `${encode({ alg: 'ES256', kid, typ: 'at+jwt' })}.${encode(claims)}`
  const signature = signBytes('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

function createPartner() {
  const calls: string[] = []
  const clock = createClock()
  const tokens = new TokenManager({
    config: new TokenConfig({
      JWT_SECRET_KEY: SECRET,
      JWT_TOKEN_LOCATION: ['headers', 'cookies', 'query'],
      JWT_COOKIE_CSRF_PROTECT: false,
      ...PATIENT,
    }),
    clock,
    store: createMemoryStore({ clock }),
    issuers: [
      trustIssuer({
        issuer: ISSUER,
        audience: API,
        subjectPrefix: 'partner:',
        keys: async ({ kid = '' }) => {
          calls.push(kid)
          return kid === 'real' ? jwk : null
        },
      }),
    ],
  })
  return { tokens, calls }
}

function createRequest(tokens: TokenManager, cookies: readonly string[], bearer?: string): Request {
  const { JWT_ACCESS_COOKIE_NAME: access, JWT_REFRESH_COOKIE_NAME: refresh } = tokens.config
  const cookie = cookies.map((token, at) => `${at % 2 === 0 ? access : refresh}=${token}`).join('; ')
  return new Request('https://api.example/logout', {
    method: 'POST',
    headers: { cookie, ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }) },
  })
}

test('one request cannot look for more than four keys', async () => {
  const { tokens, calls } = createPartner()
  const cookies = Array.from({ length: 16 }, (_, at) => sign(`junk ${at}`))
  expect(await outcomeOf(tokens.logout(createRequest(tokens, cookies)))).toBe('KEYS_UNAVAILABLE')
  expect(calls).toHaveLength(4)
})

test('a token whose key is known is logged out along with as many others as there are', async () => {
  const { tokens } = createPartner()
  const genuine = sign('real')
  await tokens.verify(genuine)
  const cookies = Array.from({ length: 16 }, (_, at) => sign(`junk ${at}`))
  await outcomeOf(tokens.logout(createRequest(tokens, cookies, genuine)))
  expect(await outcomeOf(tokens.verify(genuine))).toBe('TOKEN_REVOKED')
})

test('requests with unknown keys on the logout route do not keep genuine tokens of other requests out', async () => {
  const { tokens } = createPartner()
  for (let round = 0; round < 20; round++) {
    const cookies = Array.from({ length: 16 }, (_, at) => sign(`junk ${round} ${at}`))
    await outcomeOf(tokens.logout(createRequest(tokens, cookies)))
  }
  expect(await outcomeOf(tokens.verify(sign('real')))).toBe('ok')
})
