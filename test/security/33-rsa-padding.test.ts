import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'vitest'
import { attack, describeAttacks, type Lab } from './harness/attack.js'
import { power, toBytes, toInteger } from './harness/broken-rsa.js'
import { CLAIMS, encode, forge, keyPairOf } from './harness/forge.js'
import { openAs } from './harness/keys-for.js'
import {
  createForgedBlocks,
  FORGED_PSS,
  pad,
  padPss,
  type PssOptions,
  signBlock,
  toDigestInfo,
} from './harness/rsa-padding.js'

const inputOf = (algorithm: string): string => `${encode({ alg: algorithm, typ: 'JWT' })}.${encode(CLAIMS)}`
const INPUT = inputOf('RS256')
const { privateKey } = keyPairOf('RS256')

/** Blocks that the private key really signed, and that are not what PKCS #1 v1.5 says they must be. */
async function tryBlocks(lab: Lab, blocks: readonly Buffer[]): Promise<void> {
  const verifier = await openAs(lab, 'RS256')
  // The right block, made in the same way: the others are refused for what is in them.
  await verifier.accepts(`${INPUT}.${encode(signBlock(privateKey, pad(toDigestInfo('sha256', INPUT))))}`)
  for (const block of blocks) await verifier.refuses(`${INPUT}.${encode(signBlock(privateKey, block))}`)
}

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

describeAttacks('RSA signatures with another padding (CVE-2006-4339, RFC 8017 §8.1.2, §8.2.2)', () => {
  for (const [what, blocks] of Object.entries(createForgedBlocks(INPUT))) {
    attack(`PKCS #1 v1.5: ${what}`, (lab) => tryBlocks(lab, blocks))
  }

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
    // Anyone who reads only the start of the block takes it.
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

  attack('PSS: another hash, another mask or another end', (lab) => tryPss(lab, 'PS256', FORGED_PSS))
})
