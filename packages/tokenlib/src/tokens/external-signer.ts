import { KeyObject } from 'node:crypto'
import { readBase64url, toBase64url } from '../encoding.js'
import { ConfigurationError, KeysUnavailableError } from '../errors.js'
import { withDeadline } from '../runtime.js'
import type { Scheduler } from '../time.js'
import {
  ALGORITHMS,
  type BoundKey,
  createSignature,
  type EcdsaSpec,
  isSignature,
  signatureSize,
  toLowS,
} from './algorithms.js'
import type { Algorithm, WebCryptoKey } from './jose.js'

/** What a signer gets in addition to the bytes. */
export interface SignContext {
  readonly kid: string
  readonly algorithm: Algorithm
  /** Aborted when the deadline has passed. */
  readonly signal: AbortSignal
}

/**
 * Signs bytes with a private key that this process does not have, in a KMS or an HSM for example. The hash of the algorithm
 * is part of the signature: the bytes are the message, not its digest. ECDSA signatures are r and s side by side, or DER.
 */
export type SignFunction = (
  input: Uint8Array,
  context: SignContext,
) => Uint8Array | ArrayBuffer | Promise<Uint8Array | ArrayBuffer>

/** Calls a `SignFunction` within a deadline, and returns only signatures that the public key verifies. */
export interface ExternalSigner {
  /** The function that signs. */
  readonly source: SignFunction
  /** The signature in base64url, ECDSA in low-s, or `KeysUnavailableError`. */
  sign(input: string): Promise<string>
  /** Rejects with `KeysUnavailableError` if the last signature failed and another attempt fails as well. */
  assertAvailable(): Promise<void>
  /** Signs a text of this length that cannot be part of a token, or rejects with `KeysUnavailableError`. */
  probe(length: number): Promise<void>
}

/** A key that signs: with `external` there is only the public part in `key`, otherwise the private key or the secret. */
export interface SigningKey extends BoundKey {
  readonly external: ExternalSigner | null
}

/** A signer for the public key that verifies its signatures. */
export function createExternalSigner(
  source: SignFunction,
  key: BoundKey,
  timeoutMs: number,
  scheduler: Scheduler,
): ExternalSigner {
  const { kid, algorithm } = key
  let hasFailed = false
  let attempt: Promise<string> | null = null
  const sign = async (input: string): Promise<string> => {
    const controller = new AbortController()
    // Async, so that a signer that throws synchronously is handled like one that rejects.
    const call = async (): Promise<unknown> =>
      source(Buffer.from(input), { kid, algorithm, signal: controller.signal })
    try {
      const answer = await withDeadline(scheduler, call(), timeoutMs, () => {
        const reason = new Error(`The signer did not answer within ${timeoutMs} milliseconds`)
        controller.abort(reason)
        return reason
      })
      const signature = readSignature(key, input, toBytes(answer))
      if (signature === null)
        throw new Error('The signer returned a signature that the public key does not verify')
      hasFailed = false
      return signature
    } catch (cause) {
      hasFailed = true
      throw new KeysUnavailableError(cause, 'Signer unavailable')
    }
  }
  const assertAvailable = async (): Promise<void> => {
    if (!hasFailed) return
    // One attempt for all that wait.
    attempt ??= sign(PROBE).finally(() => (attempt = null))
    await attempt
  }
  return {
    source,
    sign,
    assertAvailable,
    async probe(length) {
      await assertAvailable()
      await sign(PROBE.padEnd(length))
    },
  }
}

// Without dots: no part of a token.
const PROBE = 'tokenlib signer check'

/** The compact JWS of a signing input, or `KeysUnavailableError`. */
export async function signCompactAsync(key: SigningKey, input: string): Promise<string> {
  const signature = key.external === null ? createSignature(key, input) : await key.external.sign(input)
  return `${input}.${signature}`
}

function toBytes(answer: unknown): Buffer {
  if (answer instanceof Uint8Array) return Buffer.from(answer)
  if (answer instanceof ArrayBuffer) return Buffer.from(answer)
  throw new TypeError('The signer must return the signature as a Uint8Array or an ArrayBuffer')
}

// A few DER signatures are as long as r and s side by side: the public key tells which one it is.
function readSignature(key: BoundKey, input: string, bytes: Buffer): string | null {
  const spec = ALGORITHMS[key.algorithm]
  const forms =
    spec.family === 'ecdsa'
      ? [readLowS(bytes, spec), readDer(bytes, spec)]
      : [padStart(bytes, signatureSize(key))]
  for (const form of forms) {
    const encoded = form === null ? '' : toBase64url(form)
    if (encoded !== '' && readBase64url(encoded) !== null && isSignature(key, input, encoded)) return encoded
  }
  return null
}

// A service may return an RSA signature as a number, without leading zeros.
function padStart(bytes: Buffer, size: number): Buffer {
  return bytes.length < size ? Buffer.concat([Buffer.alloc(size - bytes.length), bytes]) : bytes
}

function readLowS(bytes: Buffer, spec: EcdsaSpec): Buffer | null {
  if (bytes.length !== 2 * spec.size) return null
  const isInRange = BigInt(`0x${bytes.toString('hex', spec.size)}`) < spec.order
  return isInRange ? toLowS(Buffer.from(bytes), spec) : null
}

const SEQUENCE = 0x30
const INTEGER = 0x02

// RFC 3279 §2.2.3: a SEQUENCE of two INTEGERs.
function readDer(bytes: Buffer, spec: EcdsaSpec): Buffer | null {
  const sequence = readElement(bytes, 0, SEQUENCE)
  if (sequence === null || sequence.end !== bytes.length) return null
  const r = readElement(bytes, sequence.start, INTEGER)
  const s = r === null ? null : readElement(bytes, r.end, INTEGER)
  if (r === null || s === null || s.end !== bytes.length) return null
  const parts = [r, s].map(({ start, end }) => {
    const hex = bytes.toString('hex', start, end).replace(/^(?:00)+/, '')
    return hex.padStart(2 * spec.size, '0')
  })
  return readLowS(Buffer.from(parts.join(''), 'hex'), spec)
}

// Where the contents of a DER element start and end. A signature has less than 256 bytes: its lengths have one or two.
function readElement(bytes: Buffer, at: number, tag: number): { start: number; end: number } | null {
  const isLong = bytes[at + 1] === 0x81
  const start = at + (isLong ? 3 : 2)
  const length = bytes[start - 1]
  if (bytes[at] !== tag || length === undefined || (!isLong && length >= 0x80)) return null
  return start + length > bytes.length ? null : { start, end: start + length }
}

/** Whether a value is a `CryptoKey`, of this runtime or of a library that implements WebCrypto. */
export function isWebCryptoKey(value: unknown): value is WebCryptoKey {
  // By its tag (WebCrypto §13): not every runtime has the class as a global.
  return Object.prototype.toString.call(value) === '[object CryptoKey]'
}

/** The `KeyObject` of a `CryptoKey` that may be extracted, or `ConfigurationError`. */
export function fromWebCryptoKey(
  field: string,
  key: WebCryptoKey,
  type: 'private' | 'public',
  algorithm: Algorithm,
): KeyObject {
  assertWebCryptoKey(field, key, type, algorithm)
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

/** A function that signs with a private `CryptoKey`, or `ConfigurationError`. */
export function createWebCryptoSigner(field: string, key: WebCryptoKey, algorithm: Algorithm): SignFunction {
  assertWebCryptoKey(field, key, 'private', algorithm)
  const parameters = toWebAlgorithm(algorithm)
  return (input) => crypto.subtle.sign(parameters, key as never, input)
}

// Checks the type, the usages and the algorithm of a key.
function assertWebCryptoKey(
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
  const { name, hash, namedCurve } = toWebAlgorithm(algorithm)
  const given = key.algorithm as { name: string; hash?: { name?: string }; namedCurve?: string }
  // An ECDSA key has a curve but no hash: the hash is chosen for each signature.
  const isSame =
    given.name === name &&
    given.namedCurve === namedCurve &&
    given.hash?.name === (namedCurve === undefined ? hash : undefined)
  if (!isSame) {
    throw new ConfigurationError(`${field} is a CryptoKey whose "algorithm" does not match ${algorithm}`)
  }
}

interface WebAlgorithm {
  readonly name: string
  readonly hash?: string
  readonly namedCurve?: string
  readonly saltLength?: number
}

const WEB_CURVES: Readonly<Record<string, string>> = {
  prime256v1: 'P-256',
  secp384r1: 'P-384',
  secp521r1: 'P-521',
}

// The WebCrypto name of a public-key algorithm. HMAC is missing because a secret has no public part.
function toWebAlgorithm(algorithm: Algorithm): WebAlgorithm {
  const spec = ALGORITHMS[algorithm]
  if (spec.family === 'eddsa') return { name: 'Ed25519' }
  const hash = spec.hash.replace('sha', 'SHA-')
  if (spec.family === 'ecdsa') return { name: 'ECDSA', hash, namedCurve: WEB_CURVES[spec.curve] as string }
  // RFC 7518 §3.5: the salt is as long as the hash.
  return spec.family === 'rsa-pss'
    ? { name: 'RSA-PSS', hash, saltLength: Number(spec.hash.slice(3)) / 8 }
    : { name: 'RSASSA-PKCS1-v1_5', hash }
}
