import { IS_WORKERD, readBytes, readJsonObject, type Scheduler, withDeadline } from 'tokenlib/kit'
import { hostKindOf, isPublicAddress, lookUpAddresses } from './network-address.js'

/** What is passed to `fetch` with each request. */
export interface KeyRequest {
  readonly method: 'GET'
  readonly headers: Readonly<Record<string, string>>
  readonly redirect: 'manual'
  /** Left out in Workers: older ones refuse any value. */
  readonly cache?: 'no-store'
  readonly signal: AbortSignal
}

/** A function like the global `fetch`. */
export type KeyFetch = (url: string, request: KeyRequest) => Promise<Response>

/** How to fetch a document, and what to reject. */
export interface FetchRules {
  /** For all requests of one load, with their bodies. */
  readonly timeoutMs: number
  readonly maxBytes: number
  readonly maxRedirects: number
  readonly allowPrivateNetwork: boolean
  /** Sent only to the origin of the configured URL. */
  readonly headers: Readonly<Record<string, string>>
  /** `null`: the global one, looked up at each call. */
  readonly fetch: KeyFetch | null
}

/** Fetches JSON objects, all of them before one deadline. */
export interface JsonFetcher {
  (url: string): Promise<Readonly<Record<string, unknown>>>
}

/** Runs `load` with a deadline, and aborts its remaining requests at the end. */
export async function fetchBeforeDeadline<Value>(
  rules: FetchRules,
  scheduler: Scheduler,
  configuredUrl: string,
  load: (fetchJson: JsonFetcher) => Promise<Value>,
): Promise<Value> {
  const controller = new AbortController()
  const { origin } = new URL(configuredUrl)
  const loading = load((url) => fetchJson(url, origin, rules, controller.signal))
  try {
    return await withDeadline(
      scheduler,
      loading,
      rules.timeoutMs,
      () => new Error(`No complete answer of ${origin} within ${rules.timeoutMs} ms`),
      true,
    )
  } finally {
    // Also ends unread bodies, which would keep their connections open.
    controller.abort()
  }
}

/** The URL in a text, or an error that says what is wrong with it; names are not looked up. */
export function parseKeyUrl(text: unknown, allowPrivateNetwork: boolean): URL {
  if (typeof text !== 'string' || !URL.canParse(text)) throw new Error('The URL is not valid')
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') {
    throw new Error('The URL must not have credentials: use `headers`')
  }
  if (url.protocol !== 'https:' && !(allowPrivateNetwork && url.protocol === 'http:')) {
    throw new Error(`${showUrl(url)} must start with https: (http: needs \`allowPrivateNetwork\`)`)
  }
  const kind = hostKindOf(url.hostname)
  if (kind === 'private' && !allowPrivateNetwork) throw isPrivate(url)
  if (kind === 'public' && url.protocol === 'http:') throw isNotEncrypted(url)
  return url
}

async function fetchJson(
  text: string,
  configuredOrigin: string,
  rules: FetchRules,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  let url = parseKeyUrl(text, rules.allowPrivateNetwork)
  for (let redirects = 0; ; redirects++) {
    await assertAddresses(url, rules.allowPrivateNetwork)
    signal.throwIfAborted()
    const response = await send(url, configuredOrigin, rules, signal)
    // A `fetch` of the application may ignore `redirect` and follow one to a URL that was not checked.
    if (response.redirected) {
      if (rules.maxRedirects === 0) throw notAllowed(url)
      parseKeyUrl(response.url, rules.allowPrivateNetwork)
    }
    const location = REDIRECTS.has(response.status) ? response.headers.get('location') : null
    if (location === null) {
      if (response.status !== 200) throw new Error(`${showUrl(url)} answered with status ${response.status}`)
      return parseDocument(url, await readBody(url, response, rules.maxBytes))
    }
    if (redirects >= rules.maxRedirects) throw notAllowed(url)
    // Ends with the exchange; its error adds nothing.
    void response.body?.cancel().catch(() => undefined)
    if (!URL.canParse(location, url.href)) throw new Error(`${showUrl(url)} redirects to an invalid URL`)
    url = parseKeyUrl(new URL(location, url).href, rules.allowPrivateNetwork)
  }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])

/**
 * Looks up the host name of a URL, and throws if an address is not allowed.
 *
 * If the lookup fails, `fetch` decides: a proxy may know the name, and the server needs a certificate for it.
 */
export async function assertAddresses(url: URL, allowPrivateNetwork: boolean): Promise<void> {
  if (hostKindOf(url.hostname) !== 'name') return
  const addresses = await lookUpAddresses(url.hostname)
  if (addresses?.some((address) => !isPublicAddress(address)) && !allowPrivateNetwork) throw isPrivate(url)
  if (url.protocol === 'http:' && (addresses?.some(isPublicAddress) ?? true)) throw isNotEncrypted(url)
}

async function send(
  url: URL,
  configuredOrigin: string,
  { fetch: given, headers }: FetchRules,
  signal: AbortSignal,
): Promise<Response> {
  const request: KeyRequest = {
    method: 'GET',
    headers: {
      accept: 'application/jwk-set+json, application/json',
      ...(url.origin === configuredOrigin ? headers : {}),
    },
    redirect: 'manual',
    // Frameworks that replace the global `fetch` would cache the response, and keep withdrawn keys alive.
    ...(IS_WORKERD ? {} : { cache: 'no-store' }),
    signal,
  }
  try {
    return await (given === null ? globalThis.fetch(url.href, request) : given(url.href, request))
  } catch (cause) {
    throw new Error(`The request to ${showUrl(url)} failed`, { cause })
  }
}

/**
 * The body of an answer, of at most `maxBytes`.
 *
 * Counted as it arrives, and after decompression: neither a missing `Content-Length` nor a small one proves anything.
 */
export async function readBody(url: URL, response: Response, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = (): Error => new Error(`The answer of ${showUrl(url)} is larger than ${maxBytes} bytes`)
  if (Number(response.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge()
  if (response.body === null) return new Uint8Array()
  const bytes = await readBytes(response.body, maxBytes).catch((cause: unknown) => {
    throw new Error(`The answer of ${showUrl(url)} ended early`, { cause })
  })
  if (bytes === null) throw tooLarge()
  return bytes
}

function parseDocument(url: URL, body: Uint8Array): Readonly<Record<string, unknown>> {
  const text = readUtf8(body)
  const document = text === null ? null : readJsonObject(text, Number.POSITIVE_INFINITY)
  // Never the text itself: it may hold anything.
  if (document === null) throw new Error(`The answer of ${showUrl(url)} is not a JSON object`)
  return document
}

/** The text in UTF-8, or `null`. */
export function readUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null
  }
}

function notAllowed(url: URL): Error {
  return new Error(`${showUrl(url)} redirects, which \`maxRedirects\` does not allow`)
}

function isPrivate(url: URL): Error {
  return new Error(`${showUrl(url)} is in a private network, which needs \`allowPrivateNetwork\``)
}

function isNotEncrypted(url: URL): Error {
  return new Error(`${showUrl(url)} must start with https: (http: is for private networks only)`)
}

/** A URL for a message: without the query, which may have a secret. */
export function showUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`
}
