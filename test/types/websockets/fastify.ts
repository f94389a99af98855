// Injected handlers beside the types of @fastify/websocket.
import '@fastify/websocket'
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { inject } from '../../../src/adapters/fastify.js'
import type { TokenManager } from '../../../src/index.js'

interface Route {
  Params: { id: string }
}
const same = <Left, Right>(
  ..._: Left extends Right ? (Right extends Left ? [] : [never]) : [never]
): void => {}
declare const tokens: TokenManager
const app = Fastify()

app.get<Route>(
  '/:id',
  inject({ payload: tokens.accessTokenRequired }, ({ payload }, request: FastifyRequest<Route>) => {
    same<typeof payload.sub, string>()
    same<typeof request.params.id, string>()
    return payload.sub
  }),
)
app.get<Route>(
  '/:id/reply',
  { schema: {} },
  inject({ payload: tokens.accessTokenRequired }, (_, request: FastifyRequest<Route>, reply: FastifyReply) =>
    reply.send(request.params.id),
  ),
)
