import { generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto'
import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import { attack, describeAttacks, type Lab } from './harness/attack.js'
import { createCertificate } from './harness/certificate.js'
import { CLAIMS, encode, forge, SECRET } from './harness/forge.js'
import { openAs } from './harness/keys-for.js'

const attackers: Readonly<Record<string, { readonly privateKey: KeyObject; readonly publicKey: KeyObject }>> =
  {
    RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    EdDSA: generateKeyPairSync('ed25519'),
  }

/** Tokens of the attacker that bring the key to verify them with, in all the ways that a key can be named. */
async function tryEmbedded(lab: Lab, algorithm: Algorithm): Promise<void> {
  const verifier = await openAs(lab, algorithm)
  const { privateKey: key, publicKey } = pairOf(algorithm)
  const jwk = publicKey.export({ format: 'jwk' })
  const headers = [
    { jwk },
    { jwk: { ...jwk, kid: 'mine', alg: algorithm, use: 'sig' }, kid: 'mine' },
    { jwk: JSON.stringify(jwk) },
    { jwk: encode(jwk) },
    { jwks: { keys: [jwk] } },
    { key: publicKey.export({ format: 'pem', type: 'spki' }) },
    { kid: publicKey.export({ format: 'pem', type: 'spki' }) },
    { kid: JSON.stringify(jwk) },
  ]
  for (const members of headers) {
    const header = { alg: algorithm, typ: 'JWT', ...members }
    await verifier.refuses(forge({ algorithm, key, header }))
  }
}

describeAttacks('a token that brings its own key (CVE-2018-0114, CVE-2026-27962)', () => {
  attack('an RSA key in the header', (lab) => tryEmbedded(lab, 'RS256'))

  attack('an elliptic curve key in the header', (lab) => tryEmbedded(lab, 'ES256'))

  attack('an Ed25519 key in the header', (lab) => tryEmbedded(lab, 'EdDSA'))

  attack('a secret in the header', async ({ open }) => {
    const verifier = await open({ algorithm: 'HS256', key: SECRET }, forge())
    const key = Buffer.alloc(32, 'attacker')
    for (const jwk of [
      { kty: 'oct', k: encode(key) },
      { kty: 'oct', k: encode(key), alg: 'HS256', use: 'sig' },
    ]) {
      await verifier.refuses(forge({ key, header: { alg: 'HS256', typ: 'JWT', jwk } }))
    }
  })

  attack('a certificate in the header', async (lab) => {
    const verifier = await openAs(lab, 'RS256')
    const pair = pairOf('RS256')
    const { raw, fingerprint256 } = new X509Certificate(await createCertificate(pair))
    const print = encode(Buffer.from(fingerprint256.replaceAll(':', ''), 'hex'))
    const chain = [raw.toString('base64')]
    for (const members of [{ x5c: chain }, { x5c: chain[0] }, { x5c: chain, 'x5t#S256': print }]) {
      const header = { alg: 'RS256', typ: 'JWT', ...members }
      await verifier.refuses(forge({ algorithm: 'RS256', key: pair.privateKey, header }))
    }
  })

  attack('a key in the claims', async (lab) => {
    const verifier = await openAs(lab, 'RS256')
    const { privateKey: key, publicKey } = pairOf('RS256')
    const jwk = publicKey.export({ format: 'jwk' })
    // RFC 7800 puts a key there, for the one who presents the token; it signs nothing.
    for (const members of [{ cnf: { jwk } }, { jwk }, { keys: [jwk] }, { sub_jwk: jwk }]) {
      await verifier.refuses(forge({ algorithm: 'RS256', key, claims: { ...CLAIMS, ...members } }))
    }
  })
})

function pairOf(algorithm: string): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  const pair = attackers[algorithm]
  if (pair === undefined) throw new Error(`The attacker has no key for ${algorithm}`)
  return pair
}
