import { isRefusal, TokenClientError } from './errors.js'
import { addDefaults, assertOption, globals, parseOptions, type TokenClientOptions } from './options.js'
import { COOKIES_MISSING, FINAL_CODE, MAX_ATTEMPTS, SAFE_METHOD } from './limits.js'
import { createListeners } from './listeners.js'
import { deliver as deliverAnew, tellOnce, unlessSuperseded, untilAvailable } from './outages.js'
import { authorize, createCall } from './requests.js'
import { createSessionList } from './session-list.js'
import { type Change, joinTabs } from './tabs.js'
import { createKeeper } from './token-keeper.js'
import { createConnector, createSocket } from './token-socket.js'
import type { TokenAnswer, TokenClient, TokenClientEvents, TokenSession } from './types.js'
import { readRefusal, unlessAborted } from './responses.js'

/** Creates a client for the session routes of a server. Nothing is sent until it is used. */
export function createTokenClient<Claims = Record<string, unknown>>(
  options: TokenClientOptions = {},
): TokenClient<Claims> {
  type Session = TokenSession<Claims>

  const settings = parseOptions(options)
  const { clock: now, storage, timers } = settings
  const { location } = globals
  const isBearer = settings.transport === 'bearer'
  const [on, emit] = createListeners<TokenClientEvents<Claims>>()
  const keeper = createKeeper(storage, timers, (error) => emit('storageFailed', error))

  // `null` after a logout, when nothing is refreshed; `undefined` until the server has been asked.
  let session: Session | null | undefined
  let accessToken: string | undefined
  let tokenType: string | undefined
  let refreshToken: string | undefined
  // The CSRF value that all tokens of the session share; no other session has it.
  let sessionCsrf: string | null | undefined
  let expiresAt = 0
  // Changes with every login and logout: a call that started before belongs to another session.
  let epoch = 0
  // Changes with every refresh, here or in another tab.
  let refreshes = 0
  let refreshing: Promise<void> | null = null
  // The pending login, and all pending calls that change the session.
  let entering: Promise<Session> | undefined
  let changing: Promise<unknown> | undefined

  // Page globals are read lazily, because they are missing during server-side rendering.
  const toUrl = (address: string): URL => new URL(address, location?.href)
  const toRoute = (route: string): URL => toUrl(`${settings.path.replace(/\/$/, '')}/${route}`)
  const isAllowed = ({ origin }: URL): boolean =>
    [location?.origin, toRoute('').origin, ...settings.origins].includes(origin)

  // `null`: the cookie is missing, so the session is over. `undefined`: cookies cannot be read here.
  const readCsrf = (): string | null | undefined =>
    isBearer || !settings.csrfCookie ? undefined : settings.readCookie?.(settings.csrfCookie)
  const canRefresh = (): unknown =>
    session !== null && (isBearer ? storage || refreshToken : readCsrf() !== null)
  const isExpired = (): unknown => (session ? now() >= expiresAt : storage) && canRefresh()
  const isKnown = (other: Session): boolean => session === undefined || session?.id === other.id

  const hold = (next: Session, name?: Change): void => {
    session = next
    sessionCsrf = readCsrf()
    expiresAt = now() + (next.accessExpiresIn ?? Infinity) * 1000
    if (!name) return
    if (name === 'loggedIn') epoch++
    refreshes++
    emit(name, next)
  }

  // Keep the CSRF value: late cookies of this session must not look like a new session. And don't emit `loggedOut` for a
  // session that this tab did not know: a page that reloads itself at `loggedOut` would never stop.
  const end = (): void => {
    const known = session
    epoch++
    session = null
    sessionCsrf ??= readCsrf()
    accessToken = refreshToken = undefined
    if (known !== undefined) emit('loggedOut', undefined)
  }

  // If this tab does not know the session, the CSRF value tells the other tabs which one ended: theirs may be newer.
  const endEverywhere = (csrf?: string | null, ended = session): void => {
    channel?.postMessage({ name: 'loggedOut', session: ended, csrf })
    end()
  }

  const accept = (answer: TokenAnswer<Claims>, given: Change): Session => {
    const { session: next } = answer
    const name = isKnown(next) ? given : 'loggedIn'
    ;({ accessToken, tokenType, refreshToken = refreshToken } = answer)
    hold(next, name)
    channel?.postMessage({ name, session: next })
    return next
  }

  // Bearer tokens live in the memory of one tab, so each tab has its own session.
  const routes = !isBearer && location && toRoute('').href
  let channel = joinTabs<Claims>(routes, ({ name, session: other, csrf }) => {
    if (name === 'loggedOut') {
      const isOurs = other ? isKnown(other) : sessionCsrf === (csrf ?? sessionCsrf)
      if (session !== null && isOurs) end()
    } else if (other && (name === 'loggedIn' ? session?.id !== other.id : isKnown(other) && !accessToken)) {
      // Each tab has its own access token in memory, so only a login concerns all of them.
      accessToken = undefined
      hold(other, name)
    }
  })

  // Whether the cookies belong to a session that this tab does not know. Without cookies, the session is over.
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

  // Sends a request with the current token.
  const deliver = (
    first: Request,
    isSafe: boolean,
    readToken: () => typeof accessToken,
    mayRepeat = true,
  ) => {
    const started = epoch
    const { csrfHeader, proof: isProven } = settings
    const addCredentials = (request: Request): Request =>
      authorize(request, { token: readToken(), tokenType, csrf: readCsrf(), csrfHeader, isProven })
    const mayGoOn = (): boolean => !isReplaced() && epoch === started
    return deliverAnew(first, { ...settings, isSafe, mayRepeat, authorize: addCredentials, mayGoOn })
  }

  const call = createCall<Claims>(timers, toRoute, !isBearer, (request, { route, isFinal, token }) =>
    isFinal ? deliver(request, route === 'refresh', () => token ?? refreshToken) : send(request),
  )

  const sendLogout = (token?: string) => call('POST', 'logout', undefined, {}, token)

  const forget = (): Promise<void> => {
    endEverywhere()
    return keeper.forget()
  }

  // The cookies of a response must not overwrite the cookies of a later call.
  const callAfter = <Value>(others: readonly unknown[], work: () => Promise<Value>): Promise<Value> => {
    const result = Promise.allSettled(others).then(work)
    changing = Promise.allSettled([changing, result])
    return result
  }

  const tellOffline = tellOnce((error) => emit('offline', error))

  const refreshOnce = async (): Promise<void> => {
    const started = epoch
    const known = refreshes
    await changing
    const csrf = readCsrf()
    // A login, step-up, logout or refresh, here or in another tab, makes this refresh unnecessary.
    const isNeeded = (): boolean => epoch === started && refreshes === known
    try {
      const renew = (token?: string) => call('POST', 'refresh', 'session', {}, token)
      const answer = await unlessSuperseded(timers, () => keeper.renew(renew), isNeeded)
      // If the user has logged out or in since, don't bring the old session back.
      if (answer && epoch === started) accept(answer, 'refreshed')
    } catch (error) {
      if (epoch !== started) return
      if (isRefusal(error)) return endEverywhere(csrf)
      tellOffline(error as TokenClientError)
      throw error
    }
  }

  const refresh = (): Promise<void> => (refreshing ??= refreshOnce().finally(() => void (refreshing = null)))

  const send = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const first = new Request(input, init)
    const { headers, keepalive, method, signal, url } = first
    if (headers.has('authorization') || !isAllowed(new URL(url))) return settings.fetch(first)
    const started = epoch
    // A `keepalive` request cannot wait, because the page is unloading. An outage shows when the request is sent.
    if (isExpired() && !keepalive) {
      const renewed = unlessAborted(refresh(), signal)
      await (session ? renewed.catch(() => {}) : renewed)
    }
    if (isReplaced() || (session && epoch !== started)) {
      throw new TokenClientError('SESSION_CHANGED', `${method} ${url}`)
    }

    // A stream can be sent only once; the Fetch standard requires `duplex` for it.
    const mayRepeat = !(init && 'duplex' in init)
    let hasRefreshed = false
    for (let round = 1; ; round++) {
      const known = refreshes
      const request = mayRepeat ? first.clone() : first
      const response = await deliver(request, SAFE_METHOD.test(method), () => accessToken, mayRepeat)
      if (response.status !== 401 || round > MAX_ATTEMPTS) return response
      // A token may have expired again while the request waited for the server.
      const code = await readRefusal(response)
      if (FINAL_CODE.test(code) || (hasRefreshed && code !== 'TOKEN_EXPIRED')) return response
      // If another refresh has finished since, only repeat the request.
      if (refreshes === known) {
        if (!canRefresh()) return response
        hasRefreshed = true
        await unlessAborted(refresh(), signal)
      }
      // Never repeat a request as another session.
      if (!mayRepeat || isReplaced() || epoch !== started) return response
    }
  }

  const ask = async (): Promise<Session | null> => {
    // Unlike the other calls, don't rely on this tab's state: a logout may not have reached the server.
    isReplaced()
    session ??= undefined
    if (storage && !accessToken) return refresh().then(() => session ?? null)
    if (!canRefresh() && !accessToken) return null
    const started = epoch
    const csrf = readCsrf()
    try {
      const { session: next } = await call('GET', 'session', 'session')
      if (epoch === started) hold(next, isKnown(next) ? undefined : 'loggedIn')
    } catch (error) {
      if (!isRefusal(error)) throw error
      if (epoch !== started) return session ?? null
      // The refresh route has just said that the session goes on: this answer is from a server with other keys.
      if (canRefresh()) throw new TokenClientError('UNAVAILABLE', 'GET session', { cause: error })
      endEverywhere(csrf)
    }
    return session ?? null
  }

  return {
    fetch: send,
    session: ask,
    start(given = {}) {
      const signals = addDefaults(given, { signal: new AbortController().signal })
      const started = epoch
      // The user may log in or out during a pause.
      const askOnce = async (): Promise<Session | null> => (epoch === started ? ask() : (session ?? null))
      return untilAvailable(timers, askOnce, tellOffline, (signals as { signal: AbortSignal }).signal)
    },
    async logIn(credentials, given = {}) {
      entering = callAfter([changing, refreshing], async () => {
        addDefaults(given, { remember: false })
        const body = { ...credentials, ...given, transport: settings.transport }
        const answer = await call('POST', 'login', 'session', body)
        if (readCsrf() === null) throw new TokenClientError('COOKIES_MISSING', COOKIES_MISSING)
        await keeper.enter(answer)
        return accept(answer, 'loggedIn')
      })
      const entered = await entering
      const started = epoch
      // Requests and a logout wait for the login, but not for the storage, which may hang.
      await keeper.save(sendLogout, () => epoch === started && end())
      if (epoch !== started) throw new TokenClientError('SESSION_CHANGED', 'logIn')
      return entered
    },
    stepUp: (credentials) =>
      callAfter([changing, refreshing], async () => {
        const started = epoch
        const answer = await keeper.renew((token) => call('POST', 'step-up', 'session', credentials, token))
        if (epoch !== started) throw new TokenClientError('SESSION_CHANGED', 'stepUp')
        return accept(answer, 'refreshed')
      }),
    // Waits only for a login.
    logOut: () =>
      callAfter([entering], async () => {
        const ended = session
        const started = ++epoch
        session = null
        sessionCsrf ??= readCsrf()
        try {
          await keeper.leave(sendLogout, accessToken !== undefined)
        } finally {
          // Unless another tab has logged in since.
          if (epoch === started) endEverywhere(null, ended)
        }
      }),
    ...createSessionList(call, (id) => id === session?.id, forget),
    socket(address, protocols = []) {
      const url = toUrl(String(address).replace(/^ws(?=s?:)/, 'http'))
      assertOption('origins', isAllowed(url))
      // Browsers cannot send a proof with a handshake, and the server rejects a bound token without one.
      if (settings.proof) throw new TypeError('A socket cannot carry a proof')
      const started = epoch
      const prepare = async (isRefused: boolean): Promise<readonly string[] | null> => {
        if (isExpired() || (isRefused && canRefresh())) await refresh()
        if (epoch !== started) return null
        return accessToken ? ['bearer', accessToken] : canRefresh() ? [] : null
      }
      return createSocket(createConnector(url, settings.WebSocket, protocols), prepare, on, timers)
    },
    on,
    close() {
      channel?.close()
      channel = null
    },
  }
}
