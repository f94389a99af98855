import {
  type RefreshedTokens,
  type RequestSource,
  type RequestToken,
  type TokenConfig,
  TokenManager,
  type TokenPair,
  type TokenPayload,
  type RevocationStore,
} from 'tokenlib'
import type { SessionClientOptions } from 'tokenlib/kit'
import { internalsOf } from 'tokenlib/kit'

/** Logs users in, refreshes their tokens and logs them out. */
export interface Logins {
  readonly tokens: TokenManager
  checks(): number
  begin(uid: string, client?: SessionClientOptions): Promise<TokenPair>
  refresh(request: RequestSource): Promise<RefreshedTokens>
  end(token: RequestToken, payload: TokenPayload): Promise<void>
}

/** Logins in a store that several processes can share. Counts lookups, unless the store has a replica. */
export function createStoredLogins(config: TokenConfig, store: RevocationStore): Logins {
  let checks = 0
  const counted: RevocationStore = {
    ...store,
    lookup(keys, options) {
      checks++
      return store.lookup(keys, options)
    },
  }
  // A replica answers synchronously, which replacing `lookup` would prevent.
  const tokens = new TokenManager({ config, store: store.replica === undefined ? counted : store })

  return {
    tokens,
    checks: () => checks,
    begin: (uid, client) => tokens.sessions.open({ uid, foo: 'bar', age: 36 }, client),
    refresh: (request) => tokens.sessions.refresh(request),
    async end(_token, payload) {
      await tokens.logout(payload)
    },
  }
}

/** As in the specification: a callback that looks for the token in a set in this process's memory. */
export function createCallbackLogins(config: TokenConfig): Logins {
  const tokens = new TokenManager({ config })

  const blocklist = new Set<string>()
  let checks = 0
  tokens.setCallbackTokenBlocklist((token) => {
    checks++
    return blocklist.has(token)
  })

  // The tokens of each login by session id, so that a logout revokes the refresh token too.
  const logins = new Map<string, string[]>()
  const revoke = (token: RequestToken | null, sid = ''): void => {
    for (const each of logins.get(sid) ?? []) blocklist.add(each)
    if (token !== null) blocklist.add(token.token)
    logins.delete(sid)
  }

  const begin = async (uid: string): Promise<TokenPair> => {
    const pair = await tokens.sessions.open({ uid, foo: 'bar', age: 36 })
    const { sid = '' } = internalsOf(tokens).verifyWithoutRevocation(pair.accessToken)
    logins.set(sid, [pair.accessToken, pair.refreshToken])
    return pair
  }

  return {
    tokens,
    checks: () => checks,
    begin,
    async refresh(request) {
      const { sub, sid } = await tokens.refreshTokenRequired(request)
      revoke(await tokens.getTokenFromRequest(request, { type: 'refresh' }), sid)
      return begin(sub)
    },
    async end(token, payload) {
      revoke(token, payload.sid)
    },
  }
}
