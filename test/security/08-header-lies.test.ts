import { sign } from 'node:crypto'
import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import { attack, describeAttacks, type Lab } from './harness/attack.js'
import { CLAIMS, encode, flipS, forge, keyPairOf } from './harness/forge.js'
import { keysFor, openAs } from './harness/keys-for.js'

/** Tokens whose header names the verifier's algorithm, signed with the same key by another one. */
async function tryLies(lab: Lab, algorithms: readonly Algorithm[]): Promise<void> {
  for (const algorithm of algorithms) {
    const verifier = await openAs(lab, algorithm)
    for (const other of algorithms) {
      if (other === algorithm) continue
      const { signKey: key } = keysFor(algorithm)
      await verifier.refuses(forge({ algorithm: other, key, header: { alg: algorithm, typ: 'JWT' } }))
      // And one that says what it is: the list of allowed algorithms decides, not the header.
      await verifier.refuses(forge({ algorithm: other, key }))
    }
  }
}

describeAttacks('a header that names one algorithm, and a signature by another (CVE-2026-48523)', () => {
  attack('one hash for another in HMAC', (lab) => tryLies(lab, ['HS256', 'HS384', 'HS512']))

  attack('one hash for another, one padding for another in RSA', (lab) =>
    tryLies(lab, ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']),
  )

  attack('one hash for another in ECDSA', async (lab) => {
    const hashes = { ES256: 'sha256', ES384: 'sha384', ES512: 'sha512' } as const
    for (const algorithm of ['ES256', 'ES384', 'ES512'] as const) {
      const verifier = await openAs(lab, algorithm)
      const key = keyPairOf(algorithm).privateKey
      const input = `${encode({ alg: algorithm, typ: 'JWT' })}.${encode(CLAIMS)}`
      for (const hash of ['sha1', 'sha256', 'sha384', 'sha512', 'sha3-256']) {
        if (hash === hashes[algorithm]) continue
        const signature = sign(hash, Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
        // One of the two has a low s: it is refused for its hash and for nothing else.
        await verifier.refuses(`${input}.${encode(signature)}`)
        await verifier.refuses(`${input}.${encode(flipS(signature, algorithm))}`)
      }
    }
  })

  attack('an RSA signature over SHA-1, MD5 or nothing', async (lab) => {
    const verifier = await openAs(lab, 'RS256')
    const key = keyPairOf('RS256').privateKey
    const input = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(CLAIMS)}`
    for (const hash of ['sha1', 'md5', 'sha224', 'ripemd160', 'sha512-256', 'sha3-256']) {
      await verifier.refuses(`${input}.${encode(sign(hash, Buffer.from(input), key))}`)
    }
  })
})
