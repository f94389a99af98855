/** The signature of `fetch`, as far as all runtimes share it. */
export type FetchFunction = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** How a client reaches its server. */
export interface TokenClientOptions {
  /** Where the session routes are mounted, relative to the page or absolute. Default `/auth`. */
  readonly path?: string
  /** `cookies` by default in a browser, `bearer` elsewhere. */
  readonly transport?: 'cookies' | 'bearer'
  /** More origins that get the CSRF value or the bearer token, besides the page's own and the origin of `path`. */
  readonly origins?: readonly string[]
  /** `JWT_ACCESS_CSRF_COOKIE_NAME` of the server; empty if it sets none. Default `csrf_access_token`. */
  readonly csrfCookie?: string
  /** `JWT_ACCESS_CSRF_HEADER_NAME` of the server. Default `X-CSRF-TOKEN`. */
  readonly csrfHeader?: string
  /** Reads a cookie; by default from `document.cookie`. */
  readonly readCookie?: (name: string) => string | null
  /** `dpop()` of `@tokenlib/client/dpop` binds sessions to a key of this browser. */
  readonly proof?: TokenProof
  /** Where an app keeps the refresh token, so that a restart does not log its user out; for `bearer` only. */
  readonly storage?: TokenStorage
  /** Used instead of the global `fetch`. */
  readonly fetch?: FetchFunction
  /** Used instead of the global `WebSocket`. */
  readonly WebSocket?: SocketConstructor
  /** Replaces `Date.now`, and the global timers if it has a `scheduler`; for tests. */
  readonly clock?: ClientClock
}

/** Where an app keeps its refresh token, such as the Keychain or `expo-secure-store`. */
export interface TokenStorage {
  /** The value of the last `write`, or `null`. */
  read(): Promise<string | null>
  /** Resolves once the value survives a crash. */
  write(value: string): Promise<void>
  remove(): Promise<void>
}

/** The time in epoch milliseconds; `createVirtualClock` of `tokenlib/testing` returns one that also has timers. */
export interface ClientClock {
  (): number
  readonly scheduler?: ClientTimers
}

/** The timers of a client. */
export interface ClientTimers {
  setTimeout(callback: () => void, milliseconds: number): unknown
  clearTimeout(timer: never): void
}

/**
 * Sends requests with a proof that the sender has the key of the session. `dpop()` of `@tokenlib/client/dpop` returns one.
 * A bound token in `Authorization` already has the scheme `DPoP`.
 */
export type TokenProof = (request: Request, delivery: ProofDelivery) => Promise<Response>

/** How a request with a proof is sent, and when it may be sent again with a new proof. */
export interface ProofDelivery {
  /** Sends one request. Every one needs a proof of its own. */
  readonly send: (request: Request) => Promise<Response>
  /** The time in epoch milliseconds. */
  readonly clock: () => number
  /** Whether the body can be sent again, which a stream cannot. */
  readonly mayRepeat: boolean
  /** Whether it does no harm if the server handles the request twice. */
  readonly isSafe: boolean
  /** Whether the request still belongs to the session of this client. */
  readonly mayGoOn: () => boolean
}

/** The constructor of a WebSocket. */
export type SocketConstructor = new (url: string, protocols?: string[]) => object

/** What a page has and other runtimes may not have. */
export interface PageGlobals {
  readonly location?: { readonly href: string; readonly origin: string }
  readonly document?: { readonly cookie: string; readonly baseURI: string }
  readonly BroadcastChannel?: new (name: string) => PageChannel
  readonly WebSocket?: SocketConstructor
}

/** A channel to the other tabs of the origin. */
export interface PageChannel {
  onmessage: ((event: { readonly data: unknown }) => void) | null
  postMessage(message: unknown): void
  close(): void
}

/** The globals of this runtime. */
export const globals: PageGlobals = globalThis as unknown as PageGlobals

type Optional = 'WebSocket' | 'proof' | 'readCookie' | 'storage'

/** Options that were checked, with what was left out. */
export type ParsedOptions = Required<Omit<TokenClientOptions, Optional>> &
  Pick<TokenClientOptions, Optional> & { readonly timers: ClientTimers }

/** Checks the options, and adds what was left out. */
export function parseOptions(options: TokenClientOptions): ParsedOptions {
  const { storage, ...others } = options
  const isStored = 'storage' in options
  const parsed = addDefaults(others, {
    path: '/auth',
    // Expo gives apps a `location` too.
    transport: globals.location && !isStored ? 'cookies' : 'bearer',
    origins: [],
    csrfCookie: 'csrf_access_token',
    csrfHeader: 'X-CSRF-TOKEN',
    readCookie: globals.document && readPageCookie,
    proof: undefined,
    // Looked up at every call: an application may replace it later.
    fetch: (input: string | URL | Request, init?: RequestInit) => globalThis.fetch(input, init),
    WebSocket: globals.WebSocket,
    // Unlike a monotonic clock, it goes on while a laptop sleeps.
    clock: () => Date.now(),
  }) as ParsedOptions
  assertOption('transport', ['cookies', 'bearer'].includes(parsed.transport))
  // The browser keeps cookies itself, and the key of a proof would be lost.
  const maySupport = isStorage(storage) && parsed.transport === 'bearer' && !parsed.proof
  assertOption('storage', !isStored || maySupport)
  return {
    ...parsed,
    ...(storage && { storage }),
    timers: parsed.clock.scheduler ?? globalThis,
    origins: parsed.origins.map((origin) => new URL(origin).origin),
  }
}

/** The options with what was left out, or `TypeError`: each must be known and have the type of its default. */
export function addDefaults(options: object, defaults: Readonly<Record<string, unknown>>): object {
  for (const [name, value] of Object.entries(options)) {
    // What has no default in this runtime is a function.
    assertOption(name, name in defaults && typeof value === typeof (defaults[name] ?? addDefaults))
  }
  return { ...defaults, ...options }
}

/** Throws `TypeError` for an option that is unknown or invalid. */
export function assertOption(name: string, isValid: unknown): void {
  if (!isValid) throw new TypeError(`Invalid ${name}`)
}

function isStorage(value: unknown): boolean {
  const members = Object(value) as Record<string, unknown>
  return ['read', 'write', 'remove'].every((name) => typeof members[name] === 'function')
}

function readPageCookie(name: string): string | null {
  const pair = globals.document?.cookie.split('; ').find((text) => text.startsWith(`${name}=`))
  return pair?.slice(name.length + 1) || null
}
