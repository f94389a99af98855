import { getToken } from '@auth/core/jwt'
import { Hono } from 'hono'
import { generateCookie } from 'hono/cookie'
import { parse } from 'hono/utils/cookie'
import { TokenConfig, TokenManager, unsetCookies } from 'tokenlib'
import { enforce, handleErrors, inject, sendCookies } from 'tokenlib/hono'
import { createMemoryStore } from 'tokenlib/memory'
import { serveFetch } from '../../../examples/server.js'
import type { AfterSettings, RunningSuccessor } from '../shared/application.js'
import { exchangeOldSessions, type OldSession, trustOldSessions } from '../shared/exchange.js'
import { findUser } from '../shared/users.js'
import { adapter, AUTH_SECRET, type Strategy } from './before.js'

/** In the environment too, and not `AUTH_SECRET`. */
const JWT_SECRET_KEY = 'nB4xTr8vKm2yWq6zHs9cJd1gLf5pEa3u'

// With https, `__Secure-authjs.session-token`, and `secureCookie: true` below.
const COOKIE = 'authjs.session-token'

/** The strategy "jwt": `getToken` decrypts the cookie, joins its chunks, and returns `null` for a bad one. */
async function readJwt(req: Request): Promise<OldSession | null> {
  const claims = await getToken({ req, secret: AUTH_SECRET, secureCookie: false })
  if (claims?.sub === undefined || claims.jti === undefined) return null
  return { uid: claims.sub, id: claims.jti, exp: claims.exp }
}

/** The strategy "database". */
async function readRow(request: Request): Promise<OldSession | null> {
  const { [COOKIE]: id } = parse(request.headers.get('cookie') ?? '', COOKIE)
  const found = id === undefined ? null : adapter.getSessionAndUser(id)
  if (id === undefined || found === null) return null
  return { uid: found.user.id, id, exp: found.session.expires.getTime() / 1000 }
}

function createApp({ clock, acceptUntil }: AfterSettings, strategy: Strategy) {
  const store = createMemoryStore({ clock })
  const tokens = new TokenManager({
    config: new TokenConfig({
      JWT_SECRET_KEY,
      JWT_TOKEN_LOCATION: ['headers', 'cookies'],
      JWT_REFRESH_COOKIE_PATH: '/auth',
    }),
    store,
    clock,
    issuers: [trustOldSessions(acceptUntil)],
  })
  const app = new Hono()
  app.onError(handleErrors({ config: tokens.config }))

  app.use(
    exchangeOldSessions({
      tokens,
      store,
      read: strategy === 'jwt' ? readJwt : readRow,
      async logIn(uid) {
        const user = findUser(uid)
        return user && tokens.sessions.open({ uid }, { scopes: user.roles, remember: true })
      },
      // Large sessions are in several cookies.
      clear: ['', '.0', '.1', '.2'].map((chunk) =>
        generateCookie(COOKIE + chunk, '', { path: '/', maxAge: 0 }),
      ),
    }),
  )

  app.get('/me', inject({ payload: tokens.accessTokenRequired }), (c) => c.json({ id: c.var.payload.sub }))
  app.post('/logout', enforce(tokens.accessTokenRequired), async (c) => {
    await tokens.logout(c.req.raw)
    sendCookies(c, unsetCookies(tokens))
    return c.body(null, 204)
  })
  return { app, tokens }
}

export async function start(settings: AfterSettings, strategy: Strategy): Promise<RunningSuccessor> {
  const { app, tokens } = createApp(settings, strategy)
  await tokens.ready()
  return { ...(await serveFetch(app.fetch, settings.port)), tokens }
}
