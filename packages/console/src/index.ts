import {
  type Answering,
  assertOptions,
  assertPath,
  type MountableRoutes,
  type OptionNames,
  toRequestView,
} from 'tokenlib/kit'
import { type RevocationStore, setRequestIp } from 'tokenlib'
import { createAdmit, readOriginRefusal } from './access.js'
import { answerHealth, answerRevoke, answerSessions, type ConsoleTokens } from './api.js'
import {
  CONSOLE_LIVE,
  CONSOLE_PAGE,
  CONSOLE_SCRIPT,
  CONSOLE_STYLE,
  CONSOLE_TOOLS,
} from './assets.generated.js'
import { createLiveLog, createLiveStream } from './live-log.js'
import { createRefusal, createRefusalPage, createText, escapeHtml, secure } from './responses.js'

export type { MountableRoutes } from 'tokenlib/kit'
export type { ConsoleTokens } from './api.js'

/** The routes of a console. */
export interface ConsoleRoutes extends MountableRoutes {
  /**
   * Ends every stream of live revocations, and all listeners and timers. Later requests are answered with 503. Call it when
   * the application shuts down: a server waits for open streams. A second call does nothing.
   */
  close(): void
}

/** Who may use a console, and where it is. */
export interface ConsoleOptions<Value> {
  /** Lets operators in, and throws for everybody else. Every request of the console is checked, also for its files. */
  readonly allow: ((request: Request) => Value | Promise<Value>) & Answering<Value>
  /** Where the console is. Default `/console`. */
  readonly path?: string
  /** The heading of the page. Default `Sessions and revocations`. */
  readonly title?: string
  /** The name that actions are recorded under, for what `allow` returned. Default: its `sub`, or itself if it is a string. */
  readonly actor?: (value: Value) => string
  /** The store of the manager. If it has a replica, the page shows the revocations of other processes too. */
  readonly store?: Pick<RevocationStore, 'replica'>
}

const OPTIONS: OptionNames<ConsoleOptions<unknown>> = {
  allow: true,
  path: true,
  title: true,
  actor: true,
  store: true,
}

/**
 * A page for operators: sessions of a user, revocations with a reason, live revocations, and the health of the store.
 *
 * @example
 * const console = createConsole(tokens, { allow: tokens.scopesRequired('operator') })
 * const response = await console.handle(request)
 */
export function createConsole<Value>(tokens: ConsoleTokens, options: ConsoleOptions<Value>): ConsoleRoutes {
  assertOptions('createConsole()', options, OPTIONS)
  const { allow, path = '/console', title = 'Sessions and revocations', actor, store } = options
  if (typeof allow !== 'function') {
    throw new TypeError('createConsole() needs allow: a dependency that throws for everybody but operators')
  }
  assertPath(path, '/console')
  if (typeof title !== 'string') throw new TypeError('title must be a string')
  if (actor !== undefined && typeof actor !== 'function') throw new TypeError('actor must be a function')

  const admit = createAdmit({ allow, actor })
  const log = createLiveLog(tokens, store)
  let isClosed = false
  const page = createPage(tokens, title, store?.replica !== undefined)

  const isStillAllowed = async (request: Request): Promise<boolean> => {
    try {
      return 'actor' in (await admit(copyRead(request)))
    } catch {
      return false
    }
  }

  const routes: Readonly<Record<string, Route>> = {
    // Relative: a proxy may have taken a part of the address away. Below it, the page finds its files.
    '': { ...read(() => createRedirect(`${path.split('/').at(-1)}/`)), isPage: true },
    '/': { ...read(() => createText('text/html', page)), isPage: true },
    '/style.css': read(() => createText('text/css', CONSOLE_STYLE)),
    '/script.js': read(() => createText('text/javascript', CONSOLE_SCRIPT)),
    '/live.js': read(() => createText('text/javascript', CONSOLE_LIVE)),
    '/tools.js': read(() => createText('text/javascript', CONSOLE_TOOLS)),
    '/api/health': { ...read((_, name) => answerHealth(tokens, name)), isApi: true },
    '/api/sessions': { ...read((request) => answerSessions(tokens, request)), isApi: true },
    '/api/live': { ...read((request) => createLiveStream(log, () => isStillAllowed(request))), isApi: true },
    '/api/revoke': {
      method: 'POST',
      answer: (request, name) => answerRevoke(tokens, request, name),
      isApi: true,
    },
  }

  const answer = async (route: Route, request: Request): Promise<Response> => {
    const forged = route.isApi === true ? readOriginRefusal(request) : null
    if (forged !== null) return secure(forged)
    const admission = await admit(request)
    if ('response' in admission) return admission.response
    if ('refusal' in admission) {
      const { refusal, message, code } = admission
      return secure(route.isPage === true ? createRefusalPage(refusal, message, code) : refusal)
    }
    return secure(await answerAdmitted(route, request, admission.actor))
  }

  return {
    path,
    async handle(request) {
      const { pathname } = new URL(request.url)
      const name = pathname === path || pathname.startsWith(`${path}/`) ? pathname.slice(path.length) : null
      const route = name !== null && Object.hasOwn(routes, name) ? routes[name] : undefined
      if (route === undefined || request.method === 'OPTIONS') return null
      return isClosed ? secure(createClosed()) : answer(route, request)
    },
    close() {
      isClosed = true
      log.close()
    },
  }
}

// Not 404: another process of the application may have a console, and the page asks again.
function createClosed(): Response {
  return createRefusal(503, 'CONSOLE_CLOSED', 'This process of the application is shutting down')
}

async function answerAdmitted(route: Route, request: Request, actor: string): Promise<Response> {
  const isHead = route.method === 'GET' && request.method === 'HEAD'
  if (request.method !== route.method && !isHead) {
    const methods = route.method === 'GET' ? 'GET, HEAD' : route.method
    return createRefusal(405, 'METHOD_NOT_ALLOWED', `Use ${methods}`, { allow: methods })
  }
  const response = await route.answer(request, actor)
  if (!isHead) return response
  await response.body?.cancel()
  return new Response(null, response)
}

// What the list can show. Whatever nobody is told of is not said to be there.
const LIVE_OF_PROCESS =
  'Only what this process of the application has revoked since it started; other processes are not shown.'
const LIVE_WITH_REPLICA =
  'What this process of the application has revoked since it started, and what has arrived from others.'

interface Route {
  readonly method: 'GET' | 'POST'
  readonly answer: (request: Request, actor: string) => Response | Promise<Response>
  /** Whether people see the response itself. */
  readonly isPage?: boolean
  /** Whether only the page asks for it. */
  readonly isApi?: boolean
}

// Dependencies of this library do their work once per request: to ask again takes another one.
function copyRead(request: Request): Request {
  const copy = new Request(request.url, { headers: request.headers })
  setRequestIp(copy, toRequestView(request).ip)
  return copy
}

function createRedirect(location: string): Response {
  return new Response(null, { status: 308, headers: { location } })
}

function read(answer: Route['answer']): Route {
  return { method: 'GET', answer }
}

// The names of the CSRF cookie and header, for an `allow` that reads an access token from a cookie.
function createPage({ config }: ConsoleTokens, title: string, hasReplica: boolean): string {
  const values: Readonly<Record<string, string>> = {
    title,
    csrfCookie: config.JWT_ACCESS_CSRF_COOKIE_NAME,
    csrfHeader: config.JWT_ACCESS_CSRF_HEADER_NAME,
    live: hasReplica ? LIVE_WITH_REPLICA : LIVE_OF_PROCESS,
  }
  return CONSOLE_PAGE.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => escapeHtml(values[name] ?? ''))
}
