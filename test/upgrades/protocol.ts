import type { TokenConfigOptions, TokenPair } from '../../packages/tokenlib/src/index.js'

/** Where a process of an application keeps its data, and how it is configured; plain data. */
export interface ApplicationOptions {
  readonly kind: 'redis' | 'postgres' | 'sqlite'
  /** Of the server, or the path of a SQLite file. */
  readonly url: string
  readonly namespace: string
  readonly config: TokenConfigOptions
  /** Only for releases that have `replicate`. */
  readonly isReplicated?: boolean
}

/** What a process can be asked. A token error rejects with its code as the message. */
export interface Calls {
  logIn(uid: string, options?: { readonly maxSessions?: number }): Promise<TokenPair>
  /** The user of an access token. */
  check(token: string): Promise<string>
  refresh(token: string): Promise<TokenPair>
  /** The ids of the user's sessions. */
  list(uid: string): Promise<readonly string[]>
  /** The id of a token's session. */
  sid(token: string): Promise<string>
  logout(token: string): Promise<void>
  revokeToken(token: string): Promise<void>
  revokeSession(sid: string): Promise<void>
  revokeUser(uid: string): Promise<void>
  /** The key that the process signs with. */
  revokeKey(): Promise<void>
  revokeAll(): Promise<void>
}

export interface Request {
  readonly id: number
  readonly name: keyof Calls
  readonly values: readonly unknown[]
}

export type Reply = { readonly id: number } & ({ readonly value: unknown } | { readonly error: string })
