import { createSecretKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKeyPair } from '../../helpers/keys.js'
import { exchangeContract, type OldClient, send } from '../shared/exchange-contract.js'
import { claimsOf } from '../shared/migration-contract.js'
import { start as startAfter } from './after.js'
import { createSupabaseAuth, start as startBefore } from './before.js'
import { type Gotrue, IDS, startGotrue } from './gotrue.js'

const toHeaders = (token: string | undefined): OldClient['headers'] => ({ authorization: `Bearer ${token}` })

async function logIn(supabase: Gotrue, name: 'ada' | 'grace') {
  const auth = createSupabaseAuth(supabase.issuer)
  const { data, error } = await auth.signInWithPassword({
    email: `${name}@shop.example`,
    password: 'correct horse',
  })
  expect(error).toBe(null)
  return { auth, token: data.session?.access_token ?? '' }
}

describe.each(['HS256', 'ES256'] as const)('%s', (algorithm) => {
  let supabase: Gotrue
  beforeAll(async () => {
    supabase = await startGotrue(algorithm)
  })
  afterAll(() => supabase.close())

  exchangeContract('Supabase Auth', {
    startBefore: () => startBefore(0, supabase.issuer, algorithm),
    async logIn(_url, name) {
      const { token } = await logIn(supabase, name)
      return { uid: IDS[name], headers: toHeaders(token) }
    },
    startAfter: (settings) => startAfter(settings, supabase, algorithm),
    exchange: ['POST', '/auth/exchange'],
    tokenLifetime: 3600,
    async forged({ headers }) {
      const old = (headers['authorization'] ?? '').slice('Bearer '.length)
      const [header = '', , signature = ''] = old.split('.')
      const claims = claimsOf(old)
      const now = Math.floor(Date.now() / 1000)
      const sign = async (given: object) => toHeaders(await supabase.sign({ ...claims, ...given }))
      const changed = Buffer.from(JSON.stringify({ ...claims, sub: IDS.grace })).toString('base64url')
      const ofAnotherKey =
        algorithm === 'HS256'
          ? createSecretKey(Buffer.alloc(40, 'another key'))
          : createKeyPair('ES256').privateKey
      const publicKeyAsSecret = createSecretKey(Buffer.from(JSON.stringify(supabase.publicJwk)))
      return {
        'with other claims': toHeaders(`${header}.${changed}.${signature}`),
        'of another key': toHeaders(await supabase.sign(claims, ofAnotherKey)),
        'of the public key as a secret': toHeaders(await supabase.sign(claims, publicKeyAsSecret)),
        'of another project': await sign({ iss: 'https://other.supabase.co/auth/v1' }),
        'for another audience': await sign({ aud: 'anon' }),
        'without a session': await sign({ session_id: undefined }),
        expired: await sign({ iat: now - 3700, exp: now - 100 }),
        'the anon key': toHeaders(
          await supabase.sign({ iss: 'supabase', role: 'anon', iat: now, exp: now + 9e7 }),
        ),
      }
    },
  })

  test('a page from before goes on, exchanges after a reload, and has no way back', async () => {
    const { auth, token } = await logIn(supabase, 'ada')
    const at = Date.now()
    const settings = { port: 0, clock: () => at, acceptUntil: new Date(at + 86_400_000) }
    const { url, tokens, close } = await startAfter(settings, supabase, algorithm)
    try {
      expect((await send(url, 'GET', '/me', toHeaders(token))).status).toBe(200)
      const refreshed = await auth.refreshSession()
      const next = refreshed.data.session?.access_token
      expect((await send(url, 'POST', '/auth/exchange', toHeaders(next))).status).toBe(200)
      for (const old of [token, next]) {
        expect((await send(url, 'GET', '/me', toHeaders(old))).status).toBe(401)
        expect((await send(url, 'POST', '/auth/exchange', toHeaders(old))).status).toBe(401)
      }
      expect((await auth.refreshSession()).error?.code).toBe('refresh_token_not_found')
      expect((await tokens.sessions.list(IDS.ada)).length).toBe(1)
    } finally {
      await close()
    }
  })

  test('a session that was ended at Supabase is not exchanged, and revoking a user ends all of them', async () => {
    const { token: ended } = await logIn(supabase, 'ada')
    await supabase.deleteSessions(IDS.ada)
    const { auth } = await logIn(supabase, 'ada')
    const at = Date.now()
    const settings = { port: 0, clock: () => at, acceptUntil: new Date(at + 86_400_000) }
    const { url, tokens, close } = await startAfter(settings, supabase, algorithm)
    try {
      expect((await send(url, 'POST', '/auth/exchange', toHeaders(ended))).status).toBe(401)
      await tokens.revoke.user(IDS.ada)
      expect((await auth.refreshSession()).error?.code).toBe('refresh_token_not_found')
    } finally {
      await close()
    }
  })
})
