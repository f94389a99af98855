import { constants, createHash, type KeyObject, privateEncrypt } from 'node:crypto'

/** The hash of a text. */
export function digest(hash: string, input: string): Buffer {
  return createHash(hash).update(input).digest()
}

/** DigestInfo up to the hash itself (RFC 8017 §9.2, note 1). */
export const DIGEST_INFO: Readonly<Record<string, Buffer>> = {
  sha1: Buffer.from('3021300906052b0e03021a05000414', 'hex'),
  sha256: Buffer.from('3031300d060960864801650304020105000420', 'hex'),
  sha384: Buffer.from('3041300d060960864801650304020205000430', 'hex'),
  sha512: Buffer.from('3051300d060960864801650304020305000440', 'hex'),
}

/** The DigestInfo of a text. */
export function toDigestInfo(hash: string, input: string): Buffer {
  return Buffer.concat([DIGEST_INFO[hash] as Buffer, digest(hash, input)])
}

/** What PKCS #1 v1.5 signs: 00 01, as many FF as fit, 00, and the content (RFC 8017 §9.2). */
export function pad(content: Uint8Array, size = 256): Buffer {
  const filling = Buffer.alloc(size - content.length - 3, 0xff)
  return Buffer.concat([Buffer.from([0, 1]), filling, Buffer.from([0]), content])
}

/** The private operation of RSA on a block, with no padding of its own. */
export function signBlock(key: KeyObject, block: Uint8Array): Buffer {
  return privateEncrypt({ key, padding: constants.RSA_NO_PADDING }, block)
}

/** What a PSS block is made of (RFC 8017 §9.1.1); what is left out is as RFC 7518 §3.5 wants it. */
export interface PssOptions {
  readonly hash?: string
  readonly maskHash?: string
  readonly salt?: Uint8Array
  readonly separator?: number
  readonly trailer?: number
}

/** What PSS signs, for a key of 2048 bits. */
export function padPss(input: string, options: PssOptions = {}): Buffer {
  const {
    hash = 'sha256',
    maskHash = hash,
    salt = Buffer.alloc(32, 7),
    separator = 1,
    trailer = 0xbc,
  } = options
  const inner = createHash(hash).update(Buffer.alloc(8)).update(digest(hash, input)).update(salt).digest()
  const length = 256 - inner.length - 1
  const data = Buffer.alloc(length)
  data[length - salt.length - 1] = separator
  data.set(salt, length - salt.length)
  const mask = createMask(maskHash, inner, length)
  const masked = data.map((byte, at) => byte ^ (mask[at] ?? 0))
  // The first bit of the block stays zero, as the modulus is 2048 bits long.
  masked[0] = (masked[0] ?? 0) & 0x7f
  return Buffer.concat([masked, inner, Buffer.from([trailer])])
}

// MGF1 (RFC 8017 §B.2.1).
function createMask(hash: string, seed: Uint8Array, length: number): Buffer {
  const blocks: Buffer[] = []
  for (let counter = 0; Buffer.concat(blocks).length < length; counter++) {
    const suffix = Buffer.alloc(4)
    suffix.writeUInt32BE(counter)
    blocks.push(createHash(hash).update(seed).update(suffix).digest())
  }
  return Buffer.concat(blocks).subarray(0, length)
}
