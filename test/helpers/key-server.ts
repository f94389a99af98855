import type { KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { TokenEvents } from '../../packages/tokenlib/src/index.js'
import { type KeySource, parseKeySource } from '../../packages/issuers/src/keys/key-source.js'
import { createVirtualClock, type VirtualClock } from '../../packages/tokenlib/src/testing/clocks.js'
import type { KeyLoader, SourceContext, SourceKeys } from '../../packages/tokenlib/src/tokens/token-source.js'
import type { BoundKey } from '../../packages/tokenlib/src/tokens/algorithms.js'
import type { Algorithm, Jwk, JwsHeader } from '../../packages/tokenlib/src/tokens/jose.js'
import { createKeyPair, keyPairFor } from './keys.js'

/** Answers one request of a key server. */
export type Answer = (response: ServerResponse, request: IncomingMessage) => void

/** A server for key sets on this machine. */
export interface KeyServer {
  readonly origin: string
  /** The URL of its key set. */
  readonly url: string
  /** The paths of the requests so far. */
  readonly requests: string[]
  /** Answers every request from now on. */
  answer(answer: Answer): void
  /** Answers with a set of these keys from now on. */
  publish(...keys: readonly unknown[]): void
}

/** Starts a server that ends with the test. */
export async function startKeyServer(...keys: readonly unknown[]): Promise<KeyServer> {
  const requests: string[] = []
  let current: Answer = json({ keys })
  const server = createServer((request, response) => {
    requests.push(request.url ?? '')
    current(response, request)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin,
    url: `${origin}/jwks.json`,
    requests,
    answer: (answer) => void (current = answer),
    publish: (...published) => void (current = json({ keys: published })),
  }
}

/** An answer with a JSON document. */
export function json(document: unknown, status = 200): Answer {
  return (response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document))
}

/** A private key, and its public JWK with a `kid` and an `alg`; all RSA keys are the same one. */
export function createJwk(
  kid: string,
  alg: Algorithm = 'ES256',
): { readonly privateKey: KeyObject; readonly jwk: Jwk } {
  const isRsa = alg.startsWith('RS') || alg.startsWith('PS')
  const { publicKey, privateKey } = isRsa ? keyPairFor(alg) : createKeyPair(alg)
  return { privateKey, jwk: { ...(publicKey.export({ format: 'jwk' }) as Jwk), kid, alg, use: 'sig' } }
}

/** A header of a token. */
export function headerOf(kid?: string, alg = 'ES256'): JwsHeader {
  return Object.freeze(kid === undefined ? { alg } : { alg, kid })
}

/** The keys of an issuer under test. */
export interface TestedKeys extends Pick<SourceKeys, 'find' | 'idsOf'>, KeyLoader {
  readonly loader: KeyLoader | null
  isTrusted(key: BoundKey): boolean
  /** What `find` returns to a request, which loads what it lacks and asks once more. */
  look(header: JwsHeader): Promise<readonly string[] | null>
  readonly loaded: TokenEvents['keysLoaded'][]
  readonly failed: TokenEvents['keysFailed'][]
  readonly advance: VirtualClock['advance']
  readonly runUntil: VirtualClock['runUntil']
  readonly block: VirtualClock['block']
}

export const ISSUER = 'https://id.example/'
export const ALGORITHMS: readonly Algorithm[] = [
  'RS256',
  'PS256',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]

/** Keys of an issuer with a clock that stands still. */
export function createTestedKeys(
  source: KeySource | undefined,
  {
    issuer = ISSUER,
    algorithms = ALGORITHMS,
    isWorkerd = false,
  }: { issuer?: string; algorithms?: readonly Algorithm[]; isWorkerd?: boolean } = {},
): TestedKeys {
  const clock = createVirtualClock()
  const loaded: TokenEvents['keysLoaded'][] = []
  const failed: TokenEvents['keysFailed'][] = []
  const createKeys = parseKeySource(source, { issuer, algorithms })
  const emit: SourceContext['emit'] = (name, create) => {
    if (name === 'keysLoaded') loaded.push(create() as TokenEvents['keysLoaded'])
    if (name === 'keysFailed') failed.push(create() as TokenEvents['keysFailed'])
  }
  const keys = createKeys({ emit, scheduler: clock.scheduler }, isWorkerd)
  const nothing: KeyLoader = { async load() {}, prepare() {}, async ready() {} }
  const loader = keys.loader ?? nothing
  return {
    ...keys,
    ...loader,
    isTrusted: (key) => keys.isTrusted(key, 0),
    async look(header) {
      const isLoaded = keys.find(header) === null
      if (isLoaded) await loader.load(header)
      return keys.find(header, isLoaded)?.map(({ kid }) => kid) ?? null
    },
    loaded,
    failed,
    advance: clock.advance,
    runUntil: clock.runUntil,
    block: clock.block,
  }
}

/** Resolves once a condition holds that something under way will bring about. */
export async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve))
}

/** The message of an error and of its causes. */
export function messagesOf(error: unknown): string {
  return error instanceof Error ? `${error.message} | ${messagesOf(error.cause)}` : ''
}
