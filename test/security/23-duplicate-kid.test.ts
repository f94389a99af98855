import { expect } from 'vitest'
import {
  ConfigurationError,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
} from '../../packages/tokenlib/src/index.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { forge, keyPairOf } from './harness/forge.js'
import { LONG_SECRET } from './harness/keys-for.js'

const OTHER_SECRET = Array.from(LONG_SECRET).toReversed().join('')
const create = (options: TokenConfigOptions) => new TokenManager({ config: new TokenConfig(options) })
const secretJwk = (secret: string, kid: string) => ({
  kty: 'oct',
  kid,
  k: Buffer.from(secret).toString('base64url'),
})

describeAttacks('two keys of one name (RFC 7517 §4.5)', () => {
  ownAttack('two secrets with the same kid', async () => {
    const pair = (kid: string) =>
      create({
        JWT_SECRET_KEY: secretJwk(LONG_SECRET, 'key-1'),
        JWT_PREVIOUS_SECRET_KEY: secretJwk(OTHER_SECRET, kid),
      })
    const tokens = pair('key-0')
    const token = (kid: string, key: string) => forge({ key, header: { alg: 'HS256', typ: 'JWT', kid } })
    await tokens.verify(token('key-1', LONG_SECRET))
    await tokens.verify(token('key-0', OTHER_SECRET))
    await expect(tokens.verify(token('key-1', OTHER_SECRET))).rejects.toMatchObject({
      code: 'TOKEN_SIGNATURE_INVALID',
    })
    expect(() => pair('key-1')).toThrow(ConfigurationError)
  })

  ownAttack('two public keys with the same kid', () => {
    const jwk = (algorithm: string, kid: string) => ({
      ...keyPairOf(algorithm).publicKey.export({ format: 'jwk' }),
      kid,
    })
    const pair = (kid: string, previous: 'EdDSA' | 'Ed25519') => () =>
      create({
        JWT_ALGORITHM: 'EdDSA',
        JWT_PUBLIC_KEY: jwk('EdDSA', 'key-1'),
        JWT_PREVIOUS_PUBLIC_KEY: jwk(previous, kid),
      })
    expect(pair('key-0', 'Ed25519')).not.toThrow()
    // The same key under the same name is one key.
    expect(pair('key-1', 'EdDSA')).not.toThrow()
    expect(pair('key-1', 'Ed25519')).toThrow(ConfigurationError)
  })
})
