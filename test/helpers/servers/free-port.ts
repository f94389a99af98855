import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'

/**
 * A port of 127.0.0.1 that nobody listens on now.
 *
 * It is below the range that the kernel gives to outgoing connections. In that range a client that reconnects
 * to a dead server can be given the server's own port, and then talks to itself and keeps the server out.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000)
    if (await isFree(port)) return port
  }
}

// It asks by connecting. A listener of its own could outlive its close: a process that another thread is starting
// holds a copy of it until its program is loaded, and anyone who listens next finds the port in use.
async function isFree(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return false
  } catch {
    return true
  } finally {
    socket.destroy()
  }
}
