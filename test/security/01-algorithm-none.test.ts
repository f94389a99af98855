import { attack, describeAttacks } from './harness/attack.js'
import { CLAIMS, encode, forge, keyPairOf, SECRET } from './harness/forge.js'

/** Every way to write a word in upper and lower case. */
const spellings = (word: string): string[] =>
  Array.from({ length: 2 ** word.length }, (_, bits) =>
    Array.from(word, (letter, at) => ((bits >> at) & 1 ? letter.toUpperCase() : letter)).join(''),
  )

describeAttacks('a token that says it needs no signature (CVE-2015-2951, CVE-2022-23540)', () => {
  attack('"none" in every case, without a signature', async ({ open }) => {
    const verifier = await open({ algorithm: 'HS256', key: SECRET }, forge())
    for (const alg of spellings('none')) {
      await verifier.refuses(forge({ header: { alg }, signature: '' }))
    }
  })

  attack('"none" with the signature of an honest token', async ({ open }) => {
    const verifier = await open({ algorithm: 'HS256', key: SECRET }, forge())
    const signature = forge().split('.')[2] ?? ''
    for (const alg of spellings('none')) await verifier.refuses(forge({ header: { alg }, signature }))
  })

  attack('"none" against a public key', async ({ open }) => {
    const { privateKey, publicKey } = keyPairOf('RS256')
    const honest = forge({ algorithm: 'RS256', key: privateKey })
    const verifier = await open({ algorithm: 'RS256', key: publicKey }, honest)
    for (const alg of ['none', 'None', 'NONE']) {
      await verifier.refuses(forge({ header: { alg }, signature: '' }))
    }
  })

  attack('names that are nearly "none"', async ({ open }) => {
    const verifier = await open({ algorithm: 'HS256', key: SECRET }, forge())
    for (const alg of [' none', 'none ', 'none\0', '\u200Bnone', 'nоne', '']) {
      await verifier.refuses(forge({ header: { alg }, signature: '' }))
    }
  })

  attack('an algorithm that is no text, or none at all', async ({ open }) => {
    const verifier = await open({ algorithm: 'HS256', key: SECRET }, forge())
    for (const header of [{}, ...[null, [], ['HS256'], 0, false, {}].map((alg) => ({ alg }))]) {
      await verifier.refuses(forge({ header }))
      await verifier.refuses(`${encode(header)}.${encode(CLAIMS)}.`)
    }
  })
})
