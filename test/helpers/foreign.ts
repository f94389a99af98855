import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import {
  type RevocationStore,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
  type TrustedIssuer,
} from '../../packages/tokenlib/src/index.js'
import type { Algorithm, Jwk } from '../../packages/tokenlib/src/kit.js'
import { type ConfiguredIssuer, type IssuerOptions, trustIssuer } from '../../packages/issuers/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { type Forgery, flipS, forge } from '../security/harness/forge.js'
import { createKeyPair } from './keys.js'
import { createClock, NOW, PATIENT, SECRET } from './manager.js'

/** Whom the tokens of all issuers of the tests are for. */
export const AUDIENCE = 'https://api.example'

/** An issuer of the tests, with a key of its own. */
export interface Foreign {
  readonly issuer: string
  readonly algorithm: Algorithm
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  /** Its public key, as it publishes it. */
  readonly jwk: Jwk
  /** The claims of an honest token, and others in their place; `undefined` leaves one out. */
  claims(others?: object): Record<string, unknown>
  /** An honest token with other claims or header members. */
  sign(others?: object, header?: object): string
  /** A token with the header of an honest one, whatever is in it. */
  forge(forgery: Forgery): string
  /** Options under which a manager accepts its tokens. */
  options(others?: Partial<IssuerOptions>): IssuerOptions
  /** The same, for a manager. */
  trust(others?: Partial<IssuerOptions>): ConfiguredIssuer
}

/** An issuer with a new key. */
export function createForeign(
  issuer: string,
  { algorithm = 'ES256', kid = 'key-1' }: { algorithm?: Algorithm; kid?: string | null } = {},
): Foreign {
  const { privateKey, publicKey } = algorithm.startsWith('RS')
    ? generateKeyPairSync('rsa', { modulusLength: 2048 })
    : createKeyPair(algorithm)
  const name = kid === null ? {} : { kid }
  const header = { alg: algorithm, typ: 'at+jwt', ...name }
  const claims: Foreign['claims'] = (others = {}) => ({
    iss: issuer,
    aud: AUDIENCE,
    sub: 'ada',
    iat: NOW - 60,
    exp: NOW + 600,
    client_id: 'app',
    jti: 'token-1',
    ...others,
  })
  return {
    issuer,
    algorithm,
    privateKey,
    publicKey,
    jwk: { ...publicKey.export({ format: 'jwk' }), ...name, alg: algorithm, use: 'sig' },
    claims,
    sign: (others, members) =>
      forge({ algorithm, key: privateKey, header: { ...header, ...members }, claims: claims(others) }),
    forge: (forgery) => forge({ algorithm, key: privateKey, header, ...forgery }),
    options(others = {}) {
      return { issuer, audience: AUDIENCE, keys: { keys: [this.jwk] }, subjectPrefix: '', ...others }
    },
    trust(others) {
      return trustIssuer(this.options(others))
    },
  }
}

/** A manager with issuers and a store on one clock; `config` are configuration fields. */
export function createReceiver(
  given: readonly (IssuerOptions | TrustedIssuer)[],
  options: {
    readonly config?: TokenConfigOptions
    readonly clock?: ReturnType<typeof createClock>
    readonly store?: RevocationStore
  } = {},
) {
  const clock = options.clock ?? createClock()
  const store = options.store ?? createMemoryStore({ clock })
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT, ...options.config })
  const issuers = given.map((each) => ('connect' in each ? each : trustIssuer(each)))
  return {
    tokens: new TokenManager({ config, clock, store, issuers }),
    clock,
    store,
  }
}

/** The same token with the other signature that its algorithm accepts: s turned into n - s. */
export function flipToken(token: string, algorithm: string): string {
  const at = token.lastIndexOf('.') + 1
  const flipped = flipS(Buffer.from(token.slice(at), 'base64url'), algorithm)
  return token.slice(0, at) + flipped.toString('base64url')
}
