import { attack, describeAttacks } from './harness/attack.js'
import { CLAIMS, encode, forge, SECRET, signInput } from './harness/forge.js'
import { forgeAs, openAs } from './harness/keys-for.js'

const HEADER = { alg: 'HS256', typ: 'JWT' }

describeAttacks('a signature that is not there (CVE-2020-28042)', () => {
  attack('an empty signature, an honest header', async (lab) => {
    for (const algorithm of ['HS256', 'RS256', 'PS256', 'ES256'] as const) {
      const verifier = await openAs(lab, algorithm)
      for (const signature of ['', '=', '==', ' ', '\0', 'null', 'undefined']) {
        await verifier.refuses(forgeAs(algorithm, { signature }))
      }
    }
  })

  attack('segments that are missing, empty or one too many', async ({ open }) => {
    const honest = forge()
    const verifier = await open({ algorithm: 'HS256', key: SECRET }, honest)
    const [header = '', payload = '', signature = ''] = honest.split('.')
    const input = `${header}.${payload}`
    for (const token of ['', '.', '..', '...', header, `${header}.`, input, `${input}.`, `.${input}`]) {
      await verifier.refuses(token)
    }
    for (const token of [`${header}..${signature}`, `.${payload}.${signature}`, `..${signature}`]) {
      await verifier.refuses(token)
    }
    for (const token of [
      `${honest}.`,
      `${honest}..`,
      `.${honest}`,
      `${honest}.${signature}`,
      `${honest}\n.`,
    ]) {
      await verifier.refuses(token)
    }
  })

  attack('segments that are empty, but signed', async ({ open }) => {
    const verifier = await open({ algorithm: 'HS256', key: SECRET }, forge())
    for (const input of [`${encode(HEADER)}.`, `.${encode(CLAIMS)}`, '.']) {
      await verifier.refuses(`${input}.${encode(signInput('HS256', SECRET, input))}`)
    }
  })

  attack('a signature cut short or made longer', async (lab) => {
    for (const algorithm of ['HS256', 'HS512', 'RS256', 'ES256'] as const) {
      const verifier = await openAs(lab, algorithm)
      const honest = forgeAs(algorithm)
      const signature = Buffer.from(honest.split('.')[2] ?? '', 'base64url')
      for (let length = 0; length < signature.length; length += algorithm === 'RS256' ? 15 : 1) {
        await verifier.refuses(forgeAs(algorithm, { signature: signature.subarray(0, length) }))
        await verifier.refuses(forgeAs(algorithm, { signature: signature.subarray(-length - 1, -1) }))
      }
      for (const end of [[0], [0, 0, 0, 0], [255], [...signature]]) {
        await verifier.refuses(forgeAs(algorithm, { signature: Buffer.from([...signature, ...end]) }))
        await verifier.refuses(forgeAs(algorithm, { signature: Buffer.from([...end, ...signature]) }))
      }
    }
  })

  attack('a signature of nothing but zeros or ones', async (lab) => {
    for (const algorithm of ['HS256', 'HS384', 'HS512', 'RS256', 'PS256', 'ES256'] as const) {
      const verifier = await openAs(lab, algorithm)
      for (const byte of [0, 1, 255]) {
        for (const length of [1, 32, 48, 64, 256]) {
          await verifier.refuses(forgeAs(algorithm, { signature: Buffer.alloc(length, byte) }))
        }
      }
    }
  })

  attack('no signature of EdDSA, in all these ways', async (lab) => {
    const verifier = await openAs(lab, 'EdDSA')
    const signature = Buffer.from(forgeAs('EdDSA').split('.')[2] ?? '', 'base64url')
    for (let length = 0; length < 64; length++) {
      await verifier.refuses(forgeAs('EdDSA', { signature: signature.subarray(0, length) }))
    }
    for (const byte of [0, 1, 255]) {
      await verifier.refuses(forgeAs('EdDSA', { signature: Buffer.alloc(64, byte) }))
    }
    await verifier.refuses(forgeAs('EdDSA', { signature: Buffer.concat([signature, Buffer.alloc(1)]) }))
  })
})
