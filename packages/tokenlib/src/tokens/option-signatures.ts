import { createSign, createVerify, type KeyObject, sign, verify } from 'node:crypto'
import { IS_WORKERD } from '../runtime.js'

// Cloudflare's workerd takes no KeyObject beside options. Its `sign` and `verify` take PEM text, but ignore `padding`: a
// PKCS #1 v1.5 signature would pass for RSA-PSS. Those of `createSign` and `createVerify` are right.

/** How a signature of RSA-PSS or ECDSA is made beside its key and its hash. */
export type SignatureOptions =
  | { readonly padding: number; readonly saltLength: number }
  | { readonly dsaEncoding: 'ieee-p1363' }

/** Makes a signature that needs options beside the key. */
export function signWithOptions(
  hash: string,
  input: Buffer,
  key: KeyObject,
  options: SignatureOptions,
  isWorkerd: boolean = IS_WORKERD,
): Buffer {
  if (!isWorkerd) return sign(hash, input, { key, ...options })
  return createSign(hash)
    .update(input)
    .sign({ key: toPem(key), ...options })
}

/** Whether a signature that needs options beside the key is valid. */
export function verifyWithOptions(
  hash: string,
  input: Buffer,
  key: KeyObject,
  options: SignatureOptions,
  signature: Buffer,
  isWorkerd: boolean = IS_WORKERD,
): boolean {
  if (!isWorkerd) return verify(hash, input, { key, ...options }, signature)
  return createVerify(hash)
    .update(input)
    .verify({ key: toPem(key), ...options }, signature)
}

const pemByKey = new WeakMap<KeyObject, string>()

function toPem(key: KeyObject): string {
  const known = pemByKey.get(key)
  if (known !== undefined) return known
  const pem = key.export({ format: 'pem', type: key.type === 'private' ? 'pkcs8' : 'spki' }).toString()
  pemByKey.set(key, pem)
  return pem
}
