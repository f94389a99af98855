import { EventEmitter, once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import {
  isTokenError,
  setAccessCookies,
  setRefreshCookies,
  type TokenManager,
  type RefreshedTokens,
  unsetCookies,
} from '../../packages/tokenlib/src/index.js'

/** What the application said to a request, and how the browser had marked the request. */
export interface Answer {
  /** Whom the application believed it was talking to; null when it refused. */
  readonly sub: string | null
  readonly code: string | null
  readonly site: string | undefined
  readonly origin: string | undefined
}

/** An application whose users are logged in with cookies, on a plain Node server. */
export interface Application {
  handle(request: IncomingMessage, response: ServerResponse): void
  /** Opens a socket for who is logged in; `own` is the origin of the application's pages. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, own: string): void
  /** The answer to the next request of this method and path. */
  nextAnswer(route: Route): Promise<Answer>
  /** Who wrote something: the state that an attack would change. */
  readonly notes: readonly string[]
}

/** A method and a path. */
export type Route = `${'GET' | 'POST' | 'OPTIONS'} /${string}`

/** What a route does: whom it knows, what it shows, and the cookies it sets. */
interface Outcome {
  readonly sub: string
  readonly page?: string
  readonly cookies?: readonly string[]
}

/** Creates an application that asks `tokens` who sends a request. */
export function createApplication(tokens: TokenManager): Application {
  const notes: string[] = []
  const sockets = new WebSocketServer({ noServer: true })
  const answers = new EventEmitter()

  const toCookies = ({ accessToken, refreshToken }: RefreshedTokens): string[] => [
    ...setAccessCookies(tokens, accessToken),
    ...setRefreshCookies(tokens, refreshToken),
  ]
  const logIn = async ({ url = '' }: IncomingMessage): Promise<Outcome> => {
    const [, sub = ''] = url.split('?uid=')
    return { sub, cookies: toCookies(await tokens.sessions.open({ uid: sub })) }
  }
  const addNote = ({ sub = '' }): Outcome => {
    notes.push(sub)
    return { sub }
  }

  const routes: Readonly<Record<string, (request: IncomingMessage) => Outcome | Promise<Outcome>>> = {
    // A page of the application itself, with whatever content.
    'GET /': ({ url = '' }) => ({
      sub: '',
      page: new URL(url, 'https://app').searchParams.get('html') ?? '',
    }),
    // There is no token yet to protect a login; no form can send this media type, and no script without CORS.
    'POST /login': (request) =>
      request.headers['content-type'] === 'application/json' ? logIn(request) : NOBODY,
    'POST /login-with-form': logIn,
    'GET /me': async (request) => ({ sub: (await tokens.accessTokenRequired(request)).sub }),
    'GET /form': async (request) => {
      const { sub, csrf = '' } = await tokens.accessTokenRequired(request)
      return {
        sub,
        page: `<form method="post" action="/notes"><input name="csrf_token" value="${csrf}"></form>`,
      }
    },
    'POST /notes': async (request) => addNote(await tokens.accessTokenRequired(request)),
    // What the application would be without the protection: it shows that an attack can succeed at all.
    'POST /unprotected': async (request) => addNote(await tokens.require({ csrf: false })(request)),
    'POST /refresh': async (request) => {
      const pair = await tokens.sessions.refresh(request)
      return { sub: (await tokens.verify(pair.accessToken)).sub, cookies: toCookies(pair) }
    },
    'POST /logout': async (request) => {
      const payload = await tokens.accessTokenRequired(request)
      await tokens.logout(payload)
      return { sub: payload.sub, cookies: unsetCookies(tokens) }
    },
  }

  async function answer(route: string, request: IncomingMessage, response: ServerResponse): Promise<Answer> {
    const { 'sec-fetch-site': site, origin } = request.headers as Record<string, string | undefined>
    try {
      const { sub, page = '', cookies = [] } = (await routes[route]?.(request)) ?? NOBODY
      const headers = { 'content-type': 'text/html', 'set-cookie': [...cookies] }
      response.writeHead(route in routes ? 200 : 405, headers).end(`<!doctype html>${page}`)
      return { sub, code: null, site, origin }
    } catch (error) {
      if (!isTokenError(error)) throw error
      response.writeHead(401).end(error.code)
      return { sub: null, code: error.code, site, origin }
    }
  }

  return {
    notes,
    async nextAnswer(route) {
      const [next] = (await once(answers, route)) as [Answer]
      return next
    },
    handle(request, response) {
      const route = `${request.method} ${request.url?.split('?', 1)[0]}`
      answer(route, request, response).then(
        (value) => answers.emit(route, value),
        (error: unknown) => response.writeHead(500).end(String(error)),
      )
    },
    upgrade(request, socket, head, own) {
      // Anyone who takes any origin for their own has no protection.
      const origin = request.url === '/unprotected' ? (request.headers.origin ?? '') : own
      tokens.sockets.authenticate(request, { origins: [origin] }).then(
        ({ payload }) => sockets.handleUpgrade(request, socket, head, (client) => client.send(payload.sub)),
        (error: unknown) =>
          socket.end(`HTTP/1.1 ${isTokenError(error) ? '401 Unauthorized' : '500 Error'}\r\n\r\n`),
      )
    },
  }
}

const NOBODY: Outcome = { sub: '' }
