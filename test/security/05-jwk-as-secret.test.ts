import type { JsonWebKey } from 'node:crypto'
import type { Jwk } from '../../packages/tokenlib/src/kit.js'
import { attack, describeAttacks, type Lab } from './harness/attack.js'
import { forge, keyPairOf } from './harness/forge.js'
import { tryUntold } from './harness/untold.js'

const jwks: readonly JsonWebKey[] = ['RS256', 'ES256', 'EdDSA'].map((algorithm) =>
  keyPairOf(algorithm).publicKey.export({ format: 'jwk' }),
)

const tryTexts = (lab: Lab, toText: (jwk: JsonWebKey) => string): Promise<void> =>
  tryUntold(lab, jwks.map(toText))

describeAttacks('a JSON Web Key used as an HMAC secret (CVE-2026-107724, CVE-2026-48526)', () => {
  attack('the text of a key', async (lab) => {
    await tryTexts(lab, (jwk) => JSON.stringify(jwk))
    await tryTexts(lab, (jwk) => JSON.stringify(jwk, null, 2))
    await tryTexts(lab, (jwk) => `\uFEFF\n${JSON.stringify(jwk)}\n`)
    // The type last, and not first as everyone writes it.
    await tryTexts(lab, ({ kty, ...others }) => JSON.stringify({ ...others, use: 'sig', kty }))
  })

  attack('the text of a set of keys, or of a list', async (lab) => {
    await tryTexts(lab, (jwk) => JSON.stringify({ keys: [jwk] }))
    await tryTexts(lab, (jwk) => JSON.stringify({ keys: [{ kty: 'oct', k: 'AAAA' }, jwk] }, null, 2))
    await tryTexts(lab, (jwk) => JSON.stringify([jwk]))
  })

  attack('a key deeper in the text (CVE-2026-102273)', async (lab) => {
    await tryTexts(lab, (jwk) => JSON.stringify({ issuer: 'https://issuer.example', jwks: { keys: [jwk] } }))
    await tryTexts(lab, (jwk) => JSON.stringify([[{ key: { jwk } }]]))
    await tryTexts(lab, (jwk) => JSON.stringify({ kty: 'oct', k: 'AAAA', next: jwk }))
    await tryTexts(lab, (jwk) => JSON.stringify({ key: JSON.stringify(jwk) }))
  })

  attack('a key whose member names are escaped', async (lab) => {
    await tryTexts(lab, (jwk) => JSON.stringify(jwk).replace('"kty"', String.raw`"\u006bty"`))
    await tryTexts(lab, (jwk) =>
      JSON.stringify(jwk).replace(/"kty":"(.)/, (_, letter: string) => {
        return String.raw`"kty":"\u00${letter.charCodeAt(0).toString(16)}`
      }),
    )
  })

  attack('a key object that an HS256 verifier turns into text', async ({ refusesKey }) => {
    for (const jwk of jwks) {
      const key = jwk as Jwk
      for (const secret of ['[object Object]', JSON.stringify(jwk), jwk.n ?? jwk.x ?? '', 'undefined', '']) {
        await refusesKey({ algorithm: 'HS256', key }, forge({ key: secret }))
        await refusesKey({ key }, forge({ key: secret }))
      }
    }
  })
})
