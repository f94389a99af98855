import { isTokenError } from '../any-token-error.js'
import type { TokenPayload, TokenType } from '../claims/payload.js'
import { TokenDecodeError } from '../errors.js'
import { assertCsrf } from '../request/csrf.js'
import { readToken, toPlaces } from '../request/read-token.js'
import type { RequestToken } from '../request/request-token.js'
import type { RequestView } from '../request/view.js'
import type { Authenticator } from './authenticate.js'

/**
 * The payloads of the tokens in a request that may be logged out: genuine ones, expired or revoked or not.
 *
 * A log-out must work when the access token has expired, with the refresh token alone, and a second time. It only takes
 * rights away, so no more is asked than that the token is ours and that the request comes from the application itself:
 * of a cookie token that is its CSRF value. One token that passes is enough, since no other site could have sent it; if
 * none does, the CSRF error is thrown.
 */
export async function readLogoutPayloads(
  authenticator: Authenticator,
  view: RequestView,
): Promise<readonly TokenPayload[]> {
  const { reading } = authenticator.settings
  const payloads: TokenPayload[] = []
  let refusal: unknown = null
  for (const type of ['access', 'refresh'] as const) {
    const found = await findToken(authenticator, view, type)
    const payload = found && readGenuine(authenticator, found)
    if (found === null || payload === null) continue
    try {
      await assertCsrf(view, found, payload, reading)
      payloads.push(payload)
    } catch (error) {
      refusal ??= error
    }
  }
  if (payloads.length === 0 && refusal !== null) throw refusal as Error
  return payloads
}

// What cannot be read is no token that could be logged out: two cookies of one name, a body that is too large.
async function findToken(
  { settings: { reading } }: Authenticator,
  view: RequestView,
  type: TokenType,
): Promise<RequestToken | null> {
  try {
    return await readToken(view, toPlaces([type], reading.locations), reading)
  } catch (error) {
    return ignoreDecodeError(error)
  }
}

function readGenuine({ verifier, now }: Authenticator, found: RequestToken): TokenPayload | null {
  try {
    const { payload } = verifier.verify(found.token, now(), true)
    // A header or query has one place for both types; cookies and bodies have a name for each.
    const isNamed = found.location === 'cookies' || found.location === 'json'
    return isNamed && payload.type !== found.type ? null : payload
  } catch (error) {
    return ignoreDecodeError(error)
  }
}

function ignoreDecodeError(error: unknown): null {
  if (isTokenError(error) && error instanceof TokenDecodeError) return null
  throw error
}
