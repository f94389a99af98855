import { constants, sign, verify } from 'node:crypto'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { keyPairFor } from '../helpers/keys.js'

const INPUT = Buffer.from('header.payload')
const PSS = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
const P1363 = { dsaEncoding: 'ieee-p1363' } as const

afterEach(() => {
  vi.unstubAllGlobals()
  vi.resetModules()
})

// The runtime is looked at when the module is loaded.
async function importAs(userAgent: string) {
  vi.resetModules()
  vi.stubGlobal('navigator', { userAgent })
  return import('../../src/jws/option-signatures.js')
}

describe.each(['Node.js/20', 'Cloudflare-Workers'])('on %s', (userAgent) => {
  test.each([
    ['PS256', PSS],
    ['ES256', P1363],
  ] as const)('%s signatures are those of node:crypto', async (algorithm, options) => {
    const { privateKey, publicKey } = keyPairFor(algorithm)
    const { signWithOptions, verifyWithOptions } = await importAs(userAgent)
    const theirs = sign('sha256', INPUT, { key: privateKey, ...options })
    expect(verifyWithOptions('sha256', INPUT, publicKey, options, theirs)).toBe(true)
    const ours = signWithOptions('sha256', INPUT, privateKey, options)
    expect(verify('sha256', INPUT, { key: publicKey, ...options }, ours)).toBe(true)
    expect(verifyWithOptions('sha256', Buffer.from('other.payload'), publicKey, options, ours)).toBe(false)
  })

  test('a PKCS #1 v1.5 signature does not pass for RSA-PSS', async () => {
    const { privateKey, publicKey } = keyPairFor('PS256')
    const { verifyWithOptions } = await importAs(userAgent)
    const signature = sign('sha256', INPUT, privateKey)
    expect(verifyWithOptions('sha256', INPUT, publicKey, PSS, signature)).toBe(false)
  })
})
