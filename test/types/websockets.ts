// Injected handlers next to the types of @fastify/websocket.
import type { WebSocket } from '@fastify/websocket'
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { inject } from '../../packages/tokenlib/src/frameworks/fastify.js'
import type { TokenManager } from '../../packages/tokenlib/src/index.js'

interface Route {
  Params: { id: string }
}
declare const tokens: TokenManager
const app = Fastify()

app.get<Route>(
  '/:id',
  inject({ payload: tokens.accessTokenRequired }, ({ payload }, request: FastifyRequest<Route>) => {
    const id: string = request.params.id
    // @ts-expect-error the route has no such parameter
    void request.params.name
    return payload.sub + id
  }),
)
app.get<Route>(
  '/:id/reply',
  { schema: {} },
  inject({ payload: tokens.accessTokenRequired }, (_, request: FastifyRequest<Route>, reply: FastifyReply) =>
    reply.send(request.params.id),
  ),
)
app.get('/socket', { websocket: true }, (socket: WebSocket) => socket.close())
