import { expect } from 'vitest'
import {
  ConfigurationError,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
} from '../../packages/tokenlib/src/index.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { forge, keyPairOf, SECRET } from './harness/forge.js'
import { forgeAs, LONG_SECRET } from './harness/keys-for.js'

const create = (options: TokenConfigOptions) => new TokenManager({ config: new TokenConfig(options) })

describeAttacks('a verifier that was told no algorithm (CVE-2020-15084)', () => {
  attack('a secret only: tokens without a signature', async ({ refusesKey }) => {
    for (const alg of ['none', 'None', 'NONE', '', null, undefined]) {
      await refusesKey({ key: SECRET }, forge({ header: { alg, typ: 'JWT' }, signature: '' }))
    }
  })

  attack('a secret only: tokens signed with a key pair of the attacker', async ({ refusesKey }) => {
    for (const algorithm of ['RS256', 'PS256', 'ES256', 'EdDSA'] as const) {
      const jwk = keyPairOf(algorithm).publicKey.export({ format: 'jwk' })
      await refusesKey({ key: SECRET }, forgeAs(algorithm))
      await refusesKey({ key: SECRET }, forgeAs(algorithm, { header: { alg: algorithm, typ: 'JWT', jwk } }))
    }
  })

  attack('a public key only: tokens without a signature', async ({ refusesKey }) => {
    for (const algorithm of ['RS256', 'ES256', 'EdDSA'] as const) {
      const key = keyPairOf(algorithm).publicKey
      await refusesKey({ key }, forge({ header: { alg: 'none', typ: 'JWT' }, signature: '' }))
      await refusesKey({ key }, forge({ header: { typ: 'JWT' }, signature: '' }))
    }
  })

  ownAttack('no algorithm means HS256, and not every HMAC', async () => {
    const tokens = create({ JWT_SECRET_KEY: LONG_SECRET })
    await tokens.verify(forgeAs('HS256'))
    for (const algorithm of ['HS384', 'HS512'] as const) {
      await expect(tokens.verify(forgeAs(algorithm))).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    }
  })

  ownAttack('an empty list, a wildcard or "none" as algorithm', () => {
    const options = (algorithm: unknown) => ({
      JWT_SECRET_KEY: LONG_SECRET,
      JWT_ALGORITHM: algorithm as 'HS256',
    })
    const also = (algorithms: unknown) => ({
      JWT_SECRET_KEY: LONG_SECRET,
      JWT_DECODE_ALGORITHMS: algorithms as ['HS256'],
    })
    expect(() => create(options('HS384'))).not.toThrow()
    expect(() => create(also(['HS384']))).not.toThrow()
    for (const wrong of ['none', 'None', '*', '', 'HS', 'all', [], ['HS256', 'none'], [''], 0, false]) {
      expect(() => create(options(wrong)), `algorithm ${JSON.stringify(wrong)}`).toThrow(ConfigurationError)
      expect(() => create(also(wrong)), `also ${JSON.stringify(wrong)}`).toThrow(ConfigurationError)
    }
  })

  ownAttack('a public key only: no algorithm is read from it', () => {
    const { publicKey } = keyPairOf('RS256')
    expect(() => create({ JWT_ALGORITHM: 'RS256', JWT_PUBLIC_KEY: publicKey })).not.toThrow()
    expect(() => create({ JWT_PUBLIC_KEY: publicKey })).toThrow(ConfigurationError)
  })
})
