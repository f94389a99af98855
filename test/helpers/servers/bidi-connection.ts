import { once } from 'node:events'
import { WebSocket } from 'ws'

/** Sends commands of WebDriver BiDi (https://w3c.github.io/webdriver-bidi/) to a browser. */
export interface BidiConnection {
  /** The result of a command; rejects with the error of the browser, or when the connection is closed. */
  send(method: string, params: object): Promise<Readonly<Record<string, unknown>>>
  close(): void
}

interface Reply {
  readonly id?: number
  readonly type: 'success' | 'error' | 'event'
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: string
  readonly message?: string
}

interface Pending {
  readonly resolve: (result: Readonly<Record<string, unknown>>) => void
  readonly reject: (error: Error) => void
}

/** Connects to the address that a browser with `--remote-debugging-port` listens on. */
export async function connectBidi(url: string): Promise<BidiConnection> {
  const socket = new WebSocket(url, { perMessageDeflate: false, maxPayload: 64 * 1024 * 1024 })
  const pending = new Map<number, Pending>()
  let last = 0

  socket.on('message', (data: Buffer) => {
    const { id = 0, type, result, error, message } = JSON.parse(data.toString()) as Reply
    const command = pending.get(id)
    pending.delete(id)
    if (type === 'success') command?.resolve(result ?? {})
    else command?.reject(new Error(`${error}: ${message}`))
  })
  socket.on('close', () => {
    for (const { reject } of pending.values()) reject(new Error('The browser closed the connection'))
    pending.clear()
  })
  await once(socket, 'open')
  // Without a listener, a browser that is killed would end this process.
  socket.on('error', () => undefined)

  return {
    send: (method, params) =>
      new Promise((resolve, reject) => {
        if (socket.readyState !== WebSocket.OPEN) return reject(new Error('The browser is gone'))
        pending.set(++last, { resolve, reject })
        socket.send(JSON.stringify({ id: last, method, params }))
      }),
    close: () => socket.terminate(),
  }
}
