import { attack, describeAttacks } from './harness/attack.js'
import { CLAIMS, encode, forge, SECRET, signInput } from './harness/forge.js'

const payload = encode(CLAIMS)

describeAttacks('a header that the signature does not cover (RFC 7515 §7.2.1, GHSA-jc38)', () => {
  attack('an algorithm next to the signature, in JSON', async ({ open }) => {
    const verifier = await open({ algorithm: 'HS256', key: SECRET }, forge())
    const signed = encode(signInput('HS256', SECRET, `.${payload}`))
    for (const [alg, signature] of [
      ['none', ''],
      ['HS256', signed],
      ['RS256', signed],
    ] as const) {
      for (const value of [
        { payload, header: { alg }, signature },
        { payload, signatures: [{ header: { alg }, signature }] },
        { payload, protected: encode({ typ: 'JWT' }), header: { alg }, signature },
      ]) {
        await verifier.refuses(JSON.stringify(value))
        await verifier.refuses(value)
      }
    }
  })

  attack('an algorithm that the protected header does not have', async ({ open }) => {
    const verifier = await open({ algorithm: 'HS256', key: SECRET }, forge())
    for (const header of [
      {},
      { typ: 'JWT' },
      { header: { alg: 'HS256' } },
      { protected: { alg: 'HS256' } },
    ]) {
      await verifier.refuses(forge({ header }))
    }
  })

  attack('a second header before or behind the token', async ({ open }) => {
    const honest = forge()
    const verifier = await open({ algorithm: 'HS256', key: SECRET }, honest)
    const other = encode({ alg: 'none' })
    for (const token of [
      `${other}.${honest}`,
      `${honest}.${other}`,
      `${other}${honest}`,
      `${other}.${payload}.`,
    ]) {
      await verifier.refuses(token)
    }
  })
})
