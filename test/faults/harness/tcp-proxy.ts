import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** How a proxy treats what passes it. */
export type ProxyMode =
  | { readonly kind: 'pass' }
  /** Answers arrive in order, each so many milliseconds late. */
  | { readonly kind: 'delay'; readonly next: () => number }
  /** Nothing arrives, and nobody is told; `pass` lets out what was held back. */
  | { readonly kind: 'hold' }

/** A way to a server that can be made bad. */
export interface TcpProxy {
  readonly port: number
  setMode(mode: ProxyMode): void
  /** Resets every connection. */
  cut(): void
  /** Cuts, and refuses new connections until `listen`. */
  refuse(): Promise<void>
  listen(): Promise<void>
}

/** A proxy on a port, in front of a server; it refuses connections until `listen`. */
export function createTcpProxy(
  port: number,
  target: { readonly host: string; readonly port: number },
): TcpProxy {
  const open = new Set<Socket>()
  const lanes = new Set<() => void>()
  let mode: ProxyMode = { kind: 'pass' }

  const relay = (from: Socket, to: Socket, isAnswer: boolean): void => {
    // A queue and not a timer for each chunk: two timers may fire in the wrong order, and TCP never does.
    const queue: { readonly dueAt: number; readonly deliver: () => void }[] = []
    let timer: NodeJS.Timeout | undefined
    const drain = (): void => {
      clearTimeout(timer)
      if (mode.kind === 'hold') return
      for (;;) {
        const [head] = queue
        if (head === undefined) return
        const wait = head.dueAt - performance.now()
        if (wait > 0) return void (timer = setTimeout(drain, wait))
        queue.shift()
        head.deliver()
      }
    }
    const pass = (deliver: () => void): void => {
      const delay = mode.kind === 'delay' && isAnswer ? mode.next() : 0
      queue.push({ dueAt: performance.now() + delay, deliver })
      drain()
    }
    lanes.add(drain)
    from.on('data', (chunk: Buffer) => pass(() => void (to.writable && to.write(chunk))))
    from.on('end', () => pass(() => to.end()))
    from.on('close', () => pass(() => void (to.destroy(), lanes.delete(drain))))
    from.on('error', () => undefined)
  }

  const server = createServer((near) => {
    const far = connect(target.port, target.host)
    for (const socket of [near, far]) {
      socket.setNoDelay(true)
      open.add(socket)
      socket.on('close', () => open.delete(socket))
    }
    relay(near, far, false)
    relay(far, near, true)
  })

  const cut = (): void => {
    for (const socket of open) socket.resetAndDestroy()
  }

  return {
    port,
    setMode(next) {
      mode = next
      for (const drain of lanes) drain()
    },
    cut,
    async refuse() {
      server.close()
      cut()
      if (server.listening) await once(server, 'close')
    },
    async listen() {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
  }
}
