import type { TokenProof } from './options.js'

/** Where the key of a client is. */
export interface DpopKeyOptions {
  /** `memory` for a key that is gone with the page. Default `indexeddb`, or `memory` where there is none. */
  readonly storage?: 'indexeddb' | 'memory'
  /** Clients with different names have different keys. Default `default`. */
  readonly name?: string
}

type Key = Parameters<typeof crypto.subtle.sign>[1]

interface KeyPair {
  readonly privateKey: Key
  readonly publicKey: Key
}

/** As much of an `IDBRequest` as is used here: its types are those of a page, which other runtimes do not have. */
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

/** A difference to the clock of the server that a proof may have; the network takes some of it. */
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

  // Why a request should be sent again, or a falsy value: a proof that is refused for the same reason stays refused.
  const readReason = async (response: Response, isSafe: boolean, now: number): Promise<unknown> => {
    const { headers, status } = response
    if (status !== 401) return null
    const body: unknown = await response
      .clone()
      .json()
      .catch(() => null)
    const { code } = Object(body) as { readonly code?: unknown }
    // RFC 9449 §9. Without the nonce, which another origin has to expose, the next attempt would be the same.
    const refusal = [code, headers.get('www-authenticate')].join(' ')
    if (/use_dpop_nonce|PROOF_NONCE/.test(refusal)) return headers.has('dpop-nonce') && 'nonce'
    // Something between client and server has sent the request twice, so the handler may have done its work.
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
  // Created every time: it takes less than a millisecond, and a transaction would end meanwhile.
  const created = (await crypto.subtle.generateKey(ALGORITHM, false, ['sign', 'verify'])) as KeyPair
  // Some private modes have a database that cannot be opened.
  const stored = storage === 'memory' ? null : await keepKey(created, name).catch(() => null)
  const { privateKey, publicKey } = stored ?? created
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey)
  return { privateKey, jwk: { kty, crv, x, y } }
}

/** The key that the tabs of an origin share: that of the first tab, which asks and adds in one transaction. */
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
