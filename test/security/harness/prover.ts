import { createHash, type JsonWebKey, type KeyObject, randomUUID } from 'node:crypto'
import {
  type RevocationStore,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
} from '../../../packages/tokenlib/src/index.js'
import type { RequestView } from '../../../packages/tokenlib/src/http/view.js'
import type { NodeRequest } from '../../../packages/tokenlib/src/kit.js'
import type { DpopOptions } from '../../../packages/tokenlib/src/proofs/dpop.js'
import { createMemoryStore } from '../../../packages/tokenlib/src/stores/memory.js'
import { createKeyPair } from '../../helpers/keys.js'
import { createClock, PATIENT } from '../../helpers/manager.js'
import { outcomeOf } from '../../helpers/revocable.js'
import { encode, type Forgery, forge, NOW, publicHalf, SECRET } from './forge.js'

/** Where clients reach the application. */
export const PUBLIC_URL = 'https://api.example'

/** What a forged proof is made of; what is left out is as an honest proof has it. */
export interface ProofForgery extends Pick<Forgery, 'algorithm' | 'key' | 'signature'> {
  readonly method?: string
  readonly url?: string
  /** The token whose hash the proof has. */
  readonly token?: string
  /** Members in place of the honest ones, `undefined` for none; or the exact text of the header. */
  readonly header?: Readonly<Record<string, unknown>> | string
  /** The same for the claims. */
  readonly claims?: Readonly<Record<string, unknown>> | string
}

/** A client with a key, whose proofs are made by hand; shares no code with the library. */
export interface Prover {
  readonly algorithm: string
  readonly privateKey: KeyObject
  readonly jwk: JsonWebKey
  /** The thumbprint of the key (RFC 7638). */
  readonly jkt: string
  prove(forgery?: ProofForgery): string
}

/** A client with a new key, or with this one. */
export function createProver(
  algorithm = 'ES256',
  privateKey: KeyObject = createKeyPair(algorithm as 'ES256').privateKey,
): Prover {
  const { kty, crv, x, y, n, e } = publicHalf(privateKey).export({ format: 'jwk' })
  const jwk = JSON.parse(JSON.stringify({ kty, crv, x, y, n, e })) as JsonWebKey
  return {
    algorithm,
    privateKey,
    jwk,
    jkt: thumbprint(jwk),
    prove({ method = 'GET', url = `${PUBLIC_URL}/`, token, header = {}, claims = {}, ...forgery } = {}) {
      const ath = token === undefined ? {} : { ath: hashToken(token) }
      return forge({
        algorithm,
        key: privateKey,
        header: typeof header === 'string' ? header : { typ: 'dpop+jwt', alg: algorithm, jwk, ...header },
        claims:
          typeof claims === 'string'
            ? claims
            : { jti: randomUUID(), htm: method, htu: url, iat: NOW, ...ath, ...claims },
        ...forgery,
      })
    },
  }
}

/** The hash of a token as a proof has it (RFC 9449 §4.2). */
export function hashToken(token: string): string {
  return encode(createHash('sha256').update(token).digest())
}

/** The thumbprint of a JWK (RFC 7638 §3). */
export function thumbprint(jwk: JsonWebKey): string {
  const members = (['crv', 'e', 'k', 'kty', 'n', 'x', 'y'] as const).filter((name) => jwk[name] !== undefined)
  const text = JSON.stringify(Object.fromEntries(members.map((name) => [name, jwk[name]])))
  return encode(createHash('sha256').update(text).digest())
}

/** What an attack may say about its victim. */
export interface BoundOptions {
  readonly dpop?: Partial<DpopOptions>
  readonly config?: TokenConfigOptions
  readonly client?: Prover
  readonly store?: RevocationStore
}

/** A request of an attack: what is left out is as the client would send it. */
export interface Call {
  readonly token?: string
  readonly scheme?: string
  readonly method?: string
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A manager, and a session in it that is bound to the key of a client. */
export async function openBound({
  dpop,
  config = {},
  client = createProver(),
  ...options
}: BoundOptions = {}) {
  const clock = createClock()
  const store = options.store ?? createMemoryStore({ clock })
  const create = (others?: Partial<DpopOptions>): TokenManager =>
    new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT, ...config }),
      clock,
      store,
      dpop: { publicUrl: PUBLIC_URL, ...others },
    })
  const tokens = create(dpop)
  // Accepts the proof of every login, whatever the manager under attack demands.
  const door = create()
  const logIn = async (prover: Prover = client) => {
    const url = `${PUBLIC_URL}/login`
    const proof = prover.prove({ method: 'POST', url })
    const request = new Request(url, { method: 'POST', headers: { dpop: proof } })
    return door.sessions.open({ uid: 'ada' }, { proofOf: request })
  }
  const { accessToken, refreshToken } = await logIn()

  const createRequest = (proof: string | null, call: Call = {}): Request => {
    const { token = accessToken, scheme = 'DPoP', method = 'GET', url = `${PUBLIC_URL}/` } = call
    return new Request(url, {
      method,
      headers: {
        authorization: `${scheme} ${token}`,
        ...(proof !== null && { dpop: proof }),
        ...call.headers,
      },
    })
  }

  return {
    tokens,
    clock,
    store,
    client,
    accessToken,
    refreshToken,
    create,
    logIn,
    createRequest,
    /** An honest proof for the access token, but for what is given. */
    prove: (forgery: ProofForgery = {}): string => client.prove({ token: accessToken, ...forgery }),
    /** What becomes of a request with a proof. */
    call: (proof: string | null, call: Call = {}): Promise<string> =>
      outcomeOf(tokens.accessTokenRequired(createRequest(proof, call))),
    /** The same for a request as Node has it. */
    callNode: (proof: string, request: Partial<NodeRequest> = {}): Promise<string> =>
      outcomeOf(
        tokens.accessTokenRequired({
          method: 'GET',
          url: '/',
          ...request,
          headers: { authorization: `DPoP ${accessToken}`, dpop: proof, ...request.headers },
        }),
      ),
  }
}

/** A view of a request, as an adapter would make it. */
export function createView(
  headers: Readonly<Record<string, string>>,
  url = '/',
  method = 'GET',
): RequestView {
  return { method, url, header: (name) => headers[name] ?? null, body: () => Promise.resolve(undefined) }
}
