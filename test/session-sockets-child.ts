// Another process with a WebSocket server and a replica of the store that all processes share.
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { Redis } from 'ioredis'
import { WebSocketServer } from 'ws'
import { acceptUpgrade, TokenConfig, TokenManager } from '../packages/tokenlib/src/index.js'
import { createRedisStore } from '../packages/tokenlib/src/stores/redis.js'
import { replicate } from '../packages/tokenlib/src/stores/replica.js'

const [url = '', namespace = '', secret = ''] = process.argv.slice(2)
const store = replicate(createRedisStore(new Redis(url), { namespace }))
const config = new TokenConfig({ JWT_SECRET_KEY: secret, JWT_REVOCATION_TIMEOUT: '10s' })
const tokens = new TokenManager({ config, store })
await tokens.ready()

const server = createServer()
const sockets = new WebSocketServer({ noServer: true })
const accept = async (request: IncomingMessage, connection: Duplex, head: Buffer): Promise<void> => {
  const upgrade = await acceptUpgrade(tokens, request, connection, { until: 'session' })
  if (upgrade === null) return
  sockets.handleUpgrade(request, connection, head, (socket) => {
    // So seldom that only what arrives at the replica closes a socket of these tests.
    tokens.sockets.closeWhenInvalid(socket, upgrade, { every: '1d' })
    socket.send(upgrade.payload.sub)
  })
}
server.on('upgrade', (request, connection, head) => void accept(request, connection, head))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.send?.((server.address() as AddressInfo).port)
