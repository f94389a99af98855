import { constants, createCipheriv, type KeyObject, publicEncrypt, randomBytes } from 'node:crypto'
import { encode } from './forge.js'

/** A compact JWE (RFC 7516 §7.1) with A256GCM, its key given (`dir`) or encrypted to a public key. */
export function encrypt(
  plaintext: Uint8Array | string,
  key: KeyObject | string,
  members: object = {},
): string {
  const isDirect = typeof key === 'string'
  const contentKey = isDirect ? Buffer.from(key) : randomBytes(32)
  const header = encode({ alg: isDirect ? 'dir' : 'RSA-OAEP-256', enc: 'A256GCM', typ: 'JWT', ...members })
  const encryptedKey = isDirect ? '' : encode(encryptKey(key, contentKey))
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', contentKey, nonce).setAAD(Buffer.from(header))
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()])
  return [header, encryptedKey, encode(nonce), encode(ciphertext), encode(cipher.getAuthTag())].join('.')
}

function encryptKey(key: KeyObject, contentKey: Buffer): Buffer {
  return publicEncrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }, contentKey)
}
