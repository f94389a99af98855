import type { TokenProof } from './options.js'

/** Where the key of a client is stored. */
export interface DpopKeyOptions {
  /** With `memory`, the key is lost with the page. Default `indexeddb`, or `memory` in runtimes without IndexedDB. */
  readonly storage?: 'indexeddb' | 'memory'
  /** Clients with different names have different keys. Default `default`. */
  readonly name?: string
}

type Key = Parameters<typeof crypto.subtle.sign>[1]

interface KeyPair {
  readonly privateKey: Key
  readonly publicKey: Key
}

/** The part of `IDBRequest` that is used here. The DOM types are not available in other runtimes. */
interface DatabaseRequest<Result> {
  readonly result: Result
  readonly error: unknown
  onsuccess: (() => void) | null
  onerror: (() => void) | null
  onupgradeneeded?: (() => void) | null
}

interface KeyStore {
  get(name: string): DatabaseRequest<KeyPair | undefined>
  add(keys: KeyPair, name: string): DatabaseRequest<unknown>
}

interface KeyDatabase {
  createObjectStore(name: string): unknown
  transaction(name: string, mode: 'readwrite'): { objectStore(name: string): KeyStore }
  close(): void
}

interface PageDatabases {
  readonly indexedDB?: { open(name: string): DatabaseRequest<KeyDatabase> }
}

const STORAGES = ['indexeddb', 'memory']
const STORE = 'keys'
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

/** How far a proof may differ from the server's clock. Network latency uses up some of this. */
const MAX_CLOCK_ERROR_MS = 3000

/**
 * Binds sessions to a key of this browser, which no script can read (RFC 9449).
 *
 * @example
 * const client = createTokenClient({ proof: dpop() })
 */
export function dpop(options: DpopKeyOptions = {}): TokenProof {
  const { storage = 'indexeddb', name = 'default' } = options
  for (const [option, value] of Object.entries<unknown>({ ...options })) {
    const isValid =
      option === 'storage'
        ? STORAGES.includes(value as string)
        : option === 'name' && value && typeof value === 'string'
    if (!isValid) throw new TypeError(`Invalid ${option}`)
  }
  // Pages without https have no `subtle`. Without this error, they would look like an outage.
  if (!globalThis.crypto?.subtle) throw new TypeError('dpop: use https')

  const nonces = new Map<string, string>()
  let clockOffset = 0
  let loading: ReturnType<typeof loadKey> | undefined

  const createProof = async ({ headers, method, url }: Request, now: number): Promise<string> => {
    const { jwk, privateKey } = await (loading ??= loadKey(storage, name))
    const token = headers.get('authorization')?.replace(/^\w+ /, '')
    const header = { typ: 'dpop+jwt', alg: 'ES256', jwk }
    const payload = {
      jti: toBase64Url(crypto.getRandomValues(new Uint8Array(16))),
      htm: method,
      htu: url.replace(/[?#].*/, ''),
      iat: Math.floor((now + clockOffset) / 1000),
      ath: token && toBase64Url(await crypto.subtle.digest('SHA-256', encode(token))),
      nonce: nonces.get(new URL(url).origin),
    }
    const input = [header, payload].map((part) => toBase64Url(encode(JSON.stringify(part)))).join('.')
    return `${input}.${toBase64Url(await crypto.subtle.sign(ALGORITHM, privateKey, encode(input)))}`
  }

  // Returns why a request should be sent again, or a falsy value. A second refusal for the same reason is final.
  const readReason = async (response: Response, isSafe: boolean, now: number): Promise<unknown> => {
    const { headers, status } = response
    if (status !== 401) return null
    const body: unknown = await response
      .clone()
      .json()
      .catch(() => null)
    const { code } = Object(body) as { readonly code?: unknown }
    // RFC 9449 §9. Another origin has to expose the nonce. Without the nonce, the next attempt would be the same.
    const refusal = [code, headers.get('www-authenticate')].join(' ')
    if (/use_dpop_nonce|PROOF_NONCE/.test(refusal)) return headers.has('dpop-nonce') && 'nonce'
    // Something between client and server sent the request twice, so the handler may already have run.
    if (code === 'PROOF_REUSED') return isSafe && code
    const offset = Date.parse(headers.get('date') ?? '') - now
    const isWrong = code === 'PROOF_INVALID' && Math.abs(offset - clockOffset) > MAX_CLOCK_ERROR_MS
    if (isWrong) clockOffset = offset
    return isWrong && code
  }

  return async (request, { send, clock, mayRepeat, isSafe, mayGoOn }) => {
    const reasons = new Set<unknown>()
    for (;;) {
      const attempt = mayRepeat ? request.clone() : request
      attempt.headers.set('dpop', await createProof(attempt, clock()))
      const response = await send(attempt)
      const nonce = response.headers.get('dpop-nonce')
      if (nonce) nonces.set(new URL(request.url).origin, nonce)
      const reason = await readReason(response, isSafe, clock())
      if (!reason || reasons.has(reason) || !mayRepeat || !mayGoOn()) return response
      reasons.add(reason)
    }
  }
}

async function loadKey(storage: string, name: string) {
  // Create a key every time: it takes less than a millisecond, and an open transaction would end while waiting for it.
  const created = (await crypto.subtle.generateKey(ALGORITHM, false, ['sign', 'verify'])) as KeyPair
  // Some private modes have a database that cannot be opened.
  const stored = storage === 'memory' ? null : await keepKey(created, name).catch(() => null)
  const { privateKey, publicKey } = stored ?? created
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey)
  return { privateKey, jwk: { kty, crv, x, y } }
}

/** The key that all tabs of an origin share. The first tab adds it, in the same transaction that looks for one. */
async function keepKey(created: KeyPair, name: string): Promise<KeyPair | undefined> {
  const opening = (globalThis as PageDatabases).indexedDB?.open('tokenlib')
  if (!opening) return undefined
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE)
  const database = await settle(opening)
  try {
    const store = database.transaction(STORE, 'readwrite').objectStore(STORE)
    const known = await settle(store.get(name))
    if (!known) await settle(store.add(created, name))
    return known
  } finally {
    database.close()
  }
}

function settle<Result>(request: DatabaseRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}

function toBase64Url(bytes: ArrayBuffer | Uint8Array): string {
  const base64 = btoa(String.fromCharCode(...new Uint8Array(bytes)))
  return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
