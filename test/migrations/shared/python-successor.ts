import { Hono } from 'hono'
import { decodeWithoutVerifying, type TokenManager } from 'tokenlib'
import { enforce, handleErrors, inject } from 'tokenlib/hono'
import { serveFetch } from '../../../examples/server.js'
import { type RunningSuccessor, toAnswer } from './application.js'
import { checkPassword, findUser, type User } from './users.js'

/** The managers of the application that replaces one in Python. */
export interface Managers {
  readonly tokens: TokenManager
  /** Only the exchange uses it: no route takes what it accepts. */
  readonly oldRefreshTokens: TokenManager
}

function createApp({ tokens, oldRefreshTokens }: Managers) {
  const app = new Hono()
  app.onError(handleErrors({ config: tokens.config }))

  const logIn = (user: User) =>
    tokens.sessions.open({ uid: String(user.id) }, { scopes: user.roles, access: { fresh: true } })
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

/** Serves the application. */
export async function startSuccessor(managers: Managers, port: number): Promise<RunningSuccessor> {
  await managers.tokens.ready()
  await managers.oldRefreshTokens.ready()
  const server = await serveFetch(createApp(managers).fetch, port)
  return { ...server, tokens: managers.tokens }
}
