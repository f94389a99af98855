import { attack, describeAttacks } from './harness/attack.js'
import { CLAIMS, encode, forge, SECRET } from './harness/forge.js'

const honest = forge()
const [header = '', payload = '', signature = ''] = honest.split('.')
const evil = encode({ ...CLAIMS, sub: 'root' })

describeAttacks(
  'another serialization than the compact one (RFC 7515 §7.2, CVE-2022-39227, CVE-2026-102946)',
  () => {
    attack('an honest token as JSON', async ({ open }) => {
      const verifier = await open({ algorithm: 'HS256', key: SECRET }, honest)
      const flattened = { protected: header, payload, signature }
      const general = { payload, signatures: [{ protected: header, signature }] }
      for (const value of [flattened, general, { token: honest }]) {
        await verifier.refuses(JSON.stringify(value))
        await verifier.refuses(encode(value))
        await verifier.refuses(value)
      }
    })

    attack('JSON with no signature, or an empty list of them', async ({ open }) => {
      const verifier = await open({ algorithm: 'HS256', key: SECRET }, honest)
      const forms = [
        { payload: evil, signatures: [] },
        { payload: evil },
        { protected: header, payload: evil, signature: '' },
        { payload: evil, signatures: [{ protected: header }] },
        // One signature holds: that of another payload, or of another signer.
        {
          payload: evil,
          signatures: [
            { protected: header, signature },
            { protected: header, signature: '' },
          ],
        },
      ]
      for (const value of forms) {
        await verifier.refuses(JSON.stringify(value))
        await verifier.refuses(value)
      }
    })

    attack('a text that is compact to one reader and JSON to another', async ({ open }) => {
      const verifier = await open({ algorithm: 'HS256', key: SECRET }, honest)
      const json = `"protected":"${header}","payload":"${payload}","signature":"${signature}"`
      for (const token of [
        `{"${header}.${evil}.":"",${json}}`,
        `{"  ${header}.${evil}.":"x",${json}}`,
        `{${json},"x":".${evil}.${signature}"}`,
        `${header}.${evil}.{${json}}`,
        `${header}.{"payload":"${payload}"}.${signature}`,
        `[${honest}]`,
        `"${honest}"`,
        `'${honest}'`,
      ]) {
        await verifier.refuses(token)
      }
    })

    attack('two tokens in one text', async ({ open }) => {
      const verifier = await open({ algorithm: 'HS256', key: SECRET }, honest)
      const forged = `${header}.${evil}.${signature}`
      for (const separator of [' ', ',', ', ', ';', '\n', '\0', '&', '.', '~', '%2C']) {
        await verifier.refuses(`${honest}${separator}${forged}`)
        await verifier.refuses(`${forged}${separator}${honest}`)
      }
      // RFC 9901: a token with disclosures is for those who know how to read them.
      await verifier.refuses(`${honest}~`)
    })
  },
)
