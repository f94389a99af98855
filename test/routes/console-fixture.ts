import type { TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import { createConsole, type ConsoleOptions } from '../../packages/console/src/index.js'
import { createRevocable } from '../helpers/revocable.js'

/** The origin of the requests that a test sends. */
export const ORIGIN = 'https://app.example'

/** What a browser and the page add to a change. */
export const OWN_PAGE = {
  'content-type': 'application/json',
  'sec-fetch-site': 'same-origin',
  'x-tokenlib-console': '1',
} as const

/** A console of a manager with a memory store, where everybody is Grace unless a test says otherwise. */
export function openConsole(
  options: Partial<ConsoleOptions<unknown>> = {},
  given: { readonly config?: TokenConfigOptions } & Parameters<typeof createRevocable>[1] = {},
) {
  const { config, ...manager } = given
  const { tokens, clock, store } = createRevocable(config, manager)
  const routes = createConsole(tokens, { allow: () => ({ sub: 'grace' }), ...options })

  const get = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const response = await routes.handle(new Request(`${ORIGIN}${routes.path}${path}`, init))
    if (response === null) throw new Error(`The console has no route ${path}`)
    return response
  }
  const revoke = async (body: unknown, headers: Readonly<Record<string, string>> = OWN_PAGE) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await get('/api/revoke', { method: 'POST', headers: { ...headers }, body: text })
    return { status: response.status, answer: (await response.json()) as Record<string, unknown> }
  }
  return { tokens, clock, store, routes, get, revoke }
}

/** The messages of a stream of server-sent events, one at a time; `null` once it has ended. */
export function readLive({ body }: Response): {
  next(): Promise<LiveMessage | null>
  cancel(): Promise<void>
} {
  if (body === null) throw new Error('There is no stream')
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  return {
    async next() {
      for (;;) {
        const end = text.indexOf('\n\n')
        if (end >= 0) {
          const message = text.slice(0, end)
          text = text.slice(end + 2)
          if (message.startsWith('data: ')) return JSON.parse(message.slice(6)) as LiveMessage
          continue
        }
        const { done, value } = await reader.read()
        if (done) return null
        text += value
      }
    },
    cancel: () => reader.cancel(),
  }
}

/** An entry as the page gets it. */
export interface LiveMessage {
  readonly id: string
  readonly number: number
  readonly event: string
  readonly facts: Readonly<Record<string, unknown>>
}
