import { Hono } from 'hono'
import { setCookies, type RefreshedTokens, unsetCookies } from 'tokenlib'
import { handleErrors, inject, sendCookies } from 'tokenlib/hono'
import { tokens } from './tokens.js'

export const app = new Hono()
app.onError(handleErrors({ config: tokens.config }))

const toCookies = (pair: RefreshedTokens) => setCookies(tokens, pair)

app.post('/api/login', async (c) => {
  // A form of another site could log the visitor in to the attacker's account. No form can send this media type.
  const mediaType = c.req.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  if (mediaType !== 'application/json') return c.json('Send JSON', 415)

  // Your check of the password belongs here.
  const { uid } = await c.req.json<{ uid: string }>()
  sendCookies(c, toCookies(await tokens.sessions.open({ uid })))
  return c.json({ id: uid })
})

app.get('/api/me', inject({ payload: tokens.accessTokenRequired }), (c) => c.json({ id: c.var.payload.sub }))

app.put('/api/users/:id', inject({ payload: tokens.accessTokenRequired }), async (c) => {
  const id = c.req.param('id')
  if (id !== c.var.payload.sub) return c.json('Not your own record', 403)
  return c.json({ id, name: await c.req.text() })
})

app.post('/api/refresh', async (c) => {
  sendCookies(c, toCookies(await tokens.sessions.refresh(c.req.raw)))
  return c.json('Refreshed')
})

app.post('/api/logout', async (c) => {
  await tokens.logout(c.req.raw)
  sendCookies(c, unsetCookies(tokens))
  return c.json('Logged out')
})
