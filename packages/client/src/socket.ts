import type { ClientTimers } from './options.js'
import { createDelay } from './outages.js'
import { CLOSED, CONNECTING, MAX_REFUSALS, OPEN, STABLE_MS, UNAUTHORIZED } from './socket-limits.js'
import type { Connection, OnEnd, OpenSocket, TokenSocketData } from './socket-types.js'

// RFC 6455 §7.4.1 and its registry: the server goes away, the connection is lost, the server has an error, restarts or
// is overloaded. With every other code, the server means what it says.
const TRANSIENT = [UNAUTHORIZED, 1001, 1006, 1011, 1012, 1013]

/** Keeps a socket connected until it is closed. Loaded with the first socket, because many pages have none. */
export function keepConnected(
  socket: OpenSocket,
  /** Creates a connection that offers these subprotocols and the application's own. */
  createConnection: (offered: readonly string[]) => object,
  /** Renews the access token if it has expired or was refused; resolves to what to offer, or `null` without a session. */
  prepare: (isRefused: boolean) => Promise<readonly string[] | null>,
  on: OnEnd,
  timers: ClientTimers,
): void {
  const { send: refuse } = socket
  let connection: Connection | undefined
  let timer: unknown
  let failures = 0
  let refusals = 0

  const dispatch = (type: string, members?: object): unknown =>
    socket.dispatchEvent(Object.assign(new Event(type), members))
  // It was closed before this part was loaded.
  if (socket.readyState === CLOSED) return void dispatch('close', { code: 1000, reason: '' })

  const close = (code = 1000, reason = ''): void => {
    if (socket.readyState === CLOSED) return
    // First: it throws for a code that cannot be sent.
    connection?.close(code, reason)
    socket.readyState = CLOSED
    timers.clearTimeout(timer as never)
    for (const remove of removals) remove()
    dispatch('close', { code, reason })
  }
  const send = (data: TokenSocketData): void =>
    socket.readyState === OPEN ? connection?.send(data) : refuse(data)
  const stop = (): void => close(UNAUTHORIZED)
  const removals = [on('loggedIn', stop), on('loggedOut', stop)]

  const connectLater = (isRefused: boolean): void => {
    timer = timers.setTimeout(() => void connect(isRefused), createDelay(++failures))
  }

  const connect = async (isRefused: boolean): Promise<void> => {
    let offered: readonly string[] | null
    try {
      offered = await prepare(isRefused)
    } catch {
      // An outage is not a refusal.
      if (socket.readyState !== CLOSED) connectLater(isRefused)
      return
    }
    if (socket.readyState === CLOSED) return
    if (!offered) return socket.close(UNAUTHORIZED)
    try {
      connection = createConnection(offered) as Connection
    } catch (error) {
      // Subprotocols, for example, that are not valid: another attempt would fail too.
      return socket.close(1006, String(error))
    }
    connection.onopen = () => {
      timer = timers.setTimeout(() => {
        failures = refusals = 0
      }, STABLE_MS)
      socket.readyState = OPEN
      dispatch('open')
    }
    connection.onmessage = ({ data }) => dispatch('message', { data })
    // `close` follows. With `ws`, an error that nobody listens for ends the process.
    connection.onerror = () => {}
    connection.onclose = ({ code, reason }) => {
      connection = undefined
      timers.clearTimeout(timer as never)
      // A refused handshake looks like a lost connection.
      const mayBeRefused = code === UNAUTHORIZED || socket.readyState === CONNECTING
      if (mayBeRefused) refusals++
      if (!TRANSIENT.includes(code) || refusals > MAX_REFUSALS) socket.close(code, reason)
      if (socket.readyState === CLOSED) return
      socket.readyState = CONNECTING
      // The token may be the reason: of handshakes, the first time only.
      connectLater(code === UNAUTHORIZED || (mayBeRefused && refusals === 1))
    }
  }

  Object.assign(socket, { send, close })
  void connect(false)
}
