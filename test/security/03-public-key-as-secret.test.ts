import { X509Certificate } from 'node:crypto'
import { expect } from 'vitest'
import { ConfigurationError, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { attack, describeAttacks, type Lab, ownAttack } from './harness/attack.js'
import { createCertificate } from './harness/certificate.js'
import { forge, keyPairOf } from './harness/forge.js'
import { spellings, toDer, toJwkText, toPem, toPkcs1Pem, toSshLine } from './harness/key-texts.js'
import { LONG_SECRET, openAs } from './harness/keys-for.js'
import { tryUntold } from './harness/untold.js'

const rsa = keyPairOf('RS256')
const ec = keyPairOf('ES256')
const ed = keyPairOf('EdDSA')
const publicKeys = [rsa.publicKey, ec.publicKey, ed.publicKey]

/** HMAC tokens made with what everyone knows, a public key, for a verifier that holds that key. */
async function tryPublicKey(lab: Lab, verifierOf: 'RS256' | 'PS256' | 'ES256' | 'EdDSA'): Promise<void> {
  const verifier = await openAs(lab, verifierOf)
  for (const key of spellings(keyPairOf(verifierOf).publicKey)) {
    for (const algorithm of ['HS256', 'HS384', 'HS512']) {
      await verifier.refuses(forge({ algorithm, key }))
      await verifier.refuses(forge({ algorithm, key, header: { alg: verifierOf, typ: 'JWT' } }))
    }
  }
}

describeAttacks('a public key used as an HMAC secret (CVE-2015-9235, CVE-2016-10555, CVE-2022-29217)', () => {
  attack('HMAC tokens made with the public key of an RSA verifier', async (lab) => {
    await tryPublicKey(lab, 'RS256')
    await tryPublicKey(lab, 'PS256')
  })

  attack('HMAC tokens made with the public key of an ECDSA verifier', (lab) => tryPublicKey(lab, 'ES256'))

  attack('HMAC tokens made with the public key of an EdDSA verifier', (lab) => tryPublicKey(lab, 'EdDSA'))

  attack('a public key object and no algorithm', async ({ refusesKey }) => {
    for (const key of publicKeys) {
      for (const secret of spellings(key)) await refusesKey({ key }, forge({ key: secret }))
    }
  })

  attack('a public key in PEM and no algorithm', (lab) =>
    tryUntold(lab, [...publicKeys.map(toPem), toPkcs1Pem(rsa.publicKey)]),
  )

  attack('a certificate in PEM and no algorithm', async (lab) =>
    tryUntold(lab, [await createCertificate(rsa)]),
  )

  attack('a public key in the form of SSH and no algorithm', async (lab) => {
    const lines = publicKeys.map(toSshLine)
    await tryUntold(lab, [
      ...lines,
      ...lines.map((line) => `${line}\n`),
      ...lines.map((line) => `# laptop\n${line}`),
      ...lines.map((line) => line.split(' ').slice(0, 2).join(' ')),
      ...lines.map((line) => `restrict,command="/bin/true" ${line}`),
    ])
  })

  attack('a public key in PEM put where the HS256 secret belongs', async ({ refusesKey }) => {
    for (const key of [...publicKeys.map(toPem), toPkcs1Pem(rsa.publicKey)]) {
      await refusesKey({ algorithm: 'HS256', key }, forge({ key }))
    }
  })

  attack('a public key in another form put where the HS256 secret belongs', async ({ refusesKey }) => {
    const certificate = await createCertificate(rsa)
    const texts = publicKeys.flatMap((key) => [toSshLine(key), toJwkText(key)])
    const bytes = [...publicKeys.map(toDer), new X509Certificate(certificate).raw]
    for (const key of [certificate, ...texts, ...bytes]) {
      await refusesKey({ algorithm: 'HS256', key }, forge({ key }))
    }
  })

  ownAttack('a verifier of RS256 that is talked into HS256 as well', () => {
    const create = (also: 'RS512' | 'HS256') =>
      new TokenManager({
        config: new TokenConfig({
          JWT_ALGORITHM: 'RS256',
          JWT_DECODE_ALGORITHMS: [also],
          JWT_PUBLIC_KEY: rsa.publicKey,
          JWT_SECRET_KEY: LONG_SECRET,
        }),
      })
    expect(() => create('RS512')).not.toThrow()
    expect(() => create('HS256')).toThrow(ConfigurationError)
  })
})
