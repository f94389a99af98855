import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { createAdaptorServer } from '@hono/node-server'
import { build } from 'esbuild'
import { onTestFinished } from 'vitest'
import {
  type ClientTimers,
  createTokenClient,
  type TokenClientOptions,
} from '../../packages/client/src/index.js'
import { CALL_TIMEOUT_MS } from '../../packages/client/src/limits.js'
import { enforce, handleErrors, mount } from '../../packages/tokenlib/src/frameworks/fetch.js'
import type { TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { createCookieJar } from '../helpers/cookie-jar.js'
import { createRevocable } from '../helpers/revocable.js'

/** What a route answers instead of its own answer, which `next` gives; `null` drops the connection. */
type Answer = (request: Request, next: () => Promise<Response>) => Response | null | Promise<Response | null>

/** An application with session routes and one protected route, on a real server. */
export async function openServer(config: TokenConfigOptions = {}) {
  const { tokens, clock, store } = createRevocable({ JWT_COOKIE_SECURE: false, ...config })
  const routes = createSessionRoutes(tokens, {
    logIn: ({ name, password }) =>
      typeof name === 'string' && password === 'secret' ? { uid: name, role: 'reader' } : null,
  })
  const requests: Request[] = []
  const planned = new Map<string, Answer[]>()
  const notes = enforce(tokens.accessTokenRequired)(async (request) =>
    Response.json({ body: await request.text(), method: request.method }),
  )
  const application = mount(routes, handleErrors({ config: tokens.config })(notes))
  const server = createAdaptorServer({
    // Other tests of the thread rely on the globals.
    overrideGlobalObjects: false,
    fetch: async (request: Request) => {
      requests.push(request)
      const answer = planned.get(toRoute(request))?.shift()
      if (toRoute(request) === 'GET /page') return page('<!doctype html><title>page</title>', 'text/html')
      if (toRoute(request) === 'GET /client.js') return page(await bundleClient(), 'text/javascript')
      if (answer === undefined) return application(request)
      const response = await answer(request, async () => application(request))
      if (response !== null) return response
      server.closeAllConnections()
      return new Response()
    },
  }) as Server
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = (): void => {
    server.close()
    server.closeAllConnections()
  }
  onTestFinished(close)

  return {
    origin,
    tokens,
    clock,
    store,
    requests,
    server,
    close,
    /** The methods and paths of the requests so far, from the one with this number on. */
    sent: (from = 0): string[] => requests.slice(from).map(toRoute),
    /** Answers the next requests of a route in place of the application, in this order. */
    plan: (route: string, ...answers: Answer[]) => void planned.set(route, answers),
    createClient: (options: TokenClientOptions = {}) =>
      createTokenClient({ path: `${origin}/auth`, ...options }),
    /** A client with the cookies of a browser, as far as Node can. */
    createCookieClient: (options: TokenClientOptions = {}) => {
      const jar = createCookieJar()
      const create = () =>
        createTokenClient({
          path: `${origin}/auth`,
          transport: 'cookies',
          readCookie: (name) => jar.read(name) ?? null,
          fetch: async (input, init) => {
            const request = new Request(input, init)
            const cookies = jar.headers(new URL(request.url).pathname)
            for (const [name, value] of Object.entries(cookies)) request.headers.set(name, value)
            const response = await fetch(request)
            jar.store(response.headers.getSetCookie())
            return response
          },
          ...options,
        })
      // What a page has that is loaded again: the same cookies.
      return { client: create(), jar, reload: create }
    },
  }
}

/** A clock for a client whose pauses are noted, and left to `onPause`; only calls still take real time. */
export function createPauses(onPause: (end: () => void) => void = setImmediate) {
  const pauses: number[] = []
  const scheduler: ClientTimers = {
    setTimeout(callback, milliseconds) {
      if (milliseconds === CALL_TIMEOUT_MS) return setTimeout(callback, milliseconds)
      pauses.push(milliseconds)
      onPause(callback)
      return undefined
    },
    clearTimeout,
  }
  return { pauses, clock: Object.assign(() => Date.now(), { scheduler }) }
}

export const ADA = { name: 'ada', password: 'secret' }
export const BOB = { name: 'bob', password: 'secret' }

/** A promise, and what resolves it. */
export function createSignal(): { readonly sent: Promise<void>; send(): void } {
  let send = (): void => {}
  const sent = new Promise<void>((resolve) => {
    send = resolve
  })
  return { sent, send }
}

/** Answers a route when `release` is called; `reached` resolves when the application has answered. */
export function hold(
  plan: (route: string, ...answers: Answer[]) => void,
  route: string,
  answer?: Response,
): { readonly reached: Promise<void>; release(): void } {
  const [reached, released] = [createSignal(), createSignal()]
  plan(route, async (_request, next) => {
    const response = answer ?? (await next())
    reached.send()
    await released.sent
    return response
  })
  return { reached: reached.sent, release: released.send }
}

/** The answer of a server whose store is gone. */
export const unavailable =
  (headers: Record<string, string> = { 'retry-after': '0' }) =>
  (): Response =>
    Response.json({ code: 'REVOCATION_UNAVAILABLE' }, { status: 503, headers })

function toRoute({ method, url }: Request): string {
  return `${method} ${new URL(url).pathname}`
}

const page = (content: string, type: string): Response =>
  new Response(content, { headers: { 'content-type': type } })

async function bundleClient(): Promise<string> {
  const entryPoints = [fileURLToPath(new URL('../../packages/client/src/index.ts', import.meta.url))]
  const { outputFiles } = await build({ entryPoints, bundle: true, format: 'esm', write: false })
  return outputFiles[0]?.text ?? ''
}
