import { env } from 'cloudflare:workers'
import { Hono } from 'hono'
import { TokenConfig, TokenManager } from 'tokenlib'
import { handleErrors, inject } from 'tokenlib/hono'
import { createDurableObjectStore } from 'tokenlib/durable-objects'

export { TokenStoreObject } from 'tokenlib/durable-objects'

const config = new TokenConfig({ JWT_SECRET_KEY: env.JWT_SECRET_KEY })
const tokens = new TokenManager({ config, store: createDurableObjectStore(env.TOKEN_STORE) })
tokens.on('storeUnavailable', ({ operation, cause }) => console.error(operation, cause))

const app = new Hono()
app.onError(handleErrors({ config }))

app.post('/login', async (c) => {
  const { name, password } = await c.req.json<{ name: string; password: string }>()
  // Here the application looks the user up, and compares the hash of the password.
  if (name !== 'ada' || password !== 'lovelace') return c.json({ detail: 'Bad credentials' }, 401)
  return c.json(await tokens.sessions.open({ uid: name }))
})

app.get('/me', inject({ payload: tokens.accessTokenRequired }), (c) => c.json({ id: c.var.payload.sub }))

app.post('/refresh', async (c) => c.json(await tokens.sessions.refresh(c.req.raw)))

app.post('/logout', async (c) => {
  await tokens.logout(c.req.raw)
  return c.body(null, 204)
})

app.get('/health', async (c) => {
  const { status } = await tokens.health()
  return c.json({ status }, status === 'down' ? 503 : 200)
})

export default app
