import { randomBytes } from 'node:crypto'
import {
  type Dependency,
  MissingTokenError,
  type RequestToken,
  TokenConfig,
  TokenManager,
  type TokenPayload,
} from 'tokenlib'

/** What is the same in every framework: the manager, the application's own dependencies, log-in and log-out. */
export interface Application {
  readonly tokens: TokenManager
  /** How often the revocation callback has run. */
  checks(): number
  readonly getTokenDep: Dependency<RequestToken>
  readonly getOptionalTokenDep: Dependency<RequestToken | null>
  /** `text` is the body of the request: empty, or JSON with a `uid`. `null` when it is neither. */
  login(text: string): Promise<IssuedTokens | null>
  refresh(token: RequestToken, payload: TokenPayload): Promise<IssuedTokens>
  logout(token: RequestToken, payload: TokenPayload): void
}

export interface IssuedTokens {
  readonly access_token: string
  readonly refresh_token: string
}

export function createApplication(): Application {
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: process.env['JWT_SECRET_KEY'] || randomBytes(32) }),
  })

  const blocklist = new Set<string>()
  let checks = 0
  tokens.setCallbackTokenBlocklist((token) => {
    checks++
    return blocklist.has(token)
  })

  // Every token of a log-in by its session id, so that a logout reaches the refresh token too.
  const logins = new Map<string, string[]>()
  const revokeLogin = (sid = ''): void => {
    for (const token of logins.get(sid) ?? []) blocklist.add(token)
    logins.delete(sid)
  }

  const issue = async (uid: string): Promise<IssuedTokens> => {
    const { accessToken, refreshToken } = await tokens.createTokenPair({ uid, foo: 'bar', age: 36 })
    const { sid = '' } = tokens.verifyTokenWithoutRevocation(accessToken)
    logins.set(sid, [accessToken, refreshToken])
    return { access_token: accessToken, refresh_token: refreshToken }
  }

  return {
    tokens,
    checks: () => checks,
    async getTokenDep(request) {
      const token = await tokens.getTokenFromRequest(request)
      if (token === null) throw new MissingTokenError()
      return token
    },
    getOptionalTokenDep: tokens.getTokenFromRequest,
    async login(text) {
      const uid = readUid(text)
      return uid === null ? null : issue(uid)
    },
    async refresh(token, payload) {
      blocklist.add(token.token)
      revokeLogin(payload.sid)
      return issue(payload.sub)
    },
    logout(token, payload) {
      blocklist.add(token.token)
      revokeLogin(payload.sid)
    },
  }
}

/** The answer of the `/token/*` routes. */
export function describeToken(token: RequestToken | null): string {
  return token === null
    ? 'No token found'
    : `Your token is: ${token.token} and is located in ${token.location}`
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
