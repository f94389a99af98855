import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A response that the application has sent. */
export interface RelayedResponse {
  /** With the query. */
  readonly path: string
  readonly status: number
  /** Whether it sets cookies, as every response to a login or a refresh does. */
  readonly hasTokens: boolean
}

/** What happens to a response: it arrives, its connection is cut instead, or nothing happens at all. */
export type Fate = 'arrives' | 'cut' | 'held'

/** Stands between the browser and the application, and can lose responses after the application has sent them. */
export interface Relay {
  readonly origin: string
  /** How many responses were lost, and how many of them had new tokens. */
  readonly lost: { readonly responses: number; readonly withTokens: number }
  /** Decides the fate of every response from now on. The connections of held ones are cut. */
  decide(fate: (response: RelayedResponse) => Fate): void
  close(): void
}

/** The fate of all responses unless a scenario decides otherwise. */
export const ARRIVES = (): Fate => 'arrives'

/** Opens a relay to the application on a port of this machine. */
export async function openRelay(port: number): Promise<Relay> {
  const lost = { responses: 0, withTokens: 0 }
  const held = new Set<IncomingMessage>()
  let fateOf: (response: RelayedResponse) => Fate = ARRIVES

  const deliver = async (
    answer: IncomingMessage,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
  ): Promise<void> => {
    const body = await buffer(answer)
    const { connection: _, 'keep-alive': __, 'transfer-encoding': ___, ...headers } = answer.headers
    const hasTokens = headers['set-cookie'] !== undefined
    const status = answer.statusCode ?? 500
    const fate = fateOf({ path: incoming.url ?? '', status, hasTokens })
    if (fate === 'arrives') {
      // On a connection that was used before, browsers repeat a lost request by themselves, and the page never knows.
      if (fateOf !== ARRIVES) outgoing.setHeader('connection', 'close')
      outgoing.writeHead(status, headers).end(body)
      return
    }
    lost.responses++
    if (hasTokens) lost.withTokens++
    if (fate === 'cut') incoming.socket.destroy()
    else held.add(incoming)
  }

  const server = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming
    const forwarded = request(
      {
        host: '127.0.0.1',
        port,
        method,
        path: url,
        headers: { ...headers, connection: 'close' },
        agent: false,
      },
      (answer) => void deliver(answer, incoming, outgoing).catch(() => incoming.socket.destroy()),
    )
    // The application was killed.
    forwarded.on('error', () => incoming.socket.destroy())
    incoming.pipe(forwarded)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lost,
    decide(fate) {
      fateOf = fate
      for (const incoming of held) incoming.socket.destroy()
      held.clear()
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
