import { KeyObject } from 'node:crypto'
import { ConfigurationError } from '../errors.js'
import type { SignFunction } from './external-signer.js'
import type { Algorithm, WebCryptoKey } from './jose.js'

/** Whether a value is a `CryptoKey`, of this runtime or of a library that implements WebCrypto. */
export function isWebCryptoKey(value: unknown): value is WebCryptoKey {
  // By its tag (WebCrypto §13): not every runtime has the class as a global.
  return Object.prototype.toString.call(value) === '[object CryptoKey]'
}

/** Throws `ConfigurationError` unless a `CryptoKey` is of a type and for an algorithm, and may be used for that. */
export function assertWebCryptoKey(
  field: string,
  key: WebCryptoKey,
  type: 'private' | 'public',
  algorithm: Algorithm,
): void {
  if (key.type !== type) {
    throw new ConfigurationError(`${field} must be a ${type} key, not a ${key.type} one`)
  }
  const usage = type === 'private' ? 'sign' : 'verify'
  if (!key.usages.includes(usage)) {
    throw new ConfigurationError(`${field} is a CryptoKey whose "usages" do not include "${usage}"`)
  }
  const { name, hash, namedCurve } = WEB_ALGORITHMS[algorithm] ?? {}
  const given = key.algorithm as { name: string; hash?: { name?: string }; namedCurve?: string }
  if (given.name !== name || given.hash?.name !== hash || given.namedCurve !== namedCurve) {
    throw new ConfigurationError(`${field} is a CryptoKey whose "algorithm" is not that of ${algorithm}`)
  }
}

/** The `KeyObject` of a `CryptoKey` that may be extracted, or `ConfigurationError`. */
export function fromWebCryptoKey(field: string, key: WebCryptoKey): KeyObject {
  if (!key.extractable) {
    throw new ConfigurationError(`${field} is a CryptoKey that cannot be extracted: pass a JWK or PEM text`)
  }
  try {
    return KeyObject.from(key as never)
  } catch {
    // Not in every runtime.
    throw new ConfigurationError(`${field} is a CryptoKey, which this runtime cannot import: pass a JWK`)
  }
}

/** A function that signs with a private `CryptoKey`. */
export function createWebCryptoSigner(key: WebCryptoKey, algorithm: Algorithm): SignFunction {
  const parameters = WEB_ALGORITHMS[algorithm]?.parameters ?? ''
  return (input) => crypto.subtle.sign(parameters, key as never, input)
}

interface WebAlgorithm {
  readonly name: string
  readonly hash?: string
  readonly namedCurve?: string
  /** What `subtle.sign` is told. */
  readonly parameters:
    | string
    | { readonly name: string; readonly hash?: string; readonly saltLength?: number }
}

// No HMAC: a secret has no public part to check a signature with.
const WEB_ALGORITHMS: Partial<Readonly<Record<Algorithm, WebAlgorithm>>> = {
  RS256: rsa('SHA-256'),
  RS384: rsa('SHA-384'),
  RS512: rsa('SHA-512'),
  PS256: pss('SHA-256', 32),
  PS384: pss('SHA-384', 48),
  PS512: pss('SHA-512', 64),
  ES256: ecdsa('P-256', 'SHA-256'),
  ES384: ecdsa('P-384', 'SHA-384'),
  ES512: ecdsa('P-521', 'SHA-512'),
  EdDSA: { name: 'Ed25519', parameters: 'Ed25519' },
  Ed25519: { name: 'Ed25519', parameters: 'Ed25519' },
}

function rsa(hash: string): WebAlgorithm {
  return { name: 'RSASSA-PKCS1-v1_5', hash, parameters: 'RSASSA-PKCS1-v1_5' }
}

// RFC 7518 §3.5: the salt is as long as the hash.
function pss(hash: string, saltLength: number): WebAlgorithm {
  return { name: 'RSA-PSS', hash, parameters: { name: 'RSA-PSS', saltLength } }
}

function ecdsa(namedCurve: string, hash: string): WebAlgorithm {
  return { name: 'ECDSA', namedCurve, parameters: { name: 'ECDSA', hash } }
}
