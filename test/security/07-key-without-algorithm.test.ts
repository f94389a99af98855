import { expect } from 'vitest'
import { ConfigurationError, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import type { Algorithm, Jwk } from '../../packages/tokenlib/src/kit.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { forge, keyPairOf } from './harness/forge.js'
import { spellings } from './harness/key-texts.js'
import { forgeAs, LONG_SECRET } from './harness/keys-for.js'

const ALL: readonly Algorithm[] = [
  ...(['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
]
const jwkOf = (algorithm: Algorithm): Jwk => ({ ...keyPairOf(algorithm).publicKey.export({ format: 'jwk' }) })

describeAttacks(
  'a key that names no algorithm, and a header that does (CVE-2026-22818, CVE-2026-22817)',
  () => {
    attack('an RSA key and every algorithm but the configured one', async ({ open }) => {
      for (const algorithm of ['RS256', 'PS384'] as const) {
        const verifier = await open({ algorithm, key: jwkOf(algorithm) }, forgeAs(algorithm))
        // The other RSA algorithms are even signed with the right key.
        for (const other of ALL) if (other !== algorithm) await verifier.refuses(forgeAs(other))
        for (const key of spellings(keyPairOf(algorithm).publicKey)) await verifier.refuses(forge({ key }))
      }
    })

    attack('an elliptic curve key and every algorithm but the configured one', async ({ open }) => {
      const verifier = await open({ algorithm: 'ES256', key: jwkOf('ES256') }, forgeAs('ES256'))
      for (const other of ALL) if (other !== 'ES256') await verifier.refuses(forgeAs(other))
      for (const key of spellings(keyPairOf('ES256').publicKey)) await verifier.refuses(forge({ key }))
    })

    attack('a secret key and every algorithm but the configured one', async ({ open }) => {
      const key = { kty: 'oct', k: Buffer.from(LONG_SECRET).toString('base64url') }
      const verifier = await open({ algorithm: 'HS512', key }, forgeAs('HS512'))
      for (const other of ALL) if (other !== 'HS512') await verifier.refuses(forgeAs(other))
    })

    attack('a JWK and no algorithm anywhere but in the header', async ({ refusesKey }) => {
      for (const algorithm of ['RS256', 'ES256', 'EdDSA'] as const) {
        for (const key of spellings(keyPairOf(algorithm).publicKey)) {
          await refusesKey({ key: jwkOf(algorithm) }, forge({ key }))
        }
      }
    })

    ownAttack('a JWK that was made for another algorithm or another use', () => {
      const create = (members: object) =>
        new TokenManager({
          config: new TokenConfig({
            JWT_ALGORITHM: 'RS256',
            JWT_PUBLIC_KEY: { ...jwkOf('RS256'), ...members },
          }),
        })
      expect(() => create({ alg: 'RS256', use: 'sig', key_ops: ['verify'] })).not.toThrow()
      for (const members of [
        { alg: 'RS512' },
        { alg: 'RSA-OAEP' },
        { alg: 'HS256' },
        { alg: 'none' },
        { alg: '' },
      ]) {
        expect(() => create(members), JSON.stringify(members)).toThrow(ConfigurationError)
      }
      for (const members of [{ use: 'enc' }, { use: '' }, { key_ops: ['encrypt'] }, { key_ops: [] }]) {
        expect(() => create(members), JSON.stringify(members)).toThrow(ConfigurationError)
      }
    })

    ownAttack('a secret JWK that was made for another algorithm or another use', () => {
      const jwk = { kty: 'oct', k: Buffer.from(LONG_SECRET).toString('base64url') }
      const create = (members: object) =>
        new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: { ...jwk, ...members } }) })
      expect(() => create({ alg: 'HS256', use: 'sig', key_ops: ['sign', 'verify'] })).not.toThrow()
      for (const members of [{ alg: 'HS512' }, { alg: 'dir' }, { use: 'enc' }, { key_ops: ['encrypt'] }]) {
        expect(() => create(members), JSON.stringify(members)).toThrow(ConfigurationError)
      }
    })
  },
)
