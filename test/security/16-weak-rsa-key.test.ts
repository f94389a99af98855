import { generateKeyPairSync } from 'node:crypto'
import type { Jwk } from '../../packages/tokenlib/src/kit.js'
import { attack, describeAttacks } from './harness/attack.js'
import { createRocaKey } from './harness/broken-rsa.js'
import { CLAIMS, encode, forge, keyPairOf } from './harness/forge.js'
import { pad, toDigestInfo } from './harness/rsa-padding.js'

describeAttacks('an RSA key that can be broken (RFC 7518 §3.3, CVE-2017-15361)', () => {
  attack('a key of fewer than 2048 bits', async ({ refusesKey }) => {
    for (const modulusLength of [1024, 2040]) {
      const { privateKey: key, publicKey } = generateKeyPairSync('rsa', { modulusLength })
      for (const algorithm of ['RS256', 'PS256'] as const) {
        await refusesKey({ algorithm, key: publicKey }, forge({ algorithm, key }))
      }
    }
  })

  attack('a public exponent of 1: every text is its own signature', async ({ refusesKey }) => {
    const { n } = keyPairOf('RS256').publicKey.export({ format: 'jwk' })
    const key: Jwk = { kty: 'RSA', n, e: 'AQ' }
    const input = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(CLAIMS)}`
    const signature = pad(toDigestInfo('sha256', input))
    await refusesKey({ algorithm: 'RS256', key }, `${input}.${encode(signature)}`)
  })

  attack('a key of the generator that ROCA broke', async ({ refusesKey }) => {
    const { privateKey: key, publicKey } = createRocaKey()
    for (const algorithm of ['RS256', 'PS256'] as const) {
      await refusesKey({ algorithm, key: publicKey }, forge({ algorithm, key }))
    }
  })
})
