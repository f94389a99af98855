import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'vitest'
import { attack, describeAttacks, type Lab } from './harness/attack.js'
import { power, toBytes, toInteger } from './harness/broken-rsa.js'
import { CLAIMS, encode, forge, keyPairOf } from './harness/forge.js'
import { openAs } from './harness/keys-for.js'
import {
  DIGEST_INFO,
  digest,
  pad,
  padPss,
  type PssOptions,
  signBlock,
  toDigestInfo,
} from './harness/rsa-padding.js'

const inputOf = (algorithm: string): string => `${encode({ alg: algorithm, typ: 'JWT' })}.${encode(CLAIMS)}`
const INPUT = inputOf('RS256')
const HASH = digest('sha256', INPUT)
const HEX = HASH.toString('hex')
const { privateKey } = keyPairOf('RS256')

/** Blocks that the private key really signed, and that are not what PKCS #1 v1.5 says they must be. */
async function tryBlocks(lab: Lab, blocks: readonly Buffer[]): Promise<void> {
  const verifier = await openAs(lab, 'RS256')
  // The right block, made in the same way: the others are refused for what is in them.
  await verifier.accepts(`${INPUT}.${encode(signBlock(privateKey, pad(toDigestInfo('sha256', INPUT))))}`)
  for (const block of blocks) await verifier.refuses(`${INPUT}.${encode(signBlock(privateKey, block))}`)
}

const tryDigestInfos = (lab: Lab, infos: readonly string[]): Promise<void> =>
  tryBlocks(
    lab,
    infos.map((info) => pad(Buffer.from(info, 'hex'))),
  )

async function tryPss(
  lab: Lab,
  algorithm: 'PS256' | 'PS384' | 'PS512',
  variants: readonly PssOptions[],
): Promise<void> {
  const verifier = await openAs(lab, algorithm)
  const hash = `sha${algorithm.slice(2)}`
  const input = inputOf(algorithm)
  const right: PssOptions = { hash, salt: Buffer.alloc(Number(algorithm.slice(2)) / 8, 7) }
  const token = (options: PssOptions): string =>
    `${input}.${encode(signBlock(privateKey, padPss(input, { ...right, ...options })))}`
  await verifier.accepts(token({}))
  for (const options of variants) await verifier.refuses(token(options))
}

/** The largest integer whose cube is no larger. */
function cubeRoot(value: bigint): bigint {
  let low = 0n
  let high = 1n << BigInt(Math.ceil(value.toString(2).length / 3) + 1)
  while (high - low > 1n) {
    const middle = (low + high) >> 1n
    if (middle ** 3n <= value) low = middle
    else high = middle
  }
  return low
}

describeAttacks('ATK-33 RSA signatures with another padding (CVE-2006-4339, RFC 8017 §8.1.2, §8.2.2)', () => {
  attack('PKCS #1 v1.5: garbage behind the hash', (lab) => {
    const info = toDigestInfo('sha256', INPUT)
    const garbage = [1, 2, 8, 64, 194].map((length) => Buffer.concat([info, Buffer.alloc(length, 0xa5)]))
    return tryBlocks(
      lab,
      [...garbage, Buffer.concat([info, Buffer.alloc(8)]), Buffer.concat([info, info])].map((it) => pad(it)),
    )
  })

  attack('PKCS #1 v1.5: DigestInfo in other encodings', (lab) =>
    tryDigestInfos(lab, [
      // No parameters at all; parameters of another type, and with something in them.
      `302f300b06096086480165030402010420${HEX}`,
      `3031300d060960864801650304020104000420${HEX}`,
      `3031300d060960864801650304020101000420${HEX}`,
      `3033300f0609608648016503040201050200000420${HEX}`,
      `3039301506096086480165030402010408a5a5a5a5a5a5a5a50420${HEX}`,
      // Lengths in the long form, and of no length given.
      `308131300d060960864801650304020105000420${HEX}`,
      `30820031300d060960864801650304020105000420${HEX}`,
      `303230810d060960864801650304020105000420${HEX}`,
      `3032300d06096086480165030402010500048120${HEX}`,
      `3032300e06096086480165030402010581000420${HEX}`,
      `3080300d060960864801650304020105000420${HEX}0000`,
      // Another tag for the sequence, for the hash, and a hash with something behind it.
      `3131300d060960864801650304020105000420${HEX}`,
      `3031300d060960864801650304020105000320${HEX}`,
      `3033300d060960864801650304020105000422${HEX}0000`,
      `3033300d060960864801650304020105000420${HEX}0500`,
    ]),
  )

  attack('PKCS #1 v1.5: another hash, or none', (lab) =>
    tryBlocks(lab, [
      pad(HASH),
      pad(toDigestInfo('sha1', INPUT)),
      pad(toDigestInfo('sha384', INPUT)),
      pad(toDigestInfo('sha512', INPUT)),
      pad(Buffer.concat([DIGEST_INFO['sha512'] as Buffer, HASH])),
      pad(Buffer.concat([DIGEST_INFO['sha256'] as Buffer, HASH.subarray(0, 31)])),
      pad(Buffer.concat([DIGEST_INFO['sha256'] as Buffer, Buffer.alloc(32)])),
      pad(DIGEST_INFO['sha256'] as Buffer),
      pad(Buffer.from(INPUT).subarray(0, 200)),
    ]),
  )

  attack('PKCS #1 v1.5: another filling', (lab) => {
    const right = pad(toDigestInfo('sha256', INPUT))
    const change = (at: number, byte: number): Buffer => Buffer.from(right.with(at, byte))
    const separator = right.indexOf(0, 2)
    const short = Buffer.concat([
      right.subarray(0, 10),
      right.subarray(separator),
      Buffer.alloc(separator - 10),
    ])
    const none = Buffer.concat([right.subarray(0, 2), right.subarray(separator), Buffer.alloc(separator - 2)])
    return tryBlocks(lab, [
      ...[0, 2, 3, 0xff].map((type) => change(1, type)),
      ...[2, 3, 100, separator - 1].flatMap((at) => [0, 1, 0xfe].map((byte) => change(at, byte))),
      ...[1, 0xff].map((byte) => change(separator, byte)),
      short,
      none,
      Buffer.concat([Buffer.alloc(separator - 10), right.subarray(0, 10), right.subarray(separator)]),
    ])
  })

  attack('PKCS #1 v1.5: a cube root instead of a private key', async ({ open }) => {
    const pair = generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 })
    const verifier = await open(
      { algorithm: 'RS256', key: pair.publicKey },
      forge({ algorithm: 'RS256', key: pair.privateKey }),
    )
    const start = Buffer.concat([
      Buffer.from(`0001${'ff'.repeat(8)}00`, 'hex'),
      toDigestInfo('sha256', INPUT),
    ])
    const room = 8 * (256 - start.length)
    const root = cubeRoot(((toInteger(start) + 1n) << BigInt(room)) - 1n)
    // Whoever reads only the start of the block takes it.
    const modulus = toInteger(Buffer.from(pair.publicKey.export({ format: 'jwk' }).n ?? '', 'base64url'))
    expect(toBytes(power(root, 3n, modulus), 256).subarray(0, start.length)).toStrictEqual(start)
    await verifier.refuses(`${INPUT}.${encode(toBytes(root, 256))}`)
  })

  attack('the same signature as another number', async (lab) => {
    const jwk = keyPairOf('RS256').publicKey.export({ format: 'jwk' })
    const modulus = toInteger(Buffer.from(jwk.n ?? '', 'base64url'))
    for (const algorithm of ['RS256', 'PS256'] as const) {
      const verifier = await openAs(lab, algorithm)
      const input = inputOf(algorithm)
      const block = algorithm === 'RS256' ? pad(toDigestInfo('sha256', input)) : padPss(input)
      const signature = signBlock(privateKey, block)
      const value = toInteger(signature)
      for (const other of [
        value + modulus,
        value + 2n * modulus,
        modulus - value,
        0n,
        1n,
        modulus - 1n,
        modulus,
      ]) {
        await verifier.refuses(`${input}.${encode(toBytes(other, 256))}`)
        await verifier.refuses(`${input}.${encode(toBytes(other, 257))}`)
      }
      await verifier.refuses(`${input}.${encode(Buffer.concat([Buffer.alloc(1), signature]))}`)
    }
  })

  attack('PSS: a salt of another length', async (lab) => {
    const salts = (lengths: readonly number[]) => lengths.map((length) => ({ salt: Buffer.alloc(length, 7) }))
    await tryPss(lab, 'PS256', salts([0, 1, 20, 31, 33, 48, 64, 222]))
    await tryPss(lab, 'PS384', salts([0, 20, 32, 47, 49, 64, 206]))
    await tryPss(lab, 'PS512', salts([0, 20, 32, 48, 63, 65, 190]))
  })

  attack('PSS: another hash, another mask or another end', (lab) =>
    tryPss(lab, 'PS256', [
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
    ]),
  )
})
