import { isTokenError, type RevocationStore, setRequestIp } from 'tokenlib'
import { CsrfError, isConfigurationError } from 'tokenlib/errors'
import {
  type Answering,
  anyText,
  callable,
  createRoute,
  createRouter,
  type Methods,
  type MountableRoutes,
  type OptionKinds,
  parseOptions,
  RefusedRequest,
  required,
  type Route,
  routePath,
  toErrorAnswer,
  toRequestView,
  unchecked,
} from 'tokenlib/kit'
import { createAdmit, isFromOwnPage } from './access.js'
import { answerHealth, answerRevoke, answerSessions, type ConsoleTokens } from './api.js'
import {
  CONSOLE_LIVE,
  CONSOLE_PAGE,
  CONSOLE_SCRIPT,
  CONSOLE_STYLE,
  CONSOLE_TOOLS,
} from './assets.generated.js'
import { createLiveLog, createLiveStream } from './live-log.js'
import { createRefusalPage, createText, escapeHtml, secure } from './responses.js'

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

const OPTIONS: OptionKinds<ConsoleOptions<unknown>> = {
  allow: required(callable('a dependency that throws for everybody but operators')),
  path: routePath,
  title: anyText,
  actor: callable(),
  store: unchecked(),
}

/**
 * A page for operators: sessions of a user, revocations with a reason, live revocations, and the health of the store.
 *
 * @example
 * const console = createConsole(tokens, { allow: tokens.require({ scopes: ['operator'] }) })
 * const response = await console.handle(request)
 */
export function createConsole<Value>(tokens: ConsoleTokens, options: ConsoleOptions<Value>): ConsoleRoutes {
  const parsed = parseOptions('createConsole()', options, OPTIONS)
  const { allow, path = '/console', title = 'Sessions and revocations', actor, store } = parsed
  const admit = createAdmit({ allow, actor })
  const log = createLiveLog(tokens, store)
  let isClosed = false
  const html = createPage(tokens, title, store?.replica !== undefined)

  const isStillAllowed = async (request: Request): Promise<boolean> => {
    try {
      await admit(copyRead(request))
      return true
    } catch {
      return false
    }
  }

  // Admission comes before the method: visitors who may not use the console don't learn what it answers.
  const guard =
    (answer: Route<[actor: string]>, { isPage = false, isApi = false } = {}): Route =>
    async (request) => {
      if (isClosed) return secure(toAnswer(consoleClosed()))
      if (isApi && !isFromOwnPage(request)) {
        return secure(toAnswer(new CsrfError('The request does not come from the page of the console')))
      }
      let name: string
      try {
        name = await admit(request)
      } catch (error) {
        // A response of the dependency itself: a redirect to the login, a challenge.
        if (error instanceof Response) return error
        const refusal = toAnswer(error)
        return secure(isPage && isTokenError(error) ? createRefusalPage(refusal, error) : refusal)
      }
      return secure(await answer(request, name))
    }
  const file = (mediaType: string, text: string): Route =>
    guard(createRoute({ GET: () => createText(mediaType, text) }, toOperatorAnswer))
  const page = (answer: () => Response): Route =>
    guard(createRoute({ GET: answer }, toOperatorAnswer), { isPage: true })
  const api = (methods: Methods<[actor: string]>): Route =>
    guard(createRoute(methods, toOperatorAnswer), { isApi: true })

  const router = createRouter({
    path,
    routes: {
      // Relative: a proxy may have taken a part of the address away. Below it, the page finds its files.
      '': page(() => createRedirect(`${path.split('/').at(-1)}/`)),
      '/': page(() => createText('text/html', html)),
      '/style.css': file('text/css', CONSOLE_STYLE),
      '/script.js': file('text/javascript', CONSOLE_SCRIPT),
      '/live.js': file('text/javascript', CONSOLE_LIVE),
      '/tools.js': file('text/javascript', CONSOLE_TOOLS),
      '/api/health': api({ GET: (_, name) => answerHealth(tokens, name) }),
      '/api/sessions': api({ GET: (request) => answerSessions(tokens, request) }),
      '/api/live': api({ GET: (request) => createLiveStream(log, () => isStillAllowed(request)) }),
      '/api/revoke': api({ POST: (request, name) => answerRevoke(tokens, request, name) }),
    },
  })

  return {
    ...router,
    close() {
      isClosed = true
      log.close()
    },
  }
}

function toAnswer(error: unknown): Response {
  return toErrorAnswer(error, ({ message, code }) => ({ message, code }))
}

// That the manager keeps no sessions is for operators to read.
function toOperatorAnswer(error: unknown): Response {
  return toAnswer(isConfigurationError(error) ? new RefusedRequest(501, error.code, error.message) : error)
}

// Not 404: another process of the application may have a console, and the page asks again.
function consoleClosed(): RefusedRequest {
  return new RefusedRequest(503, 'CONSOLE_CLOSED', 'This process of the application is shutting down')
}

// What the list can show. Whatever nobody is told of is not said to be there.
const LIVE_OF_PROCESS =
  'Only what this process of the application has revoked since it started; other processes are not shown.'
const LIVE_WITH_REPLICA =
  'What this process of the application has revoked since it started, and what has arrived from others.'

// Dependencies of this library do their work once per request: to ask again takes another one.
function copyRead(request: Request): Request {
  const copy = new Request(request.url, { headers: request.headers })
  setRequestIp(copy, toRequestView(request).ip)
  return copy
}

function createRedirect(location: string): Response {
  return new Response(null, { status: 308, headers: { location } })
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
