import {
  constants,
  createECDH,
  createHash,
  createHmac,
  type KeyObject,
  privateEncrypt,
  sign,
} from 'node:crypto'
import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import { CURVES, type CurveName, fromBytes, invert, toBytes } from './arithmetic.js'
import type { FuzzKey } from './fuzz-keys.js'

/**
 * A signature (RFC 7518 §3) that is the same every time, so that a seed alone repeats a token.
 *
 * ECDSA takes its nonce, and RSA-PSS its salt, from the key and the text. ECDSA signatures are low-s. The hash is that
 * of the algorithm and the rest follows the key, also where the two do not belong together.
 */
export function createSignature(
  algorithm: Algorithm,
  key: FuzzKey,
  input: string,
  saltLength?: number,
): Buffer {
  const hash = `sha${algorithm.slice(2)}`
  switch (key.kind) {
    case 'secret':
      return createHmac(hash, key.signing).update(input).digest()
    case 'rsa':
      return algorithm.startsWith('PS')
        ? signPss(key, hash, input, saltLength)
        : sign(hash, Buffer.from(input), key.signing)
    case 'ed25519':
      return sign(null, Buffer.from(input), key.signing)
    case 'P-256':
    case 'P-384':
    case 'P-521':
      return signEcdsa(key, CURVES[key.kind], hash, input)
  }
}

/** How many bytes a signature has. */
export function signatureSize({ algorithm, key }: { algorithm: Algorithm; key: FuzzKey }): number {
  if (key.kind === 'secret') return Number(algorithm.slice(2)) / 8
  if (key.kind === 'rsa') return RSA_SIZE
  return key.kind === 'ed25519' ? 64 : 2 * CURVES[key.kind].size
}

// FIPS 186-4 §6.4; OpenSSL makes the point, because that is slow to do in this language.
function signEcdsa(
  key: FuzzKey,
  { name, order, size }: (typeof CURVES)[CurveName],
  hash: string,
  input: string,
): Buffer {
  const secret = readPrivateNumber(key.signing)
  const digest = createHash(hash).update(input).digest()
  const excess = Math.max(0, digest.length * 8 - order.toString(2).length)
  const nonce = (fromBytes(derive(key.signing, input, size + 8)) % (order - 1n)) + 1n
  const ecdh = createECDH(name)
  ecdh.setPrivateKey(toBytes(nonce, size))
  const r = fromBytes(ecdh.getPublicKey().subarray(1, 1 + size)) % order
  const s = (invert(nonce, order) * ((fromBytes(digest) >> BigInt(excess)) + r * secret)) % order
  return Buffer.concat([toBytes(r, size), toBytes(s > order / 2n ? order - s : s, size)])
}

// RFC 8017 §8.1.1 and §9.1.1, for keys of 2048 bits.
function signPss(key: FuzzKey, hash: string, input: string, saltLength?: number): Buffer {
  const digest = createHash(hash).update(input).digest()
  const salt = derive(key.signing, input, saltLength ?? digest.length)
  const tail = createHash(hash).update(Buffer.alloc(8)).update(digest).update(salt).digest()
  const block = Buffer.alloc(RSA_SIZE - digest.length - 1)
  salt.copy(block, block.length - salt.length)
  block[block.length - salt.length - 1] = 1
  const mask = expand(hash, tail, block.length)
  for (const [at, byte] of mask.entries()) block[at] = (block[at] as number) ^ byte
  block[0] = (block[0] as number) & 0x7f
  const padded = Buffer.concat([block, tail, Buffer.of(0xbc)])
  return privateEncrypt({ key: key.signing, padding: constants.RSA_NO_PADDING }, padded)
}

const RSA_SIZE = 256

// MGF1, RFC 8017 appendix B.2.1.
function expand(hash: string, seed: Buffer, size: number): Buffer {
  const blocks: Buffer[] = []
  for (let counter = 0; blocks.length * seed.length < size; counter++) {
    const word = Buffer.alloc(4)
    word.writeUInt32BE(counter)
    blocks.push(createHash(hash).update(seed).update(word).digest())
  }
  return Buffer.concat(blocks).subarray(0, size)
}

function derive(key: KeyObject, input: string, size: number): Buffer {
  const seed = createHash('sha256')
    .update(key.export({ format: 'der', type: 'pkcs8' }))
    .update(input)
  return expand('sha256', seed.digest(), size)
}

function readPrivateNumber(key: KeyObject): bigint {
  return fromBytes(Buffer.from(String(key.export({ format: 'jwk' })['d']), 'base64url'))
}
