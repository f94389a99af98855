import { GoTrueClient, isAuthRetryableFetchError } from '@supabase/auth-js'
import { Hono } from 'hono'
import { setCookies, TokenConfig, TokenManager, unsetCookies } from 'tokenlib'
import { trustLegacyIssuer } from '@tokenlib/issuers'
import { enforce, handleErrors, inject, sendCookies } from 'tokenlib/hono'
import { FOREVER, toRevocationKey } from 'tokenlib/kit'
import { createMemoryStore } from 'tokenlib/memory'
import { serveFetch } from '../../../examples/server.js'
import type { AfterSettings, RunningSuccessor } from '../shared/application.js'
import { type Gotrue, JWT_SECRET, type SigningKey } from './gotrue.js'

/** In the environment too, and not the secret of Supabase. */
const JWT_SECRET_KEY = 'vF8nKt3xWm6zRb2yQs9cHd4gJp1eLa7u'

function createTokens({ clock, acceptUntil }: AfterSettings, supabase: Gotrue, algorithm: SigningKey) {
  const store = createMemoryStore({ clock })
  const key =
    algorithm === 'HS256'
      ? // The legacy JWT secret, and the `kid` in the header of its tokens.
        { secret: { kty: 'oct', k: Buffer.from(JWT_SECRET).toString('base64url'), kid: supabase.kid } }
      : // A signing key, copied from /auth/v1/.well-known/jwks.json.
        { publicKey: supabase.publicJwk, algorithm: 'ES256' as const }
  const tokens = new TokenManager({
    config: new TokenConfig({
      JWT_SECRET_KEY,
      JWT_TOKEN_LOCATION: ['headers', 'cookies'],
      JWT_REFRESH_COOKIE_PATH: '/auth',
    }),
    store,
    clock,
    issuers: [
      trustLegacyIssuer({
        ...key,
        issuer: supabase.issuer, // https://<project>.supabase.co/auth/v1
        audience: 'authenticated',
        mapping: { sid: 'session_id' },
        requiredClaims: ['session_id'],
        maxTokenAge: '1h',
        acceptUntil,
      }),
    ],
  })
  return { tokens, store }
}

function createApp(settings: AfterSettings, supabase: Gotrue, algorithm: SigningKey) {
  const { tokens, store } = createTokens(settings, supabase, algorithm)
  // `createClient(url, serviceRoleKey).auth`
  const auth = new GoTrueClient({
    url: supabase.issuer,
    headers: { apikey: 'service_role' },
    persistSession: false,
  })
  const app = new Hono()
  app.onError(handleErrors({ config: tokens.config }))

  // Takes tokens of Supabase too, from apps and tabs that were loaded before the deployment.
  app.get('/me', inject({ payload: tokens.accessTokenRequired }), (c) => c.json({ id: c.var.payload.sub }))

  app.post('/auth/exchange', inject({ old: tokens.require({ issuer: supabase.issuer }) }), async (c) => {
    const { sub: uid, sid = '' } = c.var.old
    const [, jwt = ''] = (c.req.header('authorization') ?? '').split(' ')
    // A session that was ended is not exchanged, although its access token has not expired.
    const { error } = await auth.getUser(jwt)
    if (isAuthRetryableFetchError(error)) throw error
    if (error !== null) return c.text('The session has ended', 401)
    const key = toRevocationKey('token', `exchange ${sid}`, supabase.issuer)
    const until = settings.acceptUntil.getTime() + 3_600_000
    // In one step: of several requests at the same time, in any process, one is the first.
    const { isFirst } = await store.claim([{ ...key, notBefore: FOREVER, until }])
    if (!isFirst) return c.text('Exchanged already', 409, { 'retry-after': '1' })
    // Every token of the old session, and every one that Supabase may still issue for it.
    await tokens.revoke.session(c.var.old)
    sendCookies(c, setCookies(tokens, await tokens.sessions.open({ uid }, { remember: true })))
    await auth.admin.signOut(jwt, 'local')
    return c.json({ id: uid })
  })

  app.post('/logout', enforce(tokens.accessTokenRequired), async (c) => {
    await tokens.logout(c.req.raw)
    sendCookies(c, unsetCookies(tokens))
    return c.body(null, 204)
  })

  // Without this, a page with an old refresh token would get a new access token.
  tokens.on('revoked', ({ kind, id }) => {
    if (kind === 'user') void supabase.deleteSessions(id)
  })
  return { app, tokens }
}

export async function start(
  settings: AfterSettings,
  supabase: Gotrue,
  algorithm: SigningKey,
): Promise<RunningSuccessor> {
  const { app, tokens } = createApp(settings, supabase, algorithm)
  await tokens.ready()
  return { ...(await serveFetch(app.fetch, settings.port)), tokens }
}
