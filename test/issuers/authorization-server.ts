import { generateKeyPairSync, type JsonWebKey } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Adapter, type AdapterPayload, type Configuration, Provider } from 'oidc-provider'
import { createCookieJar } from '../helpers/cookie-jar.js'

/** The API whose access tokens the server issues. */
export const RESOURCE = 'https://api.example'
/** The client that users log in with. */
export const WEB_CLIENT = 'web'

/** The client that gets tokens for itself. */
export const SERVICE_CLIENT = 'service'

/** The API itself, which asks about tokens with HTTP Basic. */
export const API_CLIENT = 'api'
/** The secret of every client. */
export const CLIENT_SECRET = 'a-secret-of-a-client-of-the-authorization-server'
const REDIRECT_URI = 'https://app.example/callback'

/** A private key of the server, as a JWK. */
export type SigningKey = JsonWebKey & { readonly kid: string; readonly alg: string; readonly use: 'sig' }

/** A new key of the server for an algorithm. */
export function createSigningKey(kid: string, alg: 'ES256' | 'RS256' = 'ES256'): SigningKey {
  const { privateKey } =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 })
  return { ...privateKey.export({ format: 'jwk' }), kid, alg, use: 'sig' }
}

/** A user who has logged in. */
export interface LoggedIn {
  readonly accessToken: string
  readonly idToken: string
  /** `null` unless the server issues one. */
  readonly refreshToken: string | null
  /** Ends the session at the server, which tells the clients of it. */
  logOut(): Promise<void>
}

/** A running `oidc-provider`. */
export interface AuthorizationServer {
  readonly issuer: string
  /** Requests for its keys. */
  readonly keyRequests: () => number
  /** Back-channel logouts that a client answered with 200 or 204, and the others. */
  readonly logouts: { readonly accepted: number; readonly failed: number }
  /** Starts again with other keys, on the same port; the first of an algorithm signs. */
  setKeys(keys: readonly SigningKey[]): void
  /** An access token of a client for itself. */
  createServiceToken(): Promise<string>
  logIn(user: string): Promise<LoggedIn>
  stop(): Promise<void>
}

/** Starts `oidc-provider` with these keys, which tells `backchannelLogoutUri` of every logout. */
export async function startAuthorizationServer(
  keys: readonly SigningKey[],
  backchannelLogoutUri?: string,
  { features, ...others }: Configuration = {},
): Promise<AuthorizationServer> {
  let answer: ReturnType<Provider['callback']> | null = null
  let keyRequests = 0
  const logouts = { accepted: 0, failed: 0 }
  const data = new Map<string, AdapterPayload>()
  const server = createServer((request, response) => {
    if (request.url === '/jwks') keyRequests++
    void answer?.(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const setKeys = (next: readonly SigningKey[]): void => {
    const configuration = createConfiguration(next, backchannelLogoutUri)
    const provider = new Provider(issuer, {
      ...configuration,
      ...others,
      features: { ...configuration.features, ...features } as NonNullable<Configuration['features']>,
      adapter: (model: string) => createAdapter(model, data),
    })
    provider.on('backchannel.success', () => logouts.accepted++)
    provider.on('backchannel.error', () => logouts.failed++)
    answer = provider.callback()
  }
  setKeys(keys)

  return {
    issuer,
    keyRequests: () => keyRequests,
    logouts,
    setKeys,
    async createServiceToken() {
      const form = { grant_type: 'client_credentials', resource: RESOURCE, scope: 'notes:read' }
      return (await requestTokens(issuer, SERVICE_CLIENT, form))['access_token'] as string
    },
    logIn: (user) => logIn(issuer, user),
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

// Sessions and tokens outlive a change of the keys.
function createAdapter(model: string, data: Map<string, AdapterPayload>): Adapter {
  const find = async (isOne: (payload: AdapterPayload) => boolean): Promise<AdapterPayload | undefined> =>
    [...data].find(([name, payload]) => name.startsWith(`${model}:`) && isOne(payload))?.[1]
  return {
    upsert: async (id, payload) => void data.set(`${model}:${id}`, payload),
    find: async (id) => data.get(`${model}:${id}`),
    findByUserCode: (userCode) => find((payload) => payload.userCode === userCode),
    findByUid: (uid) => find((payload) => payload.uid === uid),
    async consume(id) {
      const payload = data.get(`${model}:${id}`)
      if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000)
    },
    destroy: async (id) => void data.delete(`${model}:${id}`),
    async revokeByGrantId(grantId) {
      for (const [name, payload] of data) if (payload.grantId === grantId) data.delete(name)
    },
  }
}

function createConfiguration(
  keys: readonly SigningKey[],
  backchannelLogoutUri: string | undefined,
): Configuration {
  const alg = keys[0]?.alg as 'ES256' | 'RS256'
  const common = {
    client_secret: CLIENT_SECRET,
    token_endpoint_auth_method: 'client_secret_post',
    id_token_signed_response_alg: alg,
  } as const
  return {
    jwks: { keys: [...keys] as never[] },
    clients: [
      {
        ...common,
        client_id: API_CLIENT,
        token_endpoint_auth_method: 'client_secret_basic',
        grant_types: [],
        response_types: [],
        redirect_uris: [],
      },
      {
        ...common,
        client_id: SERVICE_CLIENT,
        grant_types: ['client_credentials'],
        response_types: [],
        redirect_uris: [],
      },
      {
        ...common,
        client_id: WEB_CLIENT,
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: [REDIRECT_URI],
        ...(backchannelLogoutUri === undefined
          ? {}
          : {
              backchannel_logout_uri: backchannelLogoutUri,
              backchannel_logout_session_required: true,
            }),
      },
    ],
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    // The session, as Keycloak has it in its access tokens.
    extraTokenClaims: (_context, token) => {
      const { sid } = token as { sid?: string }
      return sid === undefined ? undefined : { sid }
    },
    // Its own dispatcher refuses private addresses, where the applications of these tests are.
    fetch: (url, { method, headers, body, redirect, signal }: RequestInit = {}) =>
      fetch(url, { method, headers, body, redirect, signal } as RequestInit),
    cookies: { keys: ['a-key-of-the-cookies'] },
    ttl: {
      AccessToken: 3600,
      ClientCredentials: 3600,
      Session: 3600,
      Grant: 3600,
      Interaction: 600,
      IdToken: 3600,
    },
    pkce: { required: () => false },
    features: {
      clientCredentials: { enabled: true },
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: { enabled: true },
      devInteractions: { enabled: true },
      // Requests without a proof get bearer tokens.
      dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 'nonces'), requireNonce: () => true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: 'notes:read notes:write',
          audience: RESOURCE,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 3600,
          jwt: { sign: { alg } },
        }),
      },
    },
  }
}

async function requestTokens(
  issuer: string,
  client: string,
  form: Readonly<Record<string, string>>,
): Promise<Record<string, unknown>> {
  const body = new URLSearchParams({ client_id: client, client_secret: CLIENT_SECRET, ...form })
  const response = await fetch(`${issuer}/token`, { method: 'POST', body })
  const answer = (await response.json()) as Record<string, unknown>
  if (response.status !== 200) throw new Error(`No token: ${JSON.stringify(answer)}`)
  return answer
}

async function logIn(issuer: string, user: string): Promise<LoggedIn> {
  const query = new URLSearchParams({
    client_id: WEB_CLIENT,
    response_type: 'code',
    redirect_uri: REDIRECT_URI,
    scope: 'openid notes:read',
    resource: RESOURCE,
    nonce: 'n-0S6_WzA2Mj',
  })
  const { code, send } = await authorize(`${issuer}/auth?${query.toString()}`, REDIRECT_URI, user)
  const tokens = await requestTokens(issuer, WEB_CLIENT, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: REDIRECT_URI,
  })
  const idToken = tokens['id_token'] as string
  return {
    accessToken: tokens['access_token'] as string,
    idToken,
    refreshToken: (tokens['refresh_token'] as string | undefined) ?? null,
    async logOut() {
      const page = await (await send(`/session/end?id_token_hint=${idToken}`)).text()
      const xsrf = /name="xsrf" value="(\w+)"/.exec(page)?.[1] ?? ''
      const response = await send('/session/end/confirm', { xsrf, logout: 'yes' })
      if (response.status >= 400) throw new Error(`The logout failed with status ${response.status}`)
    },
  }
}

/** What a browser and its user do with an authorization request, with the pages that the server has for development. */
export async function authorize(url: string, redirectUri: string, user: string) {
  const jar = createCookieJar()
  const send = async (to: string, form?: Readonly<Record<string, string>>): Promise<Response> => {
    const { pathname } = new URL(to, url)
    const body = form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }
    const response = await fetch(new URL(to, url), {
      ...body,
      redirect: 'manual',
      headers: jar.headers(pathname),
    })
    jar.store(response.headers.getSetCookie())
    return response
  }

  let at = url
  let form: Readonly<Record<string, string>> | undefined
  for (let step = 0; !at.startsWith(redirectUri); step++) {
    if (step > 12) throw new Error(`The login does not end: ${at}`)
    const response = await send(at, form)
    form = undefined
    const location = response.headers.get('location')
    const page = await response.text()
    if (location !== null) at = location
    // The page of a login or of a consent.
    else form = { prompt: /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? '', login: user, password: 'any' }
  }
  return { code: new URL(at).searchParams.get('code') ?? '', send }
}
