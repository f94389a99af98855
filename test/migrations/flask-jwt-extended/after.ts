import { Hono } from 'hono'
import { decodeWithoutVerifying, TokenConfig, TokenManager, type RefreshedTokens } from 'tokenlib'
import { trustLegacyIssuer } from '@tokenlib/issuers'
import { enforce, handleErrors, inject } from 'tokenlib/hono'
import { createMemoryStore } from 'tokenlib/memory'
import { serveFetch } from '../../../examples/server.js'
import type { AfterSettings, RunningSuccessor } from '../shared/application.js'
import { checkPassword, findUser, type User } from '../shared/users.js'
import { SECRET } from './before.js'

/** Not the secret of the Flask application. */
const JWT_SECRET_KEY = 'kJ9sWb4xNe7tVz2mQr6yHc1gPd8fLa5u'

function createTokens({ clock, acceptUntil }: AfterSettings) {
  const revocation = createMemoryStore({ clock })
  const old = {
    issuer: 'flask',
    withoutIss: true,
    secret: SECRET,
    acceptUntil,
  } as const
  const tokens = new TokenManager({
    // The names of cookies, headers and parameters are those of flask-jwt-extended.
    config: new TokenConfig({ JWT_SECRET_KEY, JWT_TOKEN_LOCATION: ['headers', 'cookies'] }),
    store: revocation,
    clock,
    issuers: [
      trustLegacyIssuer({
        ...old,
        maxTokenAge: '15m',
        // Refresh tokens have the same secret.
        mapping: { scopes: 'roles', access: { claim: 'type', value: 'access' } },
      }),
    ],
  })
  // Only the exchange below uses it: no route takes what it accepts.
  const oldRefreshTokens = new TokenManager({
    config: new TokenConfig(),
    store: revocation,
    clock,
    issuers: [
      trustLegacyIssuer({
        ...old,
        maxTokenAge: '30d',
        mapping: { access: { claim: 'type', value: 'refresh' } },
      }),
    ],
  })
  return { tokens, oldRefreshTokens }
}

function createApp({ tokens, oldRefreshTokens }: ReturnType<typeof createTokens>) {
  const app = new Hono()
  app.onError(handleErrors({ config: tokens.config }))

  const logIn = (user: User) =>
    tokens.sessions.open({ uid: String(user.id) }, { scopes: user.roles, access: { fresh: true } })
  const toAnswer = ({ accessToken, refreshToken }: RefreshedTokens) => ({
    access_token: accessToken,
    // Left out if the client keeps the one that it sent.
    refresh_token: refreshToken ?? undefined,
  })

  app.post('/login', async (c) => {
    const { name, password } = await c.req.json<{ name: string; password: string }>()
    const user = checkPassword(name, password)
    if (user === null) return c.json({ msg: 'Bad username or password' }, 401)
    return c.json(toAnswer(await logIn(user)))
  })

  app.get('/me', inject({ payload: tokens.accessTokenRequired }), (c) => {
    const { sub, scopes } = c.var.payload
    return c.json({ id: Number(sub), roles: scopes })
  })
  app.post('/notes', enforce(tokens.accessTokenRequired), (c) => c.json({ saved: true }))
  app.post('/password', enforce(tokens.freshTokenRequired), (c) => c.json({ changed: true }))

  app.post('/refresh', async (c) => {
    const { refresh_token: token } = await c.req.json<{ refresh_token: string }>()
    // New tokens name their key. Only the choice depends on that: both kinds are verified.
    if ('kid' in decodeWithoutVerifying(token).header)
      return c.json(toAnswer(await tokens.sessions.refresh(token)))
    const old = await oldRefreshTokens.verify(token)
    await oldRefreshTokens.revoke.token(old)
    const user = findUser(old.sub)
    return user === null ? c.json({ msg: 'Unknown user' }, 401) : c.json(toAnswer(await logIn(user)))
  })

  app.post('/logout', enforce(tokens.accessTokenRequired), async (c) => {
    await tokens.logout(c.req.raw)
    return c.body(null, 204)
  })
  return app
}

export async function start(settings: AfterSettings): Promise<RunningSuccessor> {
  const managers = createTokens(settings)
  await managers.tokens.ready()
  await managers.oldRefreshTokens.ready()
  const server = await serveFetch(createApp(managers).fetch, settings.port)
  return { ...server, tokens: managers.tokens }
}
