import {
  hasNestedDuplicates,
  IS_WORKERD,
  readJsonObject,
  type Scheduler,
  toMediaType,
  withDeadline,
} from 'tokenlib/kit'
import { assertAddresses, parseKeyUrl, readBody, readUtf8, showUrl } from '../keys/fetch-json.js'

/** What is passed to `fetch` with each request. The body has the token, and possibly the client secret. */
export interface IntrospectionRequest {
  readonly method: 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly redirect: 'manual'
  /** Left out in Workers: older ones refuse any value. */
  readonly cache?: 'no-store'
  readonly signal: AbortSignal
}

/** A function like the global `fetch`. */
export type IntrospectionFetch = (url: string, request: IntrospectionRequest) => Promise<Response>

/** How this application authenticates at the introspection endpoint. */
export type IntrospectionAuthentication =
  | {
      /** The client's id and secret, in the header. */
      readonly method: 'client_secret_basic'
      readonly clientId: string
      readonly clientSecret: string
    }
  | {
      /** The client's id and secret, in the form. */
      readonly method: 'client_secret_post'
      readonly clientId: string
      readonly clientSecret: string
    }
  | {
      /** An API key or access token, as in `Authorization: Bearer …`. */
      readonly method: 'bearer'
      readonly token: string
    }
  | {
      /** Nothing: only your own network reaches the endpoint, as with a self-hosted Ory Hydra. */
      readonly method: 'none'
    }

/** An introspection endpoint and its limits. */
export interface Endpoint {
  readonly url: string
  readonly authentication: IntrospectionAuthentication
  readonly timeoutMs: number
  readonly maxBytes: number
  readonly allowPrivateNetwork: boolean
  /** `null`: the global one, looked up at each call. */
  readonly fetch: IntrospectionFetch | null
}

/** What an issuer says about a token; `null` if the token is not active. */
export type Answer = Readonly<Record<string, unknown>> | null

/** Asks an endpoint about a token. Throws for everything but a proper answer (RFC 7662 §2.2). */
export async function askEndpoint(endpoint: Endpoint, scheduler: Scheduler, token: string): Promise<Answer> {
  const controller = new AbortController()
  const { url, timeoutMs } = endpoint
  try {
    return await withDeadline(
      scheduler,
      exchange(endpoint, token, controller.signal),
      timeoutMs,
      () => new Error(`No complete answer of ${showUrl(new URL(url))} within ${timeoutMs} ms`),
      true,
    )
  } finally {
    // Also ends a body that nobody reads: it would keep its connection.
    controller.abort()
  }
}

async function exchange(endpoint: Endpoint, token: string, signal: AbortSignal): Promise<Answer> {
  const { maxBytes, allowPrivateNetwork } = endpoint
  const url = parseKeyUrl(endpoint.url, allowPrivateNetwork)
  // The URL is configured, and over https the server needs a certificate for it. Only what is not encrypted must not leave
  // the private network, which costs a look-up of the name each time.
  if (url.protocol === 'http:') await assertAddresses(url, allowPrivateNetwork)
  signal.throwIfAborted()
  const response = await send(endpoint, url, token, signal)
  // By a `fetch` of the application, which does not obey `redirect`.
  if (response.redirected) throw new Error(`${showUrl(url)} redirects, which is not allowed`)
  const { status } = response
  if (status !== 200 && status !== 400) {
    const advice = status === 401 || status === 403 ? ': check `authentication`' : ''
    throw answeredWith(url, status, advice)
  }
  if (toMediaType(response.headers.get('content-type')) !== 'application/json') {
    throw new Error(`The answer of ${showUrl(url)} is not application/json`)
  }
  const answer = parseJson(url, await readBody(url, response, maxBytes))
  if (status === 200) return parseAnswer(url, answer)
  // RFC 7009 §2.2.1: so some endpoints call JWTs, which nobody needs them for.
  if (answer['error'] === 'unsupported_token_type') return null
  throw answeredWith(url, status)
}

function answeredWith(url: URL, status: number, advice = ''): Error {
  return new Error(`${showUrl(url)} answered with status ${status}${advice}`)
}

async function send(
  { authentication, fetch: given }: Endpoint,
  url: URL,
  token: string,
  signal: AbortSignal,
): Promise<Response> {
  const form = new URLSearchParams({ token, token_type_hint: 'access_token' })
  const headers: Record<string, string> = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
  }
  if (authentication.method === 'client_secret_post') {
    form.set('client_id', authentication.clientId)
    form.set('client_secret', authentication.clientSecret)
  }
  const authorization = toAuthorization(authentication)
  if (authorization !== null) headers['authorization'] = authorization
  const request: IntrospectionRequest = {
    method: 'POST',
    headers,
    body: form.toString(),
    redirect: 'manual',
    // Frameworks that replace the global `fetch` would keep the answer for longer than `cacheSeconds`.
    ...(IS_WORKERD ? {} : { cache: 'no-store' }),
    signal,
  }
  try {
    return await (given === null ? globalThis.fetch(url.href, request) : given(url.href, request))
  } catch (cause) {
    throw new Error(`The request to ${showUrl(url)} failed`, { cause })
  }
}

function toAuthorization(authentication: IntrospectionAuthentication): string | null {
  if (authentication.method === 'bearer') return `Bearer ${authentication.token}`
  if (authentication.method !== 'client_secret_basic') return null
  const pair = `${encodeForm(authentication.clientId)}:${encodeForm(authentication.clientSecret)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}

// RFC 6749 §2.3.1: id and secret are form-encoded first.
function encodeForm(text: string): string {
  return new URLSearchParams({ text }).toString().slice('text='.length)
}

function parseJson(url: URL, body: Uint8Array): Readonly<Record<string, unknown>> {
  const text = readUtf8(body)
  const document = text === null ? null : readJsonObject(text)
  // Never the text itself: it may repeat the token.
  if (text === null || document === null) {
    throw new Error(`The answer of ${showUrl(url)} is not a JSON object`)
  }
  if (hasNestedDuplicates(text)) throw new Error(`The answer of ${showUrl(url)} has a member twice`)
  return document
}

function parseAnswer(url: URL, { active, ...claims }: Readonly<Record<string, unknown>>): Answer {
  // "true" and 1 are mistakes: what else this endpoint says cannot be trusted either.
  if (typeof active !== 'boolean') throw new Error(`"active" of ${showUrl(url)} must be true or false`)
  return active ? claims : null
}
