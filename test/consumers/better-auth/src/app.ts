import { Hono } from 'hono'
import { enforce, handleErrors, inject, mount } from 'tokenlib/hono'
import { createSessionRoutes } from 'tokenlib/session-routes'
import { auth } from './auth.js'
import { tokens } from './tokens.js'

const routes = createSessionRoutes(tokens, {
  path: '/session',
  async logIn(_credentials, { headers }) {
    const found = await auth.api.sessions.get({ headers, query: { disableCookieCache: true } })
    if (found === null) return null
    // One login opens one session. What is left of the other one would be a second way in.
    await auth.api.signOut({ headers })
    return { uid: found.user.id }
  },
})

export const app = new Hono()
app.onError(handleErrors({ config: tokens.config }))
app.on(['GET', 'POST'], '/api/auth/*', (c) => auth.handler(c.req.raw))
app.use(mount(routes))
app.get(
  '/me',
  inject({ payload: tokens.accessTokenRequired }, ({ payload }, c) => c.json(payload.sub)),
)
app.get('/export', enforce(tokens.freshTokenRequired), (c) => c.json('everything'))
