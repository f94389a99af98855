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
