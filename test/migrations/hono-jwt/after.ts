import { Hono } from 'hono'
import { TokenConfig, TokenManager } from 'tokenlib'
import { trustLegacyIssuer } from '@tokenlib/issuers'
import { enforce, handleErrors, inject } from 'tokenlib/hono'
import { createMemoryStore } from 'tokenlib/memory'
import { serveFetch } from '../../../examples/server.js'
import { type AfterSettings, type RunningSuccessor, toAnswer } from '../shared/application.js'
import { checkPassword } from '../shared/users.js'
import { SECRET } from './before.js'

/** In the environment too, and not the old secret. */
const JWT_SECRET_KEY = 'aR8dZm3xTk6vHq1wNc9jYs5bGe2pLf7u'

function createTokens({ clock, acceptUntil }: AfterSettings) {
  return new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY, JWT_REFRESH_TOKEN_LOCATION: 'json' }),
    store: createMemoryStore({ clock }),
    clock,
    issuers: [
      trustLegacyIssuer({
        issuer: 'old-app',
        withoutIss: true,
        secret: SECRET,
        mapping: { scopes: 'role' },
        // The tokens have no `iat`: one that expires at 10:00 counts as made at 9:00.
        maxTokenAge: '1h',
        // Refused otherwise: without `iat`, a refresh token that is about to expire would look the same.
        onlyAccessTokens: true,
        acceptUntil,
      }),
    ],
  })
}

function createApp(tokens: TokenManager) {
  const app = new Hono()
  app.onError(handleErrors({ config: tokens.config }))

  app.post('/login', async (c) => {
    const { name, password } = await c.req.json<{ name: string; password: string }>()
    const user = checkPassword(name, password)
    if (user === null) return c.json({ error: 'Wrong name or password' }, 401)
    return c.json(toAnswer(await tokens.sessions.open({ uid: String(user.id) }, { scopes: user.roles })))
  })

  app.get('/me', inject({ payload: tokens.accessTokenRequired }), (c) => {
    const { sub, scopes } = c.var.payload
    return c.json({ id: Number(sub), roles: scopes })
  })

  app.post('/refresh', async (c) => c.json(toAnswer(await tokens.sessions.refresh(c.req.raw))))

  app.post('/logout', enforce(tokens.accessTokenRequired), async (c) => {
    await tokens.logout(c.req.raw)
    return c.body(null, 204)
  })
  return app
}

export async function start(settings: AfterSettings): Promise<RunningSuccessor> {
  const tokens = createTokens(settings)
  await tokens.ready()
  const server = await serveFetch(createApp(tokens).fetch, settings.port)
  return { ...server, tokens }
}
