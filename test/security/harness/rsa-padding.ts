import { createHash, type JsonWebKey, KeyObject } from 'node:crypto'
import { power, toBytes, toInteger } from './broken-rsa.js'

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

/**
 * The private operation of RSA on a block, with no padding of its own (RFC 8017 §5.2.1).
 *
 * By arithmetic: not every runtime has `privateEncrypt` without padding.
 */
export function signBlock(key: KeyObject | JsonWebKey, block: Uint8Array): Buffer {
  const jwk = key instanceof KeyObject ? key.export({ format: 'jwk' }) : key
  const [n, p, q, dp, dq, qi] = [jwk.n, jwk.p, jwk.q, jwk.dp, jwk.dq, jwk.qi].map((member) =>
    toInteger(Buffer.from(member ?? '', 'base64url')),
  ) as [bigint, bigint, bigint, bigint, bigint, bigint]
  const message = toInteger(block)
  const [first, second] = [power(message, dp, p), power(message, dq, q)]
  const difference = ((((first - second) * qi) % p) + p) % p
  return toBytes(second + difference * q, Math.ceil(n.toString(2).length / 8))
}

/** Blocks that PKCS #1 v1.5 does not allow as the signature of `input` with SHA-256, by what is wrong with them. */
export function createForgedBlocks(input: string): Readonly<Record<string, readonly Buffer[]>> {
  const info = toDigestInfo('sha256', input)
  return {
    'garbage behind the hash': [
      ...[1, 2, 8, 64, 194].map((length) => Buffer.concat([info, Buffer.alloc(length, 0xa5)])),
      Buffer.concat([info, Buffer.alloc(8)]),
      Buffer.concat([info, info]),
    ].map((content) => pad(content)),
    'DigestInfo in other encodings': listDigestInfos(digest('sha256', input).toString('hex')).map((hex) =>
      pad(Buffer.from(hex, 'hex')),
    ),
    'another hash, or none': listOtherHashes(input).map((content) => pad(content)),
    'another filling': listOtherFillings(pad(info)),
  }
}

function listDigestInfos(hash: string): readonly string[] {
  return [
    // No parameters at all; parameters of another type, and with something in them.
    `302f300b06096086480165030402010420${hash}`,
    `3031300d060960864801650304020104000420${hash}`,
    `3031300d060960864801650304020101000420${hash}`,
    `3033300f0609608648016503040201050200000420${hash}`,
    `3039301506096086480165030402010408a5a5a5a5a5a5a5a50420${hash}`,
    // Lengths in the long form, and of no length given.
    `308131300d060960864801650304020105000420${hash}`,
    `30820031300d060960864801650304020105000420${hash}`,
    `303230810d060960864801650304020105000420${hash}`,
    `3032300d06096086480165030402010500048120${hash}`,
    `3032300e06096086480165030402010581000420${hash}`,
    `3080300d060960864801650304020105000420${hash}0000`,
    // Another tag for the sequence, for the hash, and a hash with something behind it.
    `3131300d060960864801650304020105000420${hash}`,
    `3031300d060960864801650304020105000320${hash}`,
    `3033300d060960864801650304020105000422${hash}0000`,
    `3033300d060960864801650304020105000420${hash}0500`,
  ]
}

function listOtherHashes(input: string): readonly Buffer[] {
  const hash = digest('sha256', input)
  return [
    hash,
    toDigestInfo('sha1', input),
    toDigestInfo('sha384', input),
    toDigestInfo('sha512', input),
    Buffer.concat([DIGEST_INFO['sha512'] as Buffer, hash]),
    Buffer.concat([DIGEST_INFO['sha256'] as Buffer, hash.subarray(0, 31)]),
    Buffer.concat([DIGEST_INFO['sha256'] as Buffer, Buffer.alloc(32)]),
    DIGEST_INFO['sha256'] as Buffer,
    Buffer.from(input).subarray(0, 200),
  ]
}

function listOtherFillings(right: Buffer): readonly Buffer[] {
  const change = (at: number, byte: number): Buffer => Buffer.from(right.with(at, byte))
  const separator = right.indexOf(0, 2)
  const [start, end] = [right.subarray(0, 10), right.subarray(separator)]
  return [
    ...[0, 2, 3, 0xff].map((type) => change(1, type)),
    ...[2, 3, 100, separator - 1].flatMap((at) => [0, 1, 0xfe].map((byte) => change(at, byte))),
    ...[1, 0xff].map((byte) => change(separator, byte)),
    Buffer.concat([start, end, Buffer.alloc(separator - 10)]),
    Buffer.concat([right.subarray(0, 2), end, Buffer.alloc(separator - 2)]),
    Buffer.concat([Buffer.alloc(separator - 10), start, end]),
  ]
}

/** What is wrong with PSS signatures for PS256, besides the length of the salt. */
export const FORGED_PSS: readonly PssOptions[] = [
  { hash: 'sha1' },
  { hash: 'sha512' },
  { maskHash: 'sha1' },
  { maskHash: 'sha512' },
  { separator: 0 },
  { separator: 2 },
  { separator: 0x81 },
  { trailer: 0xcc },
  { trailer: 0xbd },
  { trailer: 0 },
]

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
