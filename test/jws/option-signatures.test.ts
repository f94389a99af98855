import { constants, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { signWithOptions, verifyWithOptions } from '../../packages/tokenlib/src/tokens/algorithms.js'
import { type KeyPair, keyPairFor } from '../helpers/keys.js'

const INPUT = Buffer.from('header.payload')
const PSS = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
const P1363 = { dsaEncoding: 'ieee-p1363' } as const

// On workerd the text of a key is kept with the key: these are keys that nobody has used.
const copyPair = ({ privateKey, publicKey }: KeyPair): KeyPair => ({
  privateKey: createPrivateKey(privateKey.export({ format: 'pem', type: 'pkcs8' })),
  publicKey: createPublicKey(publicKey.export({ format: 'pem', type: 'spki' })),
})

describe.each([
  ['Node', false],
  ['workerd', true],
])('on %s', (_name, isWorkerd) => {
  test.each([
    ['PS256', PSS],
    ['ES256', P1363],
  ] as const)('%s signatures are those of node:crypto', (algorithm, options) => {
    const { privateKey, publicKey } = copyPair(keyPairFor(algorithm))
    const theirs = sign('sha256', INPUT, { key: privateKey, ...options })
    expect(verifyWithOptions('sha256', INPUT, publicKey, options, theirs, isWorkerd)).toBe(true)
    const ours = signWithOptions('sha256', INPUT, privateKey, options, isWorkerd)
    expect(verify('sha256', INPUT, { key: publicKey, ...options }, ours)).toBe(true)
    expect(verifyWithOptions('sha256', INPUT, publicKey, options, ours, isWorkerd)).toBe(true)
    expect(
      verifyWithOptions('sha256', Buffer.from('other.payload'), publicKey, options, ours, isWorkerd),
    ).toBe(false)
  })

  test('a PKCS #1 v1.5 signature does not pass for RSA-PSS', () => {
    const { privateKey, publicKey } = keyPairFor('PS256')
    const signature = sign('sha256', INPUT, privateKey)
    expect(verifyWithOptions('sha256', INPUT, publicKey, PSS, signature, isWorkerd)).toBe(false)
  })
})
