import { randomBytes } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'
import { SignJWT } from 'jose'
import { isTokenError, type RevocationStore, setCookies, type TokenManager, type TokenPair } from 'tokenlib'
import { trustLegacyIssuer } from '@tokenlib/issuers'
import { sendCookies } from 'tokenlib/hono'
import { FOREVER, toRevocationKey } from 'tokenlib/kit'

/** A session of the old library, verified by it. */
export interface OldSession {
  readonly uid: string
  /** No other session has this id. */
  readonly id: string
  /** Epoch seconds; left out, it lasts until `acceptUntil`. */
  readonly exp?: number | undefined
}

const OLD = 'old-app'
// It signs nothing that leaves this process.
const BRIDGE_KEY = randomBytes(32)

/** Goes into `issuers` of your manager, so that revoking a user reaches the old sessions too. */
export const trustOldSessions = (acceptUntil: Date) =>
  trustLegacyIssuer({
    issuer: OLD,
    withoutIss: true,
    secret: BRIDGE_KEY,
    onlyAccessTokens: true,
    // At least the time from the deployment to acceptUntil.
    maxTokenAge: '90d',
    acceptUntil,
  })

/** Uses an old session up: whether this request was the first, or `null` if the session or `acceptUntil` is over. */
async function useUp(tokens: TokenManager, store: RevocationStore, old: OldSession): Promise<boolean | null> {
  const { uid: sub, id: jti, exp } = old
  const bridge = new SignJWT(exp === undefined ? { sub, jti } : { sub, jti, exp: Math.floor(exp) })
  const token = await bridge.setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(BRIDGE_KEY)
  try {
    const payload = await tokens.verify(token)
    const until = (Number(payload.exp) + 3600) * 1000
    const entry = { ...toRevocationKey('token', jti, OLD), notBefore: FOREVER, until }
    // In one step: of several requests at the same time, in any process, one is the first.
    return (await store.claim([entry])).isFirst
  } catch (error) {
    if (isTokenError(error) && error.code === 'TOKEN_REVOKED') return false
    if (isTokenError(error) && error.code === 'TOKEN_EXPIRED') return null
    throw error
  }
}

/** What the middleware needs. */
export interface Exchange {
  readonly tokens: TokenManager
  readonly store: RevocationStore
  /** The old session of a request, or `null`. */
  readonly read: (request: Request) => Promise<OldSession | null>
  /** Reads the user again, and opens a session; `null` for a user who is gone. */
  readonly logIn: (uid: string) => Promise<TokenPair | null>
  /** `Set-Cookie` values that delete the old cookies. */
  readonly clear: readonly string[]
}

/** Exchanges the old session of a request, and lets the request go on with the new one. */
export function exchangeOldSessions({ tokens, store, read, logIn, clear }: Exchange): MiddlewareHandler {
  return async (c, next) => {
    const { method, headers } = c.req.raw
    // The old cookie has no CSRF value: only a page of yours may change something with it.
    const isSafe = method === 'GET' || headers.get('sec-fetch-site') === 'same-origin'
    if (!isSafe || (await tokens.getTokenFromRequest(c.req.raw)) !== null) return next()
    const old = await read(c.req.raw)
    if (old === null) return next()
    const isFirst = await useUp(tokens, store, old)
    const pair = isFirst === true ? await logIn(old.uid) : null
    sendCookies(c, clear)
    if (isFirst === false && !headers.get('cookie')?.includes('exchanged=1')) {
      // Another request may have used it a moment ago, and its cookies are on the way.
      sendCookies(c, ['exchanged=1; Path=/; Max-Age=10'])
      return c.text('Send it again', 409, { 'retry-after': '1', refresh: '1' })
    }
    if (pair === null) return next()
    sendCookies(c, setCookies(tokens, pair))
    headers.set('authorization', `Bearer ${pair.accessToken}`)
    return next()
  }
}
