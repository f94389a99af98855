import { afterAll, beforeAll, expect, test } from 'vitest'
import { generateKeyPair, SignJWT } from 'jose'
import { exchangeContract, keepCookies, type OldClient, send } from '../shared/exchange-contract.js'
import { claimsOf } from '../shared/migration-contract.js'
import { start as startAfter } from './after.js'
import { initSuperTokens, start as startBefore } from './before.js'
import { startCore } from './core.js'

let core: Awaited<ReturnType<typeof startCore>>
beforeAll(async () => {
  core = await startCore()
  initSuperTokens(core.url)
})
afterAll(() => core.close())

async function logIn(url: string, name: string) {
  const response = await fetch(`${url}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ name, password: 'correct horse' }),
  })
  return keepCookies(response)
}

const toHeaders = (token: string): OldClient['headers'] => ({ cookie: `sAccessToken=${token}` })

exchangeContract('SuperTokens', {
  startBefore: () => startBefore(0),
  async logIn(url, name) {
    const token = (await logIn(url, name)).get('sAccessToken') ?? ''
    return { uid: name === 'ada' ? '7' : '8', headers: toHeaders(token) }
  },
  startAfter,
  exchange: ['GET', '/me'],
  async forged({ headers }) {
    const old = (headers['cookie'] ?? '').slice('sAccessToken='.length)
    const [header = '', , signature = ''] = old.split('.')
    const claims = claimsOf(old)
    const { privateKey } = await generateKeyPair('RS256')
    const protectedHeader = JSON.parse(Buffer.from(header, 'base64url').toString()) as { alg: string }
    const changed = Buffer.from(JSON.stringify({ ...claims, sub: '8' })).toString('base64url')
    return {
      'with other claims': toHeaders(`${header}.${changed}.${signature}`),
      'of another key': toHeaders(
        await new SignJWT(claims).setProtectedHeader(protectedHeader).sign(privateKey),
      ),
      expired: toHeaders(await core.issueExpired(String(claims['sessionHandle']))),
      'no token': toHeaders('garbage'),
    }
  },
})

test('an expired access token: the refresh token is exchanged, and neither of the two again', async () => {
  const before = await startBefore(0)
  const jar = await logIn(before.url, 'ada')
  await before.close()
  const at = Date.now()
  const settings = { port: 0, clock: () => at, acceptUntil: new Date(at + 86_400_000) }
  const { url, tokens, close } = await startAfter(settings)
  try {
    const refresh = () =>
      send(url, 'POST', '/auth/session/refresh', { cookie: `sRefreshToken=${jar.get('sRefreshToken')}` })
    const answers = await Promise.all([refresh(), refresh(), refresh()])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 409, 409])
    expect((await send(url, 'GET', '/me', toHeaders(jar.get('sAccessToken') ?? ''))).status).toBe(409)
    expect((await tokens.sessions.list('7')).length).toBe(1)
  } finally {
    await close()
  }
})

test('a session that was ended at the core is not exchanged', async () => {
  const before = await startBefore(0)
  const jar = await logIn(before.url, 'ada')
  await before.close()
  core.endSessions()
  const at = Date.now()
  const { url, close } = await startAfter({
    port: 0,
    clock: () => at,
    acceptUntil: new Date(at + 86_400_000),
  })
  try {
    expect((await send(url, 'GET', '/me', toHeaders(jar.get('sAccessToken') ?? ''))).status).toBe(401)
  } finally {
    await close()
  }
})
