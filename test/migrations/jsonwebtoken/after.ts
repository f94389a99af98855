import express from 'express'
import { decodeWithoutVerifying, TokenConfig, TokenManager, type RefreshedTokens } from 'tokenlib'
import { trustLegacyIssuer } from '@tokenlib/issuers'
import { enforce, handleErrors, inject } from 'tokenlib/express'
import { createMemoryStore } from 'tokenlib/memory'
import { serveNode } from '../../../examples/server.js'
import { type AfterSettings, type RunningSuccessor, toAnswer } from '../shared/application.js'
import { checkPassword, findUser, type User } from '../shared/users.js'
import { ACCESS_SECRET, REFRESH_SECRET } from './before.js'

/** In the environment too, and not one of the old secrets. */
const JWT_SECRET_KEY = 'hN4cWq9zJv2mTs8xRb6yKd1gLf5pEa3u'

function createTokens({ clock, acceptUntil }: AfterSettings) {
  const store = createMemoryStore({ clock })
  const old = {
    issuer: 'old-app',
    withoutIss: true,
    mapping: { sub: 'userId', scopes: 'roles' },
    acceptUntil,
  } as const
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY }),
    store,
    clock,
    issuers: [trustLegacyIssuer({ ...old, secret: ACCESS_SECRET, maxTokenAge: '15m' })],
  })
  // Only the exchange below uses it: no route takes what it accepts.
  const oldRefreshTokens = new TokenManager({
    config: new TokenConfig(),
    store,
    clock,
    issuers: [trustLegacyIssuer({ ...old, secret: REFRESH_SECRET, maxTokenAge: '60d' })],
  })
  return { tokens, oldRefreshTokens }
}

function createApp({ tokens, oldRefreshTokens }: ReturnType<typeof createTokens>) {
  const app = express().use(express.json())

  const logIn = (user: User) => tokens.sessions.open({ uid: String(user.id) }, { scopes: user.roles })

  app.post('/login', async (req, res) => {
    const user = checkPassword(req.body.name, req.body.password)
    if (user === null) res.status(401).json({ error: 'Wrong name or password' })
    else res.json(toAnswer(await logIn(user)))
  })

  app.get('/me', inject({ payload: tokens.accessTokenRequired }), (_req, res) => {
    const { sub, scopes } = res.locals.payload
    res.json({ id: Number(sub), roles: scopes })
  })

  async function refresh(token: string): Promise<RefreshedTokens | null> {
    // New tokens name their key. Only the choice depends on that: both kinds are verified.
    if ('kid' in decodeWithoutVerifying(token).header) return tokens.sessions.refresh(token)
    const old = await oldRefreshTokens.verify(token)
    await oldRefreshTokens.revoke.token(old)
    const user = findUser(old.sub)
    return user && logIn(user)
  }

  app.post('/refresh', async (req, res) => {
    const pair = await refresh(req.body.refresh_token)
    if (pair === null) res.status(401).json({ error: 'Unknown user' })
    else res.json(toAnswer(pair))
  })

  app.post('/logout', enforce(tokens.accessTokenRequired), async (req, res) => {
    await tokens.logout(req)
    res.status(204).end()
  })

  app.use(handleErrors({ config: tokens.config }))
  return app
}

export async function start(settings: AfterSettings): Promise<RunningSuccessor> {
  const managers = createTokens(settings)
  await managers.tokens.ready()
  await managers.oldRefreshTokens.ready()
  const server = await serveNode(createApp(managers), settings.port)
  return { ...server, tokens: managers.tokens }
}
