import { toClientError, TokenClientError } from './errors.js'
import {
  addDefaults,
  assertOption,
  globals,
  parseOptions,
  type SocketConstructor,
  type TokenClientOptions,
} from './options.js'
import { CALL_TIMEOUT_MS, FINAL_CODE, MAX_ATTEMPTS, MAX_WAIT_SECONDS, SAFE_METHOD } from './limits.js'
import { createListeners } from './listeners.js'
import { openSocket } from './socket.js'
import type { SessionPage, TokenAnswer, TokenClient, TokenClientEvents, TokenSession } from './types.js'
import { now, readJson, readRetryAfter, unlessAborted } from './responses.js'

/**
 * Creates a client for the session routes of a server. Nothing is sent until it is used.
 *
 * @example
 * const client = createTokenClient({ path: '/auth' })
 * await client.logIn({ name: 'ada', password })
 * const response = await client.fetch('/notes')
 */
export function createTokenClient<Claims = Record<string, unknown>>(
  options: TokenClientOptions = {},
): TokenClient<Claims> {
  type Session = TokenSession<Claims>
  type Change = 'loggedIn' | 'refreshed'
  type Answer = TokenAnswer<Claims>

  const settings = parseOptions(options)
  const { csrfCookie } = settings
  const { location } = globals
  const isBearer = settings.transport === 'bearer'
  const [on, emit] = createListeners<TokenClientEvents<Claims>>()

  // `null` after a log-out, when nothing is refreshed; `undefined` as long as the server was not asked.
  let session: Session | null | undefined
  let accessToken: string | undefined
  let refreshToken: string | undefined
  // All tokens of a session have this value, and those of no other session.
  let sessionCsrf: string | null | undefined
  let expiresAt = 0
  // Changes with every log-in and log-out: what started before belongs to another session.
  let epoch = 0
  // Changes with every refresh, here or in another tab.
  let refreshes = 0
  let refreshing: Promise<boolean> | null = null
  let asking: Promise<Session | null> | null = null

  // What depends on the page is read when it is needed: a server that renders the page has none.
  const toUrl = (address: string): URL => new URL(address, location?.href)
  const toRoute = (route: string): URL => toUrl(`${settings.path}/${route}`)
  const isAllowed = ({ origin }: URL): boolean =>
    [location?.origin, toRoute('').origin, ...settings.origins].includes(origin)

  // `null` for no cookie, which is no session; `undefined` where nobody can tell.
  const readCsrf = (): string | null | undefined =>
    isBearer || !csrfCookie ? undefined : settings.readCookie?.(csrfCookie)
  const canRefresh = (): unknown => session !== null && (isBearer ? refreshToken : readCsrf() !== null)
  const isExpired = (): unknown => session && now() >= expiresAt && canRefresh()
  const isKnown = (other: Session): boolean => session === undefined || session?.id === other.id

  // Bearer tokens are in the memory of one tab: its session is not that of the others.
  const channel =
    !isBearer && location && globals.BroadcastChannel
      ? new globals.BroadcastChannel(`tokenlib ${toRoute('').href}`)
      : null

  const hold = (next: Session, name?: Change): void => {
    session = next
    sessionCsrf = readCsrf()
    expiresAt = now() + (next.accessExpiresIn ?? Infinity) * 1000
    if (!name) return
    if (name === 'loggedIn') epoch++
    refreshes++
    emit(name, next)
  }

  // The CSRF value stays: cookies of this session that come back late are not those of a new one.
  const end = (isNews = true): void => {
    epoch++
    session = null
    accessToken = refreshToken = undefined
    if (isNews) emit('loggedOut', undefined)
  }

  // Cookies that are left of a session which nobody here knew are no news: a page that reloads itself at `loggedOut`
  // would never stop.
  const endEverywhere = (ended = session): void => {
    const isNews = ended !== undefined
    if (isNews) channel?.postMessage({ name: 'loggedOut', session: ended })
    end(isNews)
  }

  const accept = ({ session: next, access_token, refresh_token }: Answer, given: Change): Session => {
    if (!next) throw new TokenClientError('ANSWER_INVALID', given)
    const name = isKnown(next) ? given : 'loggedIn'
    accessToken = access_token
    refreshToken = refresh_token
    hold(next, name)
    channel?.postMessage({ name, session: next })
    return next
  }

  if (channel) {
    channel.onmessage = ({ data }) => {
      const { name, session: other } = data as { name: Change | 'loggedOut'; session: Session }
      if (name === 'loggedOut') {
        if (session !== null && (!other || isKnown(other))) end()
      } else if (name === 'loggedIn' ? session?.id !== other.id : isKnown(other) && !accessToken) {
        // Where access tokens are in memory, each tab has its own: only a log-in concerns all of them.
        accessToken = undefined
        hold(other, name)
      }
    }
  }

  // Whether the cookies belong to another session than this tab knows; if there are none, the session is over.
  const isReplaced = (): boolean => {
    const csrf = readCsrf()
    if (csrf === sessionCsrf) return false
    if (session && sessionCsrf) {
      end()
      return !!csrf
    }
    if (csrf) session ??= undefined
    return false
  }

  // Sends a request, and again as long as the server is out of order and has not begun with it.
  const deliver = async (
    create: () => Request,
    withRefreshToken: boolean,
    mayRepeat = true,
  ): Promise<[Response, code: string]> => {
    const started = epoch
    for (let attempt = 1; ; attempt++) {
      const request = create()
      const isSafe = SAFE_METHOD.test(request.method)
      const token = withRefreshToken ? refreshToken : accessToken
      const csrf = readCsrf()
      // Set on the request: `fetch(request, { headers })` would reset its referrer.
      if (token) request.headers.set('authorization', `Bearer ${token}`)
      if (csrf && !isSafe) request.headers.set(settings.csrfHeader, csrf)
      const response = await settings.fetch(request)

      const { status, headers } = response
      if (status !== 401 && status !== 503) return [response, '']
      // Of a copy: the response may be returned.
      const { code = '' } = await readJson<Answer>(response.clone())
      // This code: refused before any handler ran. Other answers leave that open.
      const isRefused = code === 'REVOCATION_UNAVAILABLE' || (isSafe && headers.has('retry-after'))
      const seconds = readRetryAfter(response) || 1
      const isLast = !mayRepeat || attempt === MAX_ATTEMPTS || seconds > MAX_WAIT_SECONDS
      if (status === 401 || !isRefused || isLast) return [response, code]
      await unlessAborted(new Promise((resolve) => setTimeout(resolve, seconds * 1000)), request.signal)
      if (epoch !== started) return [response, code]
    }
  }

  // A request to a session route; anything but success rejects. The routes never redirect, and nothing must follow.
  // With a body it is neither refreshed nor repeated.
  const call = async <Result = Answer>(method: string, route: string, body?: object): Promise<Result> => {
    const init = {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
      // Also for a `path` on another origin. Workers do not know the member.
      ...(!isBearer && ({ credentials: 'include' } as const)),
    } as const
    const headers = { 'content-type': 'application/json' }
    const create = (): Request =>
      new Request(toRoute(route), { ...init, headers, body: JSON.stringify(body) })
    // The cookies of another refresh that is under way must not overwrite those of a log-in.
    if (body) await refreshing?.catch(() => {})
    try {
      const response = body ? (await deliver(create, true))[0] : await send(toRoute(route), init)
      const answer = await readJson<Answer>(response)
      if (response.ok) return answer as Result
      throw toClientError(route, response, answer)
    } catch (cause) {
      throw cause instanceof TokenClientError ? cause : new TokenClientError('UNAVAILABLE', route, { cause })
    }
  }

  const refreshOnce = async (): Promise<boolean> => {
    const started = epoch
    const csrf = readCsrf()
    try {
      const answer = await call('POST', 'refresh', {})
      // Whoever has logged out or in meanwhile must not get the old session back.
      if (epoch === started) accept(answer, 'refreshed')
    } catch (error) {
      const { status, code } = error as TokenClientError
      if (epoch === started) {
        if (status !== 401 || FINAL_CODE.test(code)) {
          emit('offline', error as TokenClientError)
          throw error
        }
        sessionCsrf ??= csrf
        endEverywhere()
      }
    }
    return epoch === started
  }

  const refresh = (): Promise<boolean> =>
    (refreshing ??= refreshOnce().finally(() => {
      refreshing = null
    }))

  const send = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const create = (): Request => new Request(input instanceof Request ? input.clone() : input, init)
    const first = create()
    const { headers, keepalive, signal, url } = first
    if (headers.has('authorization') || !isAllowed(toUrl(url))) return settings.fetch(first)
    if (isReplaced()) throw new TokenClientError('SESSION_CHANGED', 'fetch')
    // A page that is being left has no time to wait. An outage is told when the request is refused.
    if (isExpired() && !keepalive) await unlessAborted(refresh(), signal).catch(() => {})

    const started = epoch
    // A stream is gone once it was sent; the Fetch standard requires `duplex` for it.
    const mayRepeat = !('duplex' in init)
    let hasRefreshed = false
    for (let round = 1; ; round++) {
      const known = refreshes
      const [response, code] = await deliver(mayRepeat ? create : () => first, false, mayRepeat)
      if (response.status !== 401 || FINAL_CODE.test(code) || hasRefreshed) return response
      // If another refresh has finished meanwhile, the request is only repeated: once.
      if (refreshes === known || round > 1) {
        if (!canRefresh()) return response
        hasRefreshed = true
        await unlessAborted(refresh(), signal)
      }
      // Nothing is repeated in the name of another session.
      if (!mayRepeat || epoch !== started) return response
    }
  }

  const askOnce = async (): Promise<Session | null> => {
    // The one call that does not rely on what this tab knows: a log-out may not have reached the server.
    isReplaced()
    session ??= undefined
    if (!canRefresh() && !accessToken) return null
    const started = epoch
    try {
      const answer = await call('GET', 'session')
      if (epoch === started && answer.session)
        hold(answer.session, isKnown(answer.session) ? undefined : 'loggedIn')
    } catch (error) {
      if ((error as TokenClientError).status !== 401) throw error
      if (epoch === started) endEverywhere()
    }
    return session ?? null
  }

  const ask = (): Promise<Session | null> =>
    (asking ??= askOnce().finally(() => {
      asking = null
    }))

  return {
    fetch: send,
    session: ask,
    async logIn(credentials, given = {}) {
      addDefaults(given, { remember: false })
      const { transport } = settings
      return accept(await call('POST', 'login', { ...credentials, ...given, transport }), 'loggedIn')
    },
    stepUp: async (credentials) => accept(await call('POST', 'step-up', credentials), 'refreshed'),
    logOut() {
      const ended = session
      epoch++
      session = null
      return call<void>('POST', 'logout').finally(() => endEverywhere(ended ?? null))
    },
    logOutEverywhere: () => call('POST', 'logout-everywhere').then(() => endEverywhere(session ?? null)),
    sessions: () => call<SessionPage>('GET', 'sessions'),
    async endSession(id) {
      await call('DELETE', `sessions/${encodeURIComponent(id)}`)
      if (id === session?.id) endEverywhere()
    },
    socket(address, protocols = []) {
      const url = toUrl(String(address).replace(/^ws/, 'http'))
      const { WebSocket } = settings
      assertOption('WebSocket', WebSocket)
      assertOption('origins', isAllowed(url))
      let known = refreshes
      const connect = (): object => {
        known = refreshes
        const offered = (accessToken ? ['bearer', accessToken] : []).concat(protocols)
        return new (WebSocket as SocketConstructor)(url.href.replace('http', 'ws'), offered)
      }
      const prepare = async (isRefused: boolean): Promise<unknown> =>
        (isExpired() || (isRefused && known === refreshes && canRefresh())) && refresh()
      return openSocket(connect, prepare, (listener) => [on('loggedIn', listener), on('loggedOut', listener)])
    },
    on,
    close: () => channel?.close(),
  }
}
