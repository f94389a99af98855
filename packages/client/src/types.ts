import type { TokenClientError } from './errors.js'
import type { FetchFunction } from './options.js'
import type { TokenSocket } from './socket-types.js'

/** A session as the server describes it; times are in seconds from the moment of the answer, `null` for never. */
export interface TokenSession<Claims = Record<string, unknown>> {
  readonly id: string
  readonly sub: string
  /** The extra claims of the access token. */
  readonly claims: Claims
  readonly scopes: readonly string[]
  /** Whether the access token comes from a login or a step-up, not from a refresh. */
  readonly fresh: boolean
  /** When the access token expires. */
  readonly accessExpiresIn: number | null
  /** When the session expires, unless it is refreshed. */
  readonly expiresIn: number | null
}

/** The response body of a session route; its members depend on the route. */
export interface TokenAnswer<Claims> extends SessionPage {
  readonly session: TokenSession<Claims>
  readonly accessToken?: string
  /** `DPoP` for tokens that are bound to the key of the client. */
  readonly tokenType?: string
  /** Left out if the client keeps the refresh token it sent. */
  readonly refreshToken?: string
  /** How many sessions were ended. */
  readonly ended?: number
  readonly code?: string
}

/** The events of a client, and what listeners receive. */
export interface TokenClientEvents<Claims = Record<string, unknown>> {
  /** The user logged in, here or in another tab, perhaps as another user. */
  readonly loggedIn: TokenSession<Claims>
  /** The access token was renewed, here or in another tab. */
  readonly refreshed: TokenSession<Claims>
  /** The session ended: the user logged out, here or in another tab, or the server ended it. */
  readonly loggedOut: undefined
  /** The server is unavailable: a refresh, or an attempt of `start`, failed. The session is kept. */
  readonly offline: TokenClientError
  /** A call of `storage` failed or took too long. The session is kept; that of a login is in memory until it is stored. */
  readonly storageFailed: TokenClientError
}

/** One of the sessions of a user, such as a device; times are ISO 8601. */
export interface ListedSession {
  readonly id: string
  readonly createdAt: string
  readonly lastUsedAt: string
  readonly expiresAt: string | null
  readonly ip: string | null
  readonly userAgent: string | null
  /** What the application keeps with the session, and the name of its device; `null` for nothing. */
  readonly data: ({ readonly label?: string } & Readonly<Record<string, unknown>>) | null
  /** Whether it is the session of this client. */
  readonly isCurrent: boolean
}

/** One page of sessions; pass `next` as `before` to get the next page. `null` on the last page. */
export interface SessionPage {
  readonly sessions: readonly ListedSession[]
  readonly next: string | null
}

/** A client for the session routes, with a `fetch` that authenticates requests. */
export interface TokenClient<Claims = Record<string, unknown>> {
  /** `fetch` that adds the CSRF value or the bearer token; when that has expired, it refreshes and repeats once. */
  readonly fetch: FetchFunction
  /** Logs in; rejects with `CREDENTIALS_INVALID` for credentials that the server does not accept. */
  logIn(credentials: object, options?: { readonly remember?: boolean }): Promise<TokenSession<Claims>>
  /** Logs out, in every tab; rejects with `UNAVAILABLE` if the server has not confirmed it. */
  logOut(): Promise<void>
  /** Ends all sessions of the user. */
  logOutEverywhere(): Promise<void>
  /** Proves the identity of the user again, for routes that require a fresh token. */
  stepUp(credentials: object): Promise<TokenSession<Claims>>
  /**
   * Resolves to the session when a page starts, or `null`. While the server is unavailable, it retries with growing pauses
   * and emits `offline` each time, until `signal` aborts.
   */
  start(options?: { readonly signal?: AbortSignal }): Promise<TokenSession<Claims> | null>
  /** The session as the server knows it, or `null`; rejects if the server is not available. */
  session(): Promise<TokenSession<Claims> | null>
  /** The sessions of the user, one page at a time. */
  sessions(): Promise<SessionPage>
  /** Names the device of one of the user's sessions: 1 to 100 characters, or `null` to remove the name. */
  renameSession(id: string, label: string | null): Promise<void>
  /** Ends one of the sessions of the user. */
  endSession(id: string): Promise<void>
  /** Ends all of the user's sessions except this one; resolves to how many it ended. */
  endOtherSessions(): Promise<number>
  /** A WebSocket that reconnects, until the session is over. */
  socket(url: string | URL, protocols?: string | readonly string[]): TokenSocket
  /** Subscribes to an event. Returns an unsubscribe function. */
  on<Name extends keyof TokenClientEvents>(
    name: Name,
    listener: (value: TokenClientEvents<Claims>[Name]) => void,
  ): () => void
  /** Leaves the channel to the other tabs. */
  close(): void
}
