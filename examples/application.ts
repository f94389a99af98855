import { randomBytes } from 'node:crypto'
import {
  type Dependency,
  MissingTokenError,
  type RefreshedTokens,
  type RequestToken,
  TokenConfig,
  type TokenConfigOptions,
  type TokenManager,
  type TokenPayload,
  type RevocationStore,
} from 'tokenlib'
import type { SessionClientOptions } from 'tokenlib/kit'
import type { MountableRoutes } from 'tokenlib/session-routes'
import { createCallbackLogins, createStoredLogins } from './logins.js'

/** The framework-independent part: the manager, the application's own dependencies, login and logout. */
export interface Application {
  readonly tokens: TokenManager
  /** How often revocation was checked: calls of the store or of the callback. */
  checks(): number
  readonly getTokenDep: Dependency<RequestToken>
  readonly getOptionalTokenDep: Dependency<RequestToken | null>
  /** `text` is the request body: empty, or JSON with a `uid`. Returns `null` for anything else. */
  login(text: string, client?: SessionClientOptions): Promise<IssuedTokens | null>
  /** New tokens for the refresh token of the request. */
  readonly refresh: Dependency<IssuedTokens>
  logout(token: RequestToken, payload: TokenPayload): Promise<void>
  /** The routes of the page; empty without a page. */
  readonly routes: readonly MountableRoutes[]
}

export interface IssuedTokens {
  readonly access_token: string
  /** Omitted if the client keeps its refresh token (RFC 6749 §6). */
  readonly refresh_token?: string
}

/** The application with a store or, without one, with a callback that looks in a set of tokens. */
export function createApplication(store?: RevocationStore, options: TokenConfigOptions = {}): Application {
  const secret = process.env['JWT_SECRET_KEY'] || randomBytes(32)
  const config = TokenConfig.fromEnv({ JWT_SECRET_KEY: secret, ...options })
  const logins = store === undefined ? createCallbackLogins(config) : createStoredLogins(config, store)
  const { tokens } = logins

  return {
    tokens,
    checks: () => logins.checks(),
    async getTokenDep(request) {
      const token = await tokens.getTokenFromRequest(request)
      if (token === null) throw new MissingTokenError()
      return token
    },
    getOptionalTokenDep: tokens.getTokenFromRequest,
    async login(text, client) {
      const uid = readUid(text)
      return uid === null ? null : toAnswer(await logins.begin(uid, client))
    },
    refresh: async (request) => toAnswer(await logins.refresh(request)),
    logout: (token, payload) => logins.end(token, payload),
    routes: [],
  }
}

/** The response of the `/token/*` routes. */
export function describeToken(token: RequestToken | null): string {
  return token === null
    ? 'No token found'
    : `Your token is: ${token.token} and is located in ${token.location}`
}

function toAnswer({ accessToken, refreshToken }: RefreshedTokens): IssuedTokens {
  return { access_token: accessToken, ...(refreshToken !== null && { refresh_token: refreshToken }) }
}

function readUid(text: string): string | null {
  if (text.trim() === '') return 'ada'
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body !== 'object' || body === null || Array.isArray(body)) return null
    const { uid = 'ada' } = body as { uid?: unknown }
    return typeof uid === 'string' && uid !== '' ? uid : null
  } catch {
    return null
  }
}
