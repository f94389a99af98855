import { createHmac } from 'node:crypto'
import { type MountableRoutes, trustIssuer } from '../../packages/issuers/src/index.js'
import { type RevocationStore, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock, NOW, PATIENT, SECRET } from '../helpers/manager.js'
import { createProvider, encode, LOGOUT, type Provider } from './provider.js'

export { LOGOUT } from './provider.js'

/** Two providers that the manager accepts, and one that it does not know. */
export const ID = createProvider('https://id.example')
export const OTHER = createProvider('https://other.example')
export const STRANGER = createProvider('https://stranger.example')

export const API = 'https://api.example'
export const CLIENT = 'my-app'
export const CAEP = 'https://schemas.openid.net/secevent/caep/event-type/'
export const RISC = 'https://schemas.openid.net/secevent/risc/event-type/'

/** A manager for the tokens of both providers, what it has revoked, and own tokens of the same users. */
export function createReceiving(
  given: { readonly store?: RevocationStore; readonly keys?: () => never } = {},
) {
  const clock = createClock()
  const store = given.store ?? createMemoryStore({ clock })
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT }),
    clock,
    store,
    issuers: [ID, OTHER].map(({ issuer, jwk }) =>
      trustIssuer({
        issuer,
        audience: API,
        keys: given.keys ?? { keys: [jwk] },
        subjectPrefix: `${new URL(issuer).host}:`,
      }),
    ),
  })
  const revoked: { kind: string; id: string; actor: string | null; note: string | null }[] = []
  tokens.on('revoked', ({ kind, id, actor, note }) => {
    // Not the ids of the JWTs that were received.
    if (kind !== 'token') revoked.push({ kind, id, actor, note })
  })
  return { tokens, clock, store, revoked }
}

/** An access token of a provider for a user, in a session. */
export function accessToken(provider: Provider, sub: string, sid?: string): string {
  return provider.sign({ aud: API, sub, sid, exp: NOW + 3600 }, { typ: 'at+jwt' })
}

let count = 0

/** The claims of a logout token. */
export function logoutClaims(changes: object = {}): object {
  return {
    aud: CLIENT,
    exp: NOW + 120,
    jti: `logout-${++count}`,
    sub: 'ada',
    sid: 'tablet',
    events: { [LOGOUT]: {} },
    ...changes,
  }
}

/** A logout token. */
export function logoutToken(changes: object = {}, provider = ID, header: object = {}): string {
  return provider.sign(logoutClaims(changes), { typ: 'logout+jwt', ...header })
}

/** A security event token with one event. */
export function eventToken(
  type: string,
  subject: unknown,
  changes: object = {},
  provider = ID,
  header: object = {},
): string {
  const claims = { aud: API, jti: `event-${++count}`, sub_id: subject, events: { [type]: {} }, ...changes }
  return provider.sign(claims, { typ: 'secevent+jwt', ...header })
}

/** The JWT of a Global Token Revocation request. */
export function revocationJwt(changes: object = {}, provider = ID, header: object = {}): string {
  const claims = {
    aud: `${API}/global-token-revocation`,
    exp: NOW + 300,
    jti: `gtr-${++count}`,
    sub: 'client',
    ...changes,
  }
  return provider.sign(claims, { typ: 'global-token-revocation+jwt', ...header })
}

/** The status, headers and body of the response to a request. */
export async function send(routes: MountableRoutes, init: RequestInit, path = routes.path) {
  const response = await routes.handle(
    new Request(`${API}${path}`, { method: 'POST', duplex: 'half', ...init }),
  )
  if (response === null) throw new Error('not a request of these routes')
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: (text === '' ? null : JSON.parse(text)) as Record<string, unknown> | null,
  }
}

/** Sends a logout token. */
export const sendLogout = (routes: MountableRoutes, token: string) =>
  send(routes, { body: new URLSearchParams({ logout_token: token }) })

/** Sends a security event token. */
export const sendEvent = (routes: MountableRoutes, token: string, headers: object = {}) =>
  send(routes, { headers: { 'content-type': 'application/secevent+jwt', ...headers }, body: token })

/** Sends a Global Token Revocation request. */
export const sendRevocation = (routes: MountableRoutes, subject: unknown, jwt = revocationJwt()) =>
  send(routes, {
    headers: { 'content-type': 'application/json', authorization: `Bearer ${jwt}` },
    body: JSON.stringify({ sub_id: subject }),
  })

/** A JWT with a header that lies about how it is signed. */
export function forge(claims: object, header: { alg: string }, secret: string | null): string {
  const input = `${encode(header)}.${encode({ iss: ID.issuer, iat: NOW, ...claims })}`
  const signature = secret === null ? '' : createHmac('sha256', secret).update(input).digest('base64url')
  return `${input}.${signature}`
}
