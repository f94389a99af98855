import { equal, match } from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'

/** The options of a request. */
export type Credential = 'none' | 'valid' | 'revoked' | 'garbage' | 'refresh'

/** The response of `/login`. */
export interface IssuedPair {
  readonly access_token: string
  readonly refresh_token: string
}

/** A client of the example application; a route is written `GET /path`. */
export interface Client {
  send(route: string, token?: string): Promise<Response>
  json(route: string, token?: string): Promise<unknown>
  /** Sends an `Authorization` header for each token. */
  sendHeaders(route: string, tokens: readonly string[]): Promise<Response>
  post(path: string, body: string): Promise<Response>
  preflight(path: string): Promise<Response>
  /** Logs in and returns the pair; throws if the login fails. */
  login(uid?: string): Promise<IssuedPair>
  /** Refreshes and returns the next pair, perhaps with the same refresh token; throws if that fails. */
  refresh(pair: IssuedPair): Promise<IssuedPair>
  /** A token of the kind, made by the application itself. */
  credential(kind: Credential): Promise<string | undefined>
}

/** A client of the application that listens at `url`. */
export function createClient(url: string): Client {
  const client: Client = {
    async send(route, token) {
      const [method = '', path = ''] = route.split(' ')
      return fetch(url + path, {
        method,
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      })
    },
    async sendHeaders(route, tokens) {
      const [method = '', path = ''] = route.split(' ')
      // Not fetch, which joins headers of one name.
      const sent = request(url + path, {
        method,
        agent: false,
        headers: { authorization: tokens.map((token) => `Bearer ${token}`) as unknown as string },
      }).end()
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      return new Response(await text(response), { status: response.statusCode ?? 0 })
    },
    json: async (route, token) => (await client.send(route, token)).json(),
    post: (path, body) =>
      fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body }),
    preflight: (path) =>
      fetch(url + path, {
        method: 'OPTIONS',
        headers: {
          origin: 'https://page.example',
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'authorization',
        },
      }),
    login: async (uid = 'ada') => readPair(await client.post('/login', JSON.stringify({ uid }))),
    refresh: async (pair) => ({
      ...pair,
      ...(await readPair(await client.send('POST /refresh', pair.refresh_token))),
    }),
    async credential(kind) {
      if (kind === 'none') return undefined
      if (kind === 'garbage') return 'aaaaa.bbbbb.ccccc'
      if (kind === 'refresh') return (await client.login()).refresh_token
      const { access_token: token } = await readPair(await client.send('GET /token'))
      if (kind === 'revoked') equal((await client.send('DELETE /logout', token)).status, 200)
      return token
    },
  }
  return client
}

// Without this, a failed login would become a request without a token, and its 401 would hide the reason.
async function readPair(response: Response): Promise<IssuedPair> {
  equal(response.status, 200)
  return response.json() as Promise<IssuedPair>
}

/** Asserts that a request was rejected with a code: every framework must send the same bytes. */
export async function assertRefusal(response: Response, code: string): Promise<void> {
  const [name, message] = ERRORS[code] ?? []
  const reason = code === 'TOKEN_MISSING' ? '' : `, error="invalid_token", error_description="${message}"`
  equal(response.status, 401)
  equal(await response.text(), `{"message":"${message}","error_type":"${name}","code":"${code}"}`)
  equal(response.headers.get('www-authenticate'), `Bearer realm="api"${reason}`)
  equal(response.headers.get('cache-control'), 'no-store')
  match(response.headers.get('content-type') ?? '', /^application\/json/)
}

const ERRORS: Readonly<Record<string, readonly [name: string, message: string]>> = {
  TOKEN_MISSING: ['MissingTokenError', 'No token found in the request (looked in the Authorization header)'],
  TOKEN_REVOKED: ['RevokedTokenError', 'Token is revoked'],
  TOKEN_INVALID: ['TokenDecodeError', 'Token header is malformed'],
  ACCESS_TOKEN_REQUIRED: ['AccessTokenRequiredError', 'An access token is required'],
  REFRESH_TOKEN_REQUIRED: ['RefreshTokenRequiredError', 'A refresh token is required'],
  REFRESH_TOKEN_REUSED: [
    'RefreshTokenReusedError',
    'Refresh token is used up: another token of its session was used',
  ],
}
