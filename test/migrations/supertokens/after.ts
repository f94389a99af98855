import { Hono } from 'hono'
import { generateCookie } from 'hono/cookie'
import { parse } from 'hono/utils/cookie'
import Session from 'supertokens-node/recipe/session/index.js'
import { TokenConfig, TokenManager, unsetCookies } from 'tokenlib'
import { enforce, handleErrors, inject, sendCookies } from 'tokenlib/hono'
import { createMemoryStore } from 'tokenlib/memory'
import { serveFetch } from '../../../examples/server.js'
import type { AfterSettings, RunningSuccessor } from '../shared/application.js'
import { exchangeOldSessions, type OldSession, trustOldSessions } from '../shared/exchange.js'
import { findUser } from '../shared/users.js'

/** In the environment. */
const JWT_SECRET_KEY = 'rD5xHq9vTm2yWb7zKs4cNd8gJf1pEa6u'

// `SuperTokens.init` stays as it was: the SDK verifies, and asks the core.
const REFRESH_PATH = '/auth/session/refresh'
const PATHS = { sAccessToken: '/', sRefreshToken: REFRESH_PATH, sFrontToken: '/' }

function findSession(path: string, { sAccessToken, sRefreshToken }: Record<string, string>) {
  // Browsers send this cookie to this path only.
  if (path === REFRESH_PATH && sRefreshToken !== undefined)
    return Session.refreshSessionWithoutRequestResponse(sRefreshToken, true)
  if (sAccessToken === undefined) return null
  // A session that was ended is not exchanged, although its access token has not expired.
  const options = { antiCsrfCheck: false, checkDatabase: true }
  return Session.getSessionWithoutRequestResponse(sAccessToken, undefined, options)
}

async function readOldSession({ url, headers }: Request): Promise<OldSession | null> {
  try {
    const session = await findSession(new URL(url).pathname, parse(headers.get('cookie') ?? ''))
    return session ? { uid: session.getUserId(), id: session.getHandle() } : null
  } catch (error) {
    // UNAUTHORISED, TRY_REFRESH_TOKEN, TOKEN_THEFT_DETECTED. Anything else: the core did not answer.
    if (Session.Error.isErrorFromSuperTokens(error)) return null
    throw error
  }
}

function createApp({ clock, acceptUntil }: AfterSettings) {
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
      read: readOldSession,
      async logIn(uid) {
        const user = findUser(uid)
        return user && tokens.sessions.open({ uid }, { scopes: user.roles, remember: true })
      },
      clear: Object.entries(PATHS).map(([name, path]) => generateCookie(name, '', { path, maxAge: 0 })),
    }),
  )

  app.get('/me', inject({ payload: tokens.accessTokenRequired }), (c) => c.json({ id: c.var.payload.sub }))
  // The middleware has exchanged.
  app.post(REFRESH_PATH, enforce(tokens.accessTokenRequired), (c) => c.body(null, 204))
  app.post('/logout', enforce(tokens.accessTokenRequired), async (c) => {
    await tokens.logout(c.req.raw)
    sendCookies(c, unsetCookies(tokens))
    return c.body(null, 204)
  })
  return { app, tokens }
}

export async function start(settings: AfterSettings): Promise<RunningSuccessor> {
  const { app, tokens } = createApp(settings)
  await tokens.ready()
  return { ...(await serveFetch(app.fetch, settings.port)), tokens }
}
