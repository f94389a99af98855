import {
  InvalidProofError,
  isTokenError,
  ProofRequiredError,
  RevocationUnavailableError,
} from '../../errors.js'
import {
  readOwnClaims,
  setAccessCookies,
  setRefreshCookies,
  withoutRepetition,
} from '../../requests/set-cookies.js'
import { internalsOf } from '../../sessions/internals.js'
import { isTooLate, type RefreshOptions } from '../../sessions/refresh.js'
import type { RefreshedTokens } from '../../sessions/token-maker.js'
import type { StandardClaims } from '../../tokens/payload.js'
import { createJsonAnswer, RefusedRequest } from '../router.js'
import { createErrorAnswer, withCookies } from './answers.js'
import { readCookieToken, withRefreshToken } from './login.js'
import type { RouteParts } from './options.js'

// W3C Device Bound Session Credentials: the browser itself calls these two routes, without a script of a page.

/** Binds the session of a request to the key that the browser has made for it. */
export async function answerDeviceRegister(parts: RouteParts, request: Request): Promise<Response> {
  return answerDevice(parts, request, async () => {
    const proof = readSecureHeader(request, 'secure-session-response')
    if (proof === null) throw new ProofRequiredError('The request has no Secure-Session-Response')
    const options = await readFreshness(parts, request)
    return createDeviceAnswer(parts, await internalsOf(parts.tokens).devices.bind(request, proof, options))
  })
}

/** Refreshes the session of a request with a proof of its key; a request without one gets a challenge. */
export async function answerDeviceRefresh(parts: RouteParts, request: Request): Promise<Response> {
  return answerDevice(parts, request, async () => {
    const sid = await parseSession(parts, request)
    // Scripts cannot set this header: no page makes a browser sign something, or learns whether its visitor is logged in.
    if (readSecureHeader(request, 'sec-secure-session-id') !== sid) {
      throw new InvalidProofError('The request is for another device session')
    }
    const proof = readSecureHeader(request, 'secure-session-response')
    if (proof === null) return createChallenge(parts, sid)
    try {
      return createDeviceAnswer(parts, await internalsOf(parts.tokens).devices.refresh(request, proof))
    } catch (error) {
      if (!isTokenError(error) || !NEEDS_CHALLENGE.has(error.code)) throw error
      return createChallenge(parts, sid)
    }
  })
}

// The challenge is too old, or was signed before.
const NEEDS_CHALLENGE: ReadonlySet<string> = new Set(['PROOF_NONCE_REQUIRED', 'PROOF_REUSED'])

async function createChallenge(parts: RouteParts, sid: string): Promise<Response> {
  const challenge = await internalsOf(parts.tokens).devices.createChallenge(sid)
  const refusal = new RefusedRequest(403, 'CHALLENGE_REQUIRED', 'The challenge must be signed')
  const answer = createErrorAnswer(parts, refusal)
  answer.headers.set('secure-session-challenge', `"${challenge}";id="${sid}"`)
  return answer
}

// With a status from 400 to 499, except 403, the browser forgets its key. That is right unless it has newer cookies.
async function answerDevice(
  parts: RouteParts,
  request: Request,
  answer: () => Promise<Response>,
): Promise<Response> {
  try {
    return await withRefreshToken(parts, request, answer)
  } catch (error) {
    if (!isTokenError(error) || error.code !== 'REFRESH_SUPERSEDED') throw error
    const { body, headers } = createErrorAnswer(parts, error)
    return new Response(body, { status: 503, headers })
  }
}

async function parseSession({ tokens }: RouteParts, request: Request): Promise<string> {
  const found = await tokens.getTokenFromRequest(request, { type: 'refresh', locations: 'cookies' })
  if (found === null) throw new ProofRequiredError('The request has no refresh cookie')
  return internalsOf(tokens).devices.parseSession(found.token)
}

// The draft says that the value is a string of a structured field (RFC 9651); Chromium 150 leaves the quotes out.
const SECURE_VALUE = /^(?:"([^"\\]*)"|([^\s",;]+)) *(?:;[^,]*)?$/

function readSecureHeader(request: Request, name: string): string | null {
  const header = request.headers.get(name)
  if (header === null) return null
  const [, quoted, bare] = SECURE_VALUE.exec(header) ?? []
  const value = quoted ?? bare
  if (value === undefined)
    throw new InvalidProofError(`The header ${name} is malformed, or came more than once`)
  return value
}

// The registration follows the login, whose access token is fresh; so is the one that replaces it.
async function readFreshness(parts: RouteParts, request: Request): Promise<RefreshOptions> {
  const payload = await readCookieToken(parts, request, 'access')
  const now = internalsOf(parts.tokens).now() / 1000
  if (payload === null || now >= (payload.exp ?? Infinity)) return {}
  const { fresh = false } = payload
  if (typeof fresh === 'boolean') return { access: { fresh } }
  return fresh - now < 1 ? {} : { access: { fresh: Math.floor(fresh - now) } }
}

/** Instructions for the browser: the session is refreshed whenever the access cookie is missing. */
interface SessionInstructions {
  readonly session_identifier: string
  readonly refresh_url: string
  readonly scope: { readonly include_site: boolean }
  readonly credentials: readonly {
    readonly type: 'cookie'
    readonly name: string
    readonly attributes: string
  }[]
}

function createDeviceAnswer({ tokens, options }: RouteParts, made: RefreshedTokens): Response {
  if (isTooLate(made)) throw new RevocationUnavailableError(new Error('The refresh took too long'))
  const { config } = tokens
  const { path = '/auth' } = options
  const { sid } = readOwnClaims(made.accessToken) as { readonly sid: string }
  const [cookie = '', ...csrf] = setAccessCookies({ config }, made.accessToken)
  const instructions: SessionInstructions = {
    session_identifier: sid,
    refresh_url: `${path}/device/refresh`,
    scope: { include_site: false },
    credentials: [{ type: 'cookie', name: config.JWT_ACCESS_COOKIE_NAME, attributes: toAttributes(cookie) }],
  }
  const access = withMaxAge(cookie, toMaxAge(made.accessToken))
  const cookies = [access, ...csrf, ...setRefreshCookies({ config }, made.refreshToken)]
  return withCookies(createJsonAnswer(instructions), withoutRepetition(cookies))
}

// The browser refreshes when the cookie is gone, also where other cookies last as long as the browser runs. The cookie must
// not outlive its token.
function withMaxAge(cookie: string, maxAge: number): string {
  return `${cookie.replace(MAX_AGE, '')}; Max-Age=${maxAge}`
}

const MAX_AGE = /; Max-Age=\d+/
// For the way to the browser.
const EARLY_SECONDS = 10

function toMaxAge(accessToken: string): number {
  const { exp = 0, iat = 0 } = readOwnClaims(accessToken) as Pick<StandardClaims, 'exp' | 'iat'>
  return Math.max(1, exp - iat - EARLY_SECONDS)
}

function toAttributes(cookie: string): string {
  return cookie.replace(MAX_AGE, '').split('; ').slice(1).join('; ')
}
