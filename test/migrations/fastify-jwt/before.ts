import fastifyJwt from '@fastify/jwt'
import Fastify from 'fastify'
import type { RunningServer } from '../../../examples/server.js'
import { checkPassword } from '../shared/users.js'

/** In the environment of a real application. */
export const SECRET = 'pZ5xHt8nCk2wVq7bYe4mRj9sLd1gFa6uTo3i'

async function createApp() {
  const app = Fastify({ forceCloseConnections: true })
  await app.register(fastifyJwt, { secret: SECRET, sign: { expiresIn: '7d' } })

  app.post<{ Body: { name: string; password: string } }>('/login', async (request, reply) => {
    const user = checkPassword(request.body.name, request.body.password)
    if (user === null) return reply.code(401).send({ error: 'Wrong name or password' })
    return { access_token: app.jwt.sign({ user: { id: user.id, roles: user.roles } }) }
  })

  app.get('/me', { onRequest: (request) => request.jwtVerify() }, async (request) => {
    const { user } = request.user as { user: { id: number; roles: string[] } }
    return { id: user.id, roles: user.roles }
  })
  return app
}

export async function start(port: number): Promise<RunningServer> {
  const app = await createApp()
  const url = await app.listen({ host: '127.0.0.1', port })
  return { url, close: () => app.close() }
}
