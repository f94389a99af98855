import { createHash, createHmac, type KeyObject } from 'node:crypto'
import { ConfigurationError } from '../errors.js'

/** The signature algorithms this library knows (RFC 7518 §3.1, RFC 8037, RFC 9864). `none` is not one. */
export type Algorithm =
  | 'HS256'
  | 'HS384'
  | 'HS512'
  | 'RS256'
  | 'RS384'
  | 'RS512'
  | 'PS256'
  | 'PS384'
  | 'PS512'
  | 'ES256'
  | 'ES384'
  | 'ES512'
  | 'EdDSA'
  | 'Ed25519'

/** The JOSE header of a verified token. */
export interface JwsHeader {
  readonly alg: string
  readonly kid?: string
  readonly [member: string]: unknown
}

/** A JSON Web Key (RFC 7517). */
export interface Jwk {
  readonly kty?: string | undefined
  readonly kid?: string | undefined
  readonly alg?: string | undefined
  readonly use?: string | undefined
  readonly key_ops?: readonly string[] | undefined
  readonly [member: string]: unknown
}

/** A `KeyObject` of `node:crypto`, without its declarations: a project for another runtime may not have them. */
export interface NodeKey {
  readonly type: 'secret' | 'public' | 'private'
  readonly asymmetricKeyType?: string | undefined
  readonly asymmetricKeyDetails?: { readonly modulusLength?: number | undefined } | undefined
  export(options?: never): unknown
  equals(other: NodeKey): boolean
}

/** A signing secret: a text (its UTF-8 bytes count), bytes, an `oct` JWK or a secret `KeyObject`. */
export type SecretMaterial = string | Uint8Array | Jwk | NodeKey

/** The accepted forms of a secret, for error messages. */
export const SECRET_FORMS = 'a string, bytes, a JWK of type "oct" or a secret KeyObject'

/** An asymmetric key: PEM text, a JWK (or its JSON text) or a `KeyObject`. */
export type KeyMaterial = string | Jwk | NodeKey

/** The accepted forms of an asymmetric key, for error messages. */
export const KEY_FORMS = 'PEM text, a JWK or a KeyObject'

/** A `CryptoKey` of WebCrypto, without its declarations. */
export interface WebCryptoKey {
  readonly type: string
  readonly extractable: boolean
  readonly algorithm: { readonly name: string }
  readonly usages: readonly string[]
}

/** Whether a value has the shape of a JWK; `KeyObject` and bytes have no `kty`. */
export function isJwk(value: unknown): value is Jwk {
  return typeof value === 'object' && value !== null && typeof (value as { kty?: unknown }).kty === 'string'
}

/** The material, a JWK in JSON text parsed; other text is returned as it is. */
export function parseJwkText<Material>(material: Material): Material | Jwk {
  if (typeof material !== 'string') return material
  try {
    const parsed: unknown = JSON.parse(material)
    return isJwk(parsed) ? parsed : material
  } catch {
    return material
  }
}

/** Throws `ConfigurationError` when a JWK says it is for another algorithm or another use (RFC 7517 §4.2–4.4). */
export function assertJwkUse(
  field: string,
  material: unknown,
  algorithm: Algorithm,
  operation: 'sign' | 'verify',
): void {
  if (!isJwk(material)) return
  const { alg = algorithm, use = 'sig', key_ops: operations = [operation] } = material
  if (alg !== algorithm) {
    throw new ConfigurationError(`${field} is a JWK whose "alg" is not ${algorithm}`)
  }
  if (use !== 'sig') throw new ConfigurationError(`${field} is a JWK whose "use" is not "sig"`)
  if (!Array.isArray(operations) || !operations.includes(operation)) {
    throw new ConfigurationError(`${field} is a JWK whose "key_ops" do not include "${operation}"`)
  }
}

/** The longest `kid` that is accepted. */
export const MAX_KID_LENGTH = 128

/** What a `kid` must be, for error messages. */
export const KID_FORM: string = `a string of 1 to ${MAX_KID_LENGTH} characters`

/** Whether a value can be a `kid`. */
export function isKid(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_KID_LENGTH
}

/** The `kid` of a key: the one its JWK names, or else one derived from the key itself. */
export function toKid(field: string, material: unknown, key: NodeKey): string {
  const kid = isJwk(material) ? material.kid : undefined
  if (kid === undefined) return deriveKid(key)
  if (!isKid(kid)) throw new ConfigurationError(`${field} is a JWK whose "kid" is not ${KID_FORM}`)
  return kid
}

/** The id of a key, derived from the key: the same wherever the key is configured, in whatever form. */
export function deriveKid(given: NodeKey): string {
  const key = given as KeyObject
  // RFC 7638 §7 warns against publishing a plain hash of a secret; a MAC reveals no more than a token does.
  if (key.type === 'secret') {
    return createHmac('sha256', key).update('tokenlib kid').digest().subarray(0, 12).toString('base64url')
  }
  // Node cannot export an RSA-PSS key as a JWK; its DER form identifies it as well.
  const form =
    key.asymmetricKeyType === 'rsa-pss'
      ? key.export({ format: 'der', type: 'spki' })
      : toThumbprintJson(key.export({ format: 'jwk' }))
  return createHash('sha256').update(form).digest('base64url')
}

// RFC 7638 §3.2: the required members only, in lexicographic order.
const THUMBPRINT_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  RSA: ['e', 'kty', 'n'],
  EC: ['crv', 'kty', 'x', 'y'],
  OKP: ['crv', 'kty', 'x'],
}

function toThumbprintJson(jwk: Readonly<Record<string, unknown>>): string {
  const members = THUMBPRINT_MEMBERS[String(jwk['kty'])] ?? []
  return JSON.stringify(Object.fromEntries(members.map((name) => [name, jwk[name]])))
}
