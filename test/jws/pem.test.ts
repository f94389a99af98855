import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { ConfigurationError, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { keyPairFor } from '../helpers/keys.js'

const { privateKey, publicKey } = keyPairFor('ES256')
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const toPem = (key: KeyObject, type: 'pkcs8' | 'spki' | 'sec1'): string =>
  key.export({ format: 'pem', type }).toString()

const SPELLINGS: readonly [string, (pem: string) => string][] = [
  ['as it is', (pem) => pem],
  ['with CRLF', (pem) => pem.replaceAll('\n', '\r\n')],
  ['with spaces for line ends', (pem) => pem.replaceAll('\n', ' ')],
  ['without line ends', (pem) => pem.replaceAll('\n', '')],
  ['with the two characters \\n', (pem) => pem.replaceAll('\n', '\\n')],
  ['with the four characters \\r\\n', (pem) => pem.replaceAll('\n', '\\r\\n')],
  ['with both kinds of line ends', (pem) => pem.replaceAll('\n', '\\n\n')],
  ['with tabs around it', (pem) => `\t${pem.replaceAll('\n', '\t')}`],
]

describe.each(SPELLINGS)('PEM text %s', (_, spell) => {
  const privatePem = spell(toPem(privateKey, 'pkcs8'))
  const publicPem = spell(toPem(publicKey, 'spki'))

  test.each([
    ['the constructor', (fields: Record<string, string>) => new TokenConfig(fields)],
    ['the environment', (fields: Record<string, string>) => TokenConfig.fromEnv(fields)],
  ])('is taken by every key field, from %s', async (_, create) => {
    const issuer = new TokenManager({
      config: create({ JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: privatePem }),
    })
    const token = issuer.createAccessToken({ uid: 'ada' })
    const verifier = new TokenManager({
      config: create({ JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: publicPem }),
    })
    await expect(verifier.verify(token)).resolves.toMatchObject({ sub: 'ada' })
    const fields = {
      JWT_ALGORITHM: 'ES256',
      JWT_PUBLIC_KEY: spell(toPem(ec.publicKey, 'spki')),
      JWT_PREVIOUS_PUBLIC_KEY: publicPem,
    }
    await expect(new TokenManager({ config: create(fields) }).verify(token)).resolves.toBeDefined()
  })

  test('is taken with another block before the key, and as the older forms', () => {
    const parameters = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n'
    const rsa = keyPairFor('RS256').privateKey.export({ format: 'pem', type: 'pkcs1' }).toString()
    const build = (JWT_ALGORITHM: 'ES256' | 'RS256', JWT_PRIVATE_KEY: string): string | null =>
      new TokenManager({ config: new TokenConfig({ JWT_ALGORITHM, JWT_PRIVATE_KEY }) }).keys.current
    expect(build('ES256', spell(parameters + toPem(privateKey, 'sec1')))).toBe(build('ES256', privatePem))
    expect(build('RS256', spell(rsa))).toBe(build('RS256', rsa))
  })

  test('of a private key is refused in the place of a public one', () => {
    const config = new TokenConfig({ JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: privatePem })
    expect(() => new TokenManager({ config })).toThrow(ConfigurationError)
  })
})

test.each([
  ['with something else in it', (pem: string) => pem.replace('M', '*')],
  ['without its end', (pem: string) => pem.slice(0, 60)],
  ['with two labels', (pem: string) => pem.replace('END PRIVATE', 'END PUBLIC')],
])('PEM text %s is refused', (_, spoil) => {
  const pem = spoil(toPem(privateKey, 'pkcs8').replaceAll('\n', ' '))
  const config = new TokenConfig({ JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: pem })
  expect(() => new TokenManager({ config })).toThrow(ConfigurationError)
})
