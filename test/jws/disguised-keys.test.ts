import type { KeyObject } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { ConfigurationError } from '../../packages/tokenlib/src/index.js'
import { keyPairFor } from '../helpers/keys.js'
import { createManager } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'

const { publicKey } = keyPairFor('ES256')
const der = (key: KeyObject): Buffer => key.export({ format: 'der', type: 'spki' })
const pem = publicKey.export({ format: 'pem', type: 'spki' }).toString()
const jwk = JSON.stringify({ keys: [publicKey.export({ format: 'jwk' })] })
const blob = 'AAAAC3NzaC1lZDI1NTE5AAAAIGmrJ0hR'.repeat(2)

// A certificate of an Ed25519 key, made for this test.
const CERTIFICATE =
  'MIIBLjCB4aADAgECAhQMoTqEDRs3PVjPPZINRxfH4Ec0gjAFBgMrZXAwDDEKMAgGA1UEAwwBYTAgFw0yNjExMTUwOTA4NThaGA8yMTI2MTAyMjA5' +
  'MDg1OFowDDEKMAgGA1UEAwwBYTAqMAUGAytlcAMhAJz69kFMiU2FgixICj5tSUsPpYptkF4pCO5roNBo8+rGo1MwUTAdBgNVHQ4EFgQUVi10Xb1o' +
  'jl829yU294aN2Dmc6wgwHwYDVR0jBBgwFoAUVi10Xb1ojl829yU294aN2Dmc6wgwDwYDVR0TAQH/BAUwAwEB/zAFBgMrZXADQQBI49zeDDzPUrAe' +
  'cM0/scbXmdLDMknRgxfh2TYEzzAwfH4pRth0GwUQlG/HwMT0Us9hgK97YOkC998cyovBvK4G'

const build = (secret: string | Buffer) => () => createManager({ JWT_SECRET_KEY: secret })

describe('a key in the place of a secret is known', () => {
  test.each<[string, string | Buffer]>([
    ['as DER', der(publicKey)],
    ['as DER in base64', der(publicKey).toString('base64')],
    [
      'as DER in base64 with the two characters \\n',
      der(publicKey).toString('base64').replace(/.{64}/, '$&\\n'),
    ],
    ['as DER in base64url', der(publicKey).toString('base64url')],
    ['as DER in hexadecimal', der(publicKey).toString('hex')],
    ['as PKCS #1 DER', keyPairFor('RS256').publicKey.export({ format: 'der', type: 'pkcs1' })],
    ['as PEM in hexadecimal', Buffer.from(pem).toString('hex')],
    ['as a JSON text that holds PEM', JSON.stringify({ key: pem })],
    ['as a certificate', Buffer.from(CERTIFICATE, 'base64')],
    ['as a certificate in base64', CERTIFICATE],
    ['as a set of JWKs', jwk],
    ['as a set of JWKs in base64', Buffer.from(jwk).toString('base64')],
    ['as a set of JWKs within a JSON text', JSON.stringify(jwk)],
    ['as a set of JWKs within a JSON text within another', JSON.stringify(JSON.stringify(jwk))],
    ['as a JWK with white space', `[{ "kty" : "EC", "x": "${blob}" }]`],
    ['as an RSA JWK', `[{"kty":"RSA","n":"${blob}"}]`],
    ['as an Ed25519 JWK', `[{"kty":"OKP","x":"${blob}"}]`],
    ['as a JWK in escapes', String.raw`[{"\u006bty":"\u0045C","x":"${blob}"}]`],
    ['as a JWK in escapes of capital digits', String.raw`[{"\u006Bty":"\u004FKP","x":"${blob}"}]`],
    [
      'as a JWK in escapes within a JSON text',
      JSON.stringify(String.raw`{"\u006bty":"\u0045C","x":"A1b2C3d4E5f6"}`),
    ],
    ['as an RSA key of SSH', `ssh-rsa ${blob} me@host`],
    ['as an Ed25519 key of SSH', `ssh-ed25519 ${blob} me@host`],
    ['as a DSA key of SSH', `ssh-dss ${blob} me@host`],
    ['as an EC key of SSH', `ecdsa-sha2-nistp256 ${blob} me@host`],
    ['as a key of SSH after options', `no-pty ssh-ed25519 ${blob}`],
    ['as a key of SSH on a second line', `# keys\nssh-ed25519 ${blob}`],
  ])('%s', (_how, secret) => {
    expect(build(secret)).toThrow(naming('ConfigurationError', 'JWT_SECRET_KEY'))
  })

  test('also where weak secrets are allowed', () => {
    const options = { JWT_SECRET_KEY: pem, JWT_ALLOW_WEAK_SECRET: true }
    expect(() => createManager(options)).toThrow(ConfigurationError)
  })
})

describe('a secret that only resembles a key is one', () => {
  test.each([
    `xssh-rsa ${blob}`,
    `ssh-rsa${blob}`,
    `ssh-xyz ${blob}`,
    `ecdsa-sha2- ${blob}`,
    `[{"kty":"oct","k":"${blob}"}]`,
    `"kty" is "EC", and other words that make this text long`,
    `a---BEGIN of a text that goes on for a while---`,
    String.raw`backslashes \\ in \u12 a text that is no \uzzzz JSON at all`,
  ])('%s', (secret) => {
    expect(build(secret)).not.toThrow()
  })
})
