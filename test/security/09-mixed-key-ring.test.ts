import { expect } from 'vitest'
import {
  ConfigurationError,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
} from '../../packages/tokenlib/src/index.js'
import type { Jwk } from '../../packages/tokenlib/src/kit.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { forge, keyPairOf } from './harness/forge.js'
import { spellings } from './harness/key-texts.js'
import { forgeAs, LONG_SECRET } from './harness/keys-for.js'

const withKid = (algorithm: 'RS256' | 'ES256', kid: string): Jwk => ({
  ...keyPairOf(algorithm).publicKey.export({ format: 'jwk' }),
  kid,
})
const create = (options: TokenConfigOptions) => new TokenManager({ config: new TokenConfig(options) })

describeAttacks('the kid of one key with the algorithm of another (CVE-2021-46743, CVE-2026-84185)', () => {
  attack('the kid of an RSA key in an HMAC token', async ({ open }) => {
    const honest = forgeAs('RS256', { header: { alg: 'RS256', typ: 'JWT', kid: 'rsa-1' } })
    const verifier = await open({ algorithm: 'RS256', key: withKid('RS256', 'rsa-1') }, honest)
    for (const key of [
      ...spellings(keyPairOf('RS256').publicKey),
      'rsa-1',
      JSON.stringify(withKid('RS256', 'rsa-1')),
    ]) {
      for (const algorithm of ['HS256', 'HS384', 'HS512']) {
        await verifier.refuses(
          forge({ algorithm, key, header: { alg: algorithm, typ: 'JWT', kid: 'rsa-1' } }),
        )
      }
    }
  })

  ownAttack('the kid of an elliptic curve key in an RSA token, where both keys are known', async () => {
    const tokens = create({
      JWT_ALGORITHM: 'ES256',
      JWT_DECODE_ALGORITHMS: ['RS256'],
      JWT_PUBLIC_KEY: withKid('ES256', 'ec-1'),
      JWT_PREVIOUS_PUBLIC_KEY: withKid('RS256', 'rsa-1'),
    })
    const token = (algorithm: 'RS256' | 'ES256', kid: string) =>
      forgeAs(algorithm, { header: { alg: algorithm, typ: 'JWT', kid } })
    await tokens.verify(token('ES256', 'ec-1'))
    await tokens.verify(token('RS256', 'rsa-1'))
    for (const forged of [token('RS256', 'ec-1'), token('ES256', 'rsa-1')]) {
      await expect(tokens.verify(forged)).rejects.toMatchObject({ code: 'TOKEN_SIGNATURE_INVALID' })
    }
  })

  ownAttack('secrets and public keys in one ring', () => {
    const keys = {
      JWT_SECRET_KEY: LONG_SECRET,
      JWT_PUBLIC_KEY: keyPairOf('RS256').publicKey,
    } as const
    const mix = (algorithm: 'HS256' | 'RS256', also: 'HS512' | 'RS512') => () =>
      create({ ...keys, JWT_ALGORITHM: algorithm, JWT_DECODE_ALGORITHMS: [also] })
    expect(mix('HS256', 'HS512')).not.toThrow()
    expect(mix('RS256', 'RS512')).not.toThrow()
    expect(mix('HS256', 'RS512')).toThrow(ConfigurationError)
    expect(mix('RS256', 'HS512')).toThrow(ConfigurationError)
  })

  ownAttack('a secret next to the public keys does not verify', async () => {
    const tokens = create({
      JWT_ALGORITHM: 'RS256',
      JWT_SECRET_KEY: LONG_SECRET,
      JWT_PUBLIC_KEY: keyPairOf('RS256').publicKey,
    })
    await tokens.verify(forgeAs('RS256'))
    await expect(tokens.verify(forgeAs('HS256'))).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  })
})
