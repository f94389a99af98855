import { Hono } from 'hono'
import { jwt, type JwtVariables, sign } from 'hono/jwt'
import { type RunningServer, serveFetch } from '../../../examples/server.js'
import { checkPassword } from '../shared/users.js'

/** In the environment of a real application. */
export const SECRET = 'tG2yKw7cXn4bPz9mVe6rJs1hQd8fLa5u'

const app = new Hono<{ Variables: JwtVariables<{ sub: string; role: string }> }>()

app.post('/login', async (c) => {
  const { name, password } = await c.req.json<{ name: string; password: string }>()
  const user = checkPassword(name, password)
  if (user === null) return c.json({ error: 'Wrong name or password' }, 401)
  const exp = Math.floor(Date.now() / 1000) + 3600
  return c.json({ access_token: await sign({ sub: String(user.id), role: user.roles[0], exp }, SECRET) })
})

app.use('/me', jwt({ secret: SECRET, alg: 'HS256' }))
app.get('/me', (c) => {
  const { sub, role } = c.get('jwtPayload')
  return c.json({ id: Number(sub), roles: [role] })
})

export function start(port: number): Promise<RunningServer> {
  return serveFetch(app.fetch, port)
}
