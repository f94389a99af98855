import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { Algorithm, Jwk } from '../../packages/tokenlib/src/kit.js'
import { attack, describeAttacks, type Lab } from './harness/attack.js'
import { toBytes, toInteger } from './harness/broken-rsa.js'
import { CLAIMS, encode, flipS, keyPairOf } from './harness/forge.js'
import { toDer } from './harness/key-texts.js'
import { openAs } from './harness/keys-for.js'
import type { VerifyKey } from './harness/target.js'

const INPUT = `${encode({ alg: 'ES256', typ: 'JWT' })}.${encode(CLAIMS)}`

/** A key on a curve that no algorithm names, and tokens that it signed. */
async function tryCurve({ refusesKey }: Lab, algorithm: Algorithm, namedCurve: string): Promise<void> {
  const pair = generateKeyPairSync('ec', { namedCurve })
  const input = `${encode({ alg: algorithm, typ: 'JWT' })}.${encode(CLAIMS)}`
  const hash = `sha${algorithm.slice(2)}`
  // Every other one has a low s.
  for (let round = 0; round < 6; round++) {
    const key = { key: pair.privateKey, dsaEncoding: 'ieee-p1363' } as const
    const signature = sign(hash, Buffer.from(input), key)
    await refusesKey({ algorithm, key: pair.publicKey }, `${input}.${encode(signature)}`)
  }
}

/** A key whose curve is P-256 but for its generator, which is the key itself: its private half is the number one. */
function createOwnGenerator(): { readonly key: KeyObject; readonly x: bigint } {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256', paramEncoding: 'explicit' })
  const der = toDer(publicKey)
  const point = der.subarray(-65)
  // SEC 2 §2.4.2: the generator of P-256, of which only the start is needed to find it.
  const generator = der.indexOf(Buffer.from('046b17d1f2e12c4247f8bce6e563a440f2', 'hex'))
  point.copy(der, generator)
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' })
  return { key, x: toInteger(point.subarray(1, 33)) }
}

describeAttacks('keys on other curves (CVE-2020-0601, RFC 7518 §3.4, RFC 8812)', () => {
  attack('secp256k1 for ES256', (lab) => tryCurve(lab, 'ES256', 'secp256k1'))

  attack('other curves of the same and of smaller sizes', async (lab) => {
    for (const curve of ['brainpoolP256r1', 'secp224r1', 'prime192v1', 'sect283r1'])
      await tryCurve(lab, 'ES256', curve)
    await tryCurve(lab, 'ES384', 'brainpoolP384r1')
    await tryCurve(lab, 'ES512', 'brainpoolP512r1')
  })

  attack('P-256 with a generator of the attacker', async ({ refusesKey }) => {
    const { key, x } = createOwnGenerator()
    const order = toInteger(flipS(Buffer.alloc(64), 'ES256').subarray(32))
    const hash = toInteger(createHash('sha256').update(INPUT).digest())
    // With one as the nonce and one as the private key: r is the x of the generator, and s is hash + r.
    const r = x % order
    const signature = Buffer.concat([toBytes(r, 32), toBytes((hash + r) % order, 32)])
    for (const bytes of [signature, flipS(signature, 'ES256')]) {
      await refusesKey({ algorithm: 'ES256', key }, `${INPUT}.${encode(bytes)}`)
    }
  })

  attack('a point that is not on its curve', async ({ refusesKey }) => {
    const jwk = keyPairOf('ES256').publicKey.export({ format: 'jwk' })
    const wrong: readonly object[] = [
      { x: encode(Buffer.alloc(32)), y: encode(Buffer.alloc(32)) },
      { x: jwk.y, y: jwk.x },
      { x: encode(Buffer.alloc(32, 1)), y: encode(Buffer.alloc(32, 2)) },
      { x: encode(Buffer.alloc(32, 0xff)), y: encode(Buffer.alloc(32, 0xff)) },
      { crv: 'P-384' },
      { crv: 'secp256k1' },
      { crv: 'P-256K' },
      { crv: '' },
    ]
    const { privateKey } = keyPairOf('ES256')
    const signature = sign('sha256', Buffer.from(INPUT), { key: privateKey, dsaEncoding: 'ieee-p1363' })
    for (const members of wrong) {
      const key = { ...jwk, ...members } as Jwk as VerifyKey
      for (const bytes of [signature, flipS(signature, 'ES256'), Buffer.alloc(64)]) {
        await refusesKey({ algorithm: 'ES256', key }, `${INPUT}.${encode(bytes)}`)
      }
    }
  })

  attack('a token of ES256K', async (lab) => {
    const verifier = await openAs(lab, 'ES256')
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'secp256k1' })
    for (const alg of ['ES256K', 'ES256k', 'ESP256', 'ES256']) {
      const input = `${encode({ alg, typ: 'JWT' })}.${encode(CLAIMS)}`
      const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
      await verifier.refuses(`${input}.${encode(signature)}`)
    }
  })
})
