import { createHash, createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import { expect } from 'vitest'
import { ConfigurationError, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { toBytes, toInteger } from './harness/broken-rsa.js'
import { CLAIMS, encode, forge, keyPairOf } from './harness/forge.js'
import { forgeAs, openAs } from './harness/keys-for.js'

// RFC 8032 §5.1: the order of the group.
const ORDER = 2n ** 252n + 27_742_317_777_372_353_535_851_937_790_883_648_493n

/** Points whose multiples are only these: of order 1, 2, 4 and 8, and spellings that the field has too much room for. */
const SMALL_ORDER = [
  '0100000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000080',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0000000000000000000000000000000000000000000000000000000000000080',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
].map((point) => Buffer.from(point, 'hex'))

const littleEndian = (value: bigint): Buffer => Buffer.from(toBytes(value, 32).toReversed())

function readSignature(token: string): { readonly r: Buffer; readonly s: bigint } {
  const bytes = Buffer.from(token.split('.')[2] ?? '', 'base64url')
  return { r: bytes.subarray(0, 32), s: toInteger(bytes.subarray(32).toReversed()) }
}

describeAttacks('EdDSA signatures with more than one form (RFC 8032 §5.1.7, RFC 9864)', () => {
  attack('S with the order added to it', async (lab) => {
    const verifier = await openAs(lab, 'EdDSA')
    const { r, s } = readSignature(forgeAs('EdDSA'))
    for (let times = 1n; s + times * ORDER < 2n ** 256n; times++) {
      await verifier.refuses(
        forgeAs('EdDSA', { signature: Buffer.concat([r, littleEndian(s + times * ORDER)]) }),
      )
    }
  })

  attack('R or S turned round', async (lab) => {
    const verifier = await openAs(lab, 'EdDSA')
    const { r, s } = readSignature(forgeAs('EdDSA'))
    const negative = Buffer.from(r.with(31, (r[31] ?? 0) ^ 0x80))
    for (const signature of [
      Buffer.concat([negative, littleEndian(s)]),
      Buffer.concat([r, littleEndian(ORDER - s)]),
      Buffer.concat([negative, littleEndian(ORDER - s)]),
      Buffer.concat([littleEndian(s), r]),
      Buffer.concat([r.toReversed(), toBytes(s, 32)]),
    ]) {
      await verifier.refuses(forgeAs('EdDSA', { signature }))
    }
  })

  attack('R of small order, and an S of zero', async (lab) => {
    const verifier = await openAs(lab, 'EdDSA')
    for (const point of SMALL_ORDER) {
      for (const s of [0n, 1n, ORDER, ORDER - 1n]) {
        await verifier.refuses(forgeAs('EdDSA', { signature: Buffer.concat([point, littleEndian(s)]) }))
      }
    }
  })

  attack('a public key of small order, which signs everything', async ({ refusesKey }) => {
    for (const point of SMALL_ORDER) {
      const key = { kty: 'OKP', crv: 'Ed25519', x: encode(point) }
      // A key of order 8 takes one token in eight.
      for (let count = 0; count < 16; count++) {
        const claims = { ...CLAIMS, jti: `token-${count}` }
        const signature = Buffer.concat([SMALL_ORDER[0] as Buffer, Buffer.alloc(32)])
        await refusesKey(
          { algorithm: 'EdDSA', key },
          forge({ header: { alg: 'EdDSA', typ: 'JWT' }, claims, signature }),
        )
      }
    }
  })

  attack('a signature of Ed448, or of a hash of the token', async (lab) => {
    const verifier = await openAs(lab, 'EdDSA')
    const input = `${encode({ alg: 'EdDSA', typ: 'JWT' })}.${encode(CLAIMS)}`
    const ed448 = sign(null, Buffer.from(input), generateKeyPairSync('ed448').privateKey)
    await verifier.refuses(`${input}.${encode(ed448)}`)
    await verifier.refuses(`${input}.${encode(ed448.subarray(0, 64))}`)
    for (const hash of ['sha256', 'sha512']) {
      const prehashed = sign(null, createHash(hash).update(input).digest(), keyPairOf('EdDSA').privateKey)
      await verifier.refuses(`${input}.${encode(prehashed)}`)
    }
  })

  attack('a key for X25519, and a signature with the same private bytes', async ({ refusesKey }) => {
    const { privateKey, publicKey } = generateKeyPairSync('x25519')
    const seed = Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url')
    const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
    const signer = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    const token = forge({ algorithm: 'EdDSA', key: signer })
    await refusesKey({ algorithm: 'EdDSA', key: publicKey }, token)
    await refusesKey({ algorithm: 'EdDSA', key: { ...publicKey.export({ format: 'jwk' }) } }, token)
  })

  ownAttack('a key of Ed448 where EdDSA means Ed25519', () => {
    const create = (kind: 'ed25519' | 'ed448', algorithm: 'EdDSA' | 'Ed25519') => () => {
      const key = kind === 'ed448' ? generateKeyPairSync('ed448').publicKey : keyPairOf('EdDSA').publicKey
      return new TokenManager({ config: new TokenConfig({ JWT_ALGORITHM: algorithm, JWT_PUBLIC_KEY: key }) })
    }
    for (const algorithm of ['EdDSA', 'Ed25519'] as const) {
      expect(create('ed25519', algorithm)).not.toThrow()
      expect(create('ed448', algorithm)).toThrow(ConfigurationError)
    }
  })

  ownAttack('the other name of the same algorithm', async () => {
    for (const [algorithm, other] of [
      ['EdDSA', 'Ed25519'],
      ['Ed25519', 'EdDSA'],
    ] as const) {
      const { privateKey: key, publicKey } = keyPairOf('EdDSA')
      const config = new TokenConfig({ JWT_ALGORITHM: algorithm, JWT_PUBLIC_KEY: publicKey })
      const tokens = new TokenManager({ config })
      await tokens.verify(forge({ algorithm, key }))
      await expect(tokens.verify(forge({ algorithm: other, key }))).rejects.toMatchObject({
        code: 'TOKEN_INVALID',
      })
    }
  })
})
