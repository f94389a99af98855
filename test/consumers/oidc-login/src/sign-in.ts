import { setCookie } from 'hono/cookie'
import type { Context } from 'hono'
import * as oauth from 'oauth4webapi'

export const origin = process.env.ORIGIN ?? '' // https://app.example
export const issuer = process.env.ISSUER ?? '' // https://id.example
export const isLocal = process.env.NODE_ENV !== 'production'
export const client = { client_id: 'notes' }

const local = { [oauth.allowInsecureRequests]: isLocal }
const secret = process.env.CLIENT_SECRET ?? ''
const discovery = await oauth.discoveryRequest(new URL(issuer), local)
const authority = await oauth.processDiscoveryResponse(new URL(issuer), discovery)
const MAX_AGE_S = 8 * 3600

export async function signIn(c: Context): Promise<Response> {
  const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()]
  const verifier = oauth.generateRandomCodeVerifier()
  setCookie(c, 'sign-in', [state, nonce, verifier].join('.'), {
    prefix: 'host', // __Host-sign-in: no other host can set it
    path: '/',
    secure: true,
    httpOnly: true,
    sameSite: 'Lax', // the provider sends the browser back from another site
    maxAge: 600,
  })
  const query = new URLSearchParams({
    client_id: client.client_id,
    response_type: 'code',
    redirect_uri: `${origin}/callback`,
    scope: 'openid',
    state,
    nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    max_age: String(MAX_AGE_S), // the ID token then has `auth_time`
  })
  return c.redirect(`${authority.authorization_endpoint}?${query}`)
}

const COOKIE = /(?:^|; )__Host-sign-in=([\w-]{43})\.([\w-]{43})\.([\w-]{43})(?:;|$)/
const REFUSALS = [oauth.AuthorizationResponseError, oauth.ResponseBodyError, oauth.OperationProcessingError]

/** The claims of the ID token, or `null` for a login that this browser did not begin, or that failed. */
export async function redeem(callback: string, cookies: string): Promise<oauth.IDToken | null> {
  const [, state, nonce = '', verifier = ''] = COOKIE.exec(cookies) ?? []
  if (state === undefined) return null
  try {
    const parameters = oauth.validateAuthResponse(authority, client, new URLSearchParams(callback), state)
    const auth = oauth.ClientSecretPost(secret)
    const uri = `${origin}/callback`
    const response = await oauth.authorizationCodeGrantRequest(
      authority,
      client,
      auth,
      parameters,
      uri,
      verifier,
      local,
    )
    const expected = { expectedNonce: nonce, maxAge: MAX_AGE_S, requireIdToken: true }
    const result = await oauth.processAuthorizationCodeResponse(authority, client, response, expected)
    return oauth.getValidatedIdTokenClaims(result) ?? null
  } catch (error) {
    if (REFUSALS.some((refusal) => error instanceof refusal)) return null
    throw error // the provider is down: a 500, not "wrong credentials"
  }
}
