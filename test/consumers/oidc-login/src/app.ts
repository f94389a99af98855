import { createBackChannelLogout, trustIssuer } from '@tokenlib/issuers'
import { Hono } from 'hono'
import { deleteCookie } from 'hono/cookie'
import { TokenConfig, TokenManager } from 'tokenlib'
import { enforce, handleErrors, inject, mount, sendCookies } from 'tokenlib/hono'
import { createSessionRoutes } from 'tokenlib/session-routes'
import { client, isLocal, issuer, origin, redeem, signIn } from './sign-in.js'
import { store, tokens } from './tokens.js'
import { findOrCreate, findUser, isActive } from './users.js'

export const app = new Hono()
app.onError(handleErrors({ config: tokens.config }))

const isRecent = (time: unknown) => typeof time === 'number' && Date.now() / 1000 - time < 60

const routes = createSessionRoutes(tokens, {
  async logIn({ callback }, request) {
    if (typeof callback !== 'string') return null
    const claims = await redeem(callback, request.headers.get('cookie') ?? '')
    if (claims === null) return null
    // A step-up needs a new login, not the session that the user still has at the provider.
    const isStepUp = new URL(request.url).pathname === '/auth/step-up'
    if (isStepUp && !isRecent(claims.auth_time)) return null
    const user = findOrCreate(`${claims.iss} ${claims.sub}`)
    return user.isActive ? { uid: user.uid, auth_time: claims.auth_time ?? 0 } : null
  },
  describeUser: (uid, { claims }) =>
    isActive(uid) ? { access: { fresh: isRecent(claims['auth_time']) } } : null,
})
app.use(mount(routes))

app.get('/sign-in', signIn)
app.get('/callback', async (c) => {
  const headers = new Headers(c.req.raw.headers)
  headers.set('content-type', 'application/json')
  headers.delete('sec-fetch-site') // the provider's page; `state` shows that this browser began
  const body = JSON.stringify({ callback: new URL(c.req.url).search })
  const answer = await routes.login(new Request(c.req.url, { method: 'POST', headers, body }))
  sendCookies(c, answer.headers.getSetCookie())
  deleteCookie(c, 'sign-in', { prefix: 'host', path: '/', secure: true })
  return c.redirect(answer.ok ? '/' : '/sign-in-failed')
})

const receiver = new TokenManager({
  config: new TokenConfig(),
  store,
  issuers: [
    trustIssuer({
      issuer,
      audience: origin,
      keys: { discovery: `${issuer}/.well-known/openid-configuration`, allowPrivateNetwork: isLocal },
    }),
  ],
})
const logout = createBackChannelLogout(receiver, {
  clientId: client.client_id,
  toUid: ({ subjectIssuer, sub }) => findUser(`${subjectIssuer} ${sub}`)?.uid ?? null,
})
app.use(mount(logout))

app.get(
  '/me',
  inject({ payload: tokens.accessTokenRequired }, ({ payload }, c) => c.json(payload.sub)),
)
app.get('/export', enforce(tokens.freshTokenRequired), (c) => c.json('everything'))
