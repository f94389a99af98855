import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { expect } from 'vitest'
import { ConfigurationError, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import { attack, describeAttacks, type Lab, ownAttack } from './harness/attack.js'
import { CLAIMS, encode, flipS, forge, keyPairOf } from './harness/forge.js'
import { toDer } from './harness/key-texts.js'

interface KeyPair {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}
const ecPair = (namedCurve: string): KeyPair => generateKeyPairSync('ec', { namedCurve })
const dsa: KeyPair = generateKeyPairSync('dsa', { modulusLength: 1024, divisorLength: 160 })

/** A token that an algorithm would accept if it asked the key what to do with it. */
async function tryKey({ refusesKey }: Lab, algorithm: Algorithm, pair: KeyPair): Promise<void> {
  const input = `${encode({ alg: algorithm, typ: 'JWT' })}.${encode(CLAIMS)}`
  const data = Buffer.from(input)
  const hash = algorithm.startsWith('Ed') ? null : `sha${algorithm.slice(2)}`
  const der = sign(hash, data, pair.privateKey)
  const sideBySide = sign(hash, data, { key: pair.privateKey, dsaEncoding: 'ieee-p1363' })
  for (const signature of [der, sideBySide]) {
    await refusesKey({ algorithm, key: pair.publicKey }, `${input}.${encode(signature)}`)
  }
}

/** The same RSA key, marked for PSS only (RFC 4055 §1.2). */
function toPssKey(key: KeyObject): KeyObject {
  const body = toDer(key).subarray(19)
  const identifier = Buffer.from('300b06092a864886f70d01010a', 'hex')
  const start = Buffer.from([0x30, 0x82, 0, 0])
  start.writeUInt16BE(identifier.length + body.length, 2)
  return createPublicKey({ key: Buffer.concat([start, identifier, body]), format: 'der', type: 'spki' })
}

describeAttacks('a key of the wrong type for the algorithm (CVE-2022-23539)', () => {
  attack('a DSA key for RSA algorithms', async (lab) => {
    for (const algorithm of ['RS256', 'RS384', 'RS512'] as const) await tryKey(lab, algorithm, dsa)
  })

  attack('an elliptic curve key for RSA algorithms', async (lab) => {
    for (const algorithm of ['RS256', 'RS512', 'PS256'] as const)
      await tryKey(lab, algorithm, ecPair('P-256'))
  })

  attack('an RSA or DSA key for ECDSA algorithms', async (lab) => {
    for (const algorithm of ['ES256', 'ES384', 'ES512'] as const) {
      await tryKey(lab, algorithm, keyPairOf('RS256'))
      await tryKey(lab, algorithm, dsa)
    }
  })

  attack('a key on the curve of another ECDSA algorithm', async ({ refusesKey }) => {
    for (const algorithm of ['ES256', 'ES384', 'ES512'] as const) {
      for (const owner of ['ES256', 'ES384', 'ES512'] as const) {
        if (owner === algorithm) continue
        const { privateKey: key, publicKey } = keyPairOf(owner)
        const input = `${encode({ alg: algorithm, typ: 'JWT' })}.${encode(CLAIMS)}`
        const hash = `sha${algorithm.slice(2)}`
        const signature = sign(hash, Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
        for (const bytes of [signature, flipS(signature, owner)]) {
          await refusesKey({ algorithm, key: publicKey }, `${input}.${encode(bytes)}`)
        }
      }
    }
  })

  attack('an RSA key made for PSS only, used for PKCS #1 v1.5', async ({ refusesKey }) => {
    const { privateKey, publicKey } = keyPairOf('RS256')
    for (const algorithm of ['RS256', 'RS384', 'RS512'] as const) {
      await refusesKey({ algorithm, key: toPssKey(publicKey) }, forge({ algorithm, key: privateKey }))
    }
  })

  ownAttack('every algorithm with every kind of key', () => {
    const pss = {
      modulusLength: 2048,
      hashAlgorithm: 'sha256',
      mgf1HashAlgorithm: 'sha256',
      saltLength: 32 as never,
    }
    const kinds: Readonly<Record<string, readonly [key: KeyObject, fits: readonly Algorithm[]]>> = {
      rsa: [keyPairOf('RS256').publicKey, ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']],
      rsaPss: [generateKeyPairSync('rsa-pss', pss).publicKey, ['PS256']],
      dsa: [dsa.publicKey, []],
      p256: [keyPairOf('ES256').publicKey, ['ES256']],
      p384: [keyPairOf('ES384').publicKey, ['ES384']],
      p521: [keyPairOf('ES512').publicKey, ['ES512']],
      secp256k1: [ecPair('secp256k1').publicKey, []],
      ed25519: [keyPairOf('EdDSA').publicKey, ['EdDSA', 'Ed25519']],
      ed448: [generateKeyPairSync('ed448').publicKey, []],
      x25519: [generateKeyPairSync('x25519').publicKey, []],
    }
    for (const [kind, [key, fits]] of Object.entries(kinds)) {
      for (const algorithm of ALL) {
        const field = algorithm.startsWith('HS') ? 'JWT_SECRET_KEY' : 'JWT_PUBLIC_KEY'
        const create = () =>
          new TokenManager({ config: new TokenConfig({ JWT_ALGORITHM: algorithm, [field]: key }) })
        const expectation = expect(create, `${kind} for ${algorithm}`)
        if (fits.includes(algorithm)) expectation.not.toThrow()
        else expectation.toThrow(ConfigurationError)
      }
    }
  })
})

const ALL: readonly Algorithm[] = [
  ...(['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
]
