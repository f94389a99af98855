import { exportJWK, type JWK, SignJWT } from 'jose'
import type { JsonClaims, TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import type { SessionRoutesOptions } from '../../packages/tokenlib/src/routes/session-routes.js'
import { createKeyPair } from '../helpers/keys.js'
import { COOKIES, createBrowser as createRoutesBrowser, createRoutes } from './routes.js'

/** What a proof says instead of the truth; `undefined` leaves a member out. */
export interface ProofFacts {
  readonly header?: Readonly<Record<string, unknown>>
  readonly claims?: Readonly<Record<string, unknown>>
}

/** A key that a browser has made for a session. */
export async function createDevice(algorithm: 'ES256' | 'RS256' | 'ES384' = 'ES256') {
  const { publicKey, privateKey } = createKeyPair(algorithm)
  const jwk: JWK = await exportJWK(publicKey)
  const prove = async (challenge: string, { header, claims }: ProofFacts = {}) =>
    new SignJWT(JSON.parse(JSON.stringify({ jti: challenge, ...claims })) as Record<string, unknown>)
      .setProtectedHeader(
        JSON.parse(JSON.stringify({ alg: algorithm, typ: 'dbsc+jwt', ...header })) as { alg: string },
      )
      .sign(privateKey)
  return {
    jwk,
    /** For a registration: with the key. */
    introduce: (challenge: string, facts: ProofFacts = {}) =>
      prove(challenge, { ...facts, header: { jwk, ...facts.header } }),
    /** For a refresh: the draft leaves the key out. */
    prove,
  }
}
export type Device = Awaited<ReturnType<typeof createDevice>>

/** The challenge in a response header, and the session that it is for. */
export function readChallenge(response: Response): { challenge: string; id: string; path: string } {
  const offer = response.headers.get('secure-session-registration')
  const [, path = '', offered = ''] =
    /^\(ES256 RS256\);path="([^"]*)";challenge="([^"]*)"$/.exec(offer ?? '') ?? []
  const sent = response.headers.get('secure-session-challenge')
  const [, challenge = offered, id = ''] = /^"([^"]*)";id="([^"]*)"$/.exec(sent ?? '') ?? []
  return { challenge, id, path }
}

export interface Instructions {
  readonly session_identifier: string
  readonly refresh_url: string
  readonly scope: object
  readonly credentials: readonly object[]
}

/** Session routes with the option, and a browser that follows the draft: without the page, and without a CSRF value. */
export function createBoundRoutes(
  config: TokenConfigOptions = {},
  options: Partial<SessionRoutesOptions<JsonClaims>> = {},
) {
  const fixture = createRoutes({ ...COOKIES, ...config }, { deviceBound: true, ...options })
  const createBrowser = (handle = fixture.routes.handle) => {
    const browser = createRoutesBrowser({ handle })
    const call = (path: string, headers: Record<string, string>) =>
      browser.send(`POST ${path}`, { csrf: null, headers })
    const register = async (device: Device, answer: Response, facts?: ProofFacts) => {
      const { challenge, path } = readChallenge(answer)
      return call(path, { 'secure-session-response': await device.introduce(challenge, facts) })
    }
    const bind = async (device: Device) => {
      const answer = await register(device, await browser.logIn())
      return (await answer.json()) as Instructions
    }
    /** Gets a challenge, and signs it. */
    const refresh = async (device: Device, { session_identifier: id, refresh_url: url }: Instructions) => {
      const asked = await call(url, { 'sec-secure-session-id': id })
      if (asked.status !== 403) return asked
      const proof = await device.prove(readChallenge(asked).challenge)
      return call(url, { 'sec-secure-session-id': id, 'secure-session-response': proof })
    }
    return { ...browser, call, register, bind, refresh }
  }
  return { ...fixture, createBrowser }
}
