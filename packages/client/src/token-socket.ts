import { TokenClientError } from './errors.js'
import { assertOption, type ClientTimers, type SocketConstructor } from './options.js'
import { CLOSED, CONNECTING } from './socket-limits.js'
import type { OnEnd, OpenSocket, TokenSocket } from './socket-types.js'

/** Creates a socket, and loads the part that connects it. */
export function createSocket(
  create: (offered: readonly string[]) => object,
  prepare: (isRefused: boolean) => Promise<readonly string[] | null>,
  on: OnEnd,
  timers: ClientTimers,
): TokenSocket {
  const socket: OpenSocket = Object.assign(new EventTarget(), {
    readyState: CONNECTING,
    send() {
      throw new TokenClientError('SOCKET_NOT_OPEN', 'socket')
    },
    close() {
      socket.readyState = CLOSED
    },
  })
  import('./socket.js').then(
    ({ keepConnected }) => keepConnected(socket, create, prepare, on, timers),
    () => socket.dispatchEvent(Object.assign(new Event('close'), { code: 1006, reason: '' })),
  )
  return socket
}

/** Creates connections that offer subprotocols and then the protocols of the application. */
export function createConnector(
  url: URL,
  WebSocket: SocketConstructor | undefined,
  protocols: string | readonly string[],
): (offered: readonly string[]) => object {
  assertOption('WebSocket', WebSocket)
  return (offered) =>
    new (WebSocket as SocketConstructor)(url.href.replace('http', 'ws'), offered.concat(protocols))
}
