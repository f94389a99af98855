import { X509Certificate } from 'node:crypto'
import { attack, describeAttacks } from './harness/attack.js'
import { createCertificate } from './harness/certificate.js'
import { keyPairOf } from './harness/forge.js'
import { toDer } from './harness/key-texts.js'
import { tryUntold } from './harness/untold.js'

const rsa = keyPairOf('RS256')
const keys = ['RS256', 'ES256', 'ES384', 'ES512', 'EdDSA'].map((algorithm) => keyPairOf(algorithm).publicKey)
const ders = [...keys.map(toDer), rsa.publicKey.export({ format: 'der', type: 'pkcs1' })]

describeAttacks('the DER bytes of a public key used as an HMAC secret (CVE-2026-85394)', () => {
  attack('public keys of every type', (lab) => tryUntold(lab, ders))

  attack('a certificate', async (lab) => {
    await tryUntold(lab, [new X509Certificate(await createCertificate(rsa)).raw])
  })

  attack('in base64, as in a PEM file without its first and last line', async (lab) => {
    const certificate = new X509Certificate(await createCertificate(rsa)).raw
    for (const der of [...ders, certificate]) {
      const text = der.toString('base64')
      const lines = text.replaceAll(/.{64}/g, '$&\n')
      await tryUntold(lab, [text, lines, `${lines}\n`, der.toString('base64url')])
    }
  })

  attack('in hexadecimal digits', async (lab) => {
    const texts = ders.map((der) => der.toString('hex'))
    await tryUntold(lab, [...texts, ...texts.map((text) => text.toUpperCase())])
  })
})
