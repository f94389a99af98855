import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import { attack, describeAttacks, type Lab } from './harness/attack.js'
import { CLAIMS, encode, forge, SECRET } from './harness/forge.js'
import { forgeAs, openAs } from './harness/keys-for.js'

/** Every other way to write a name in upper and lower case. */
function otherCases(name: string): string[] {
  const letters = Array.from(name)
  const cased = letters.flatMap((letter, at) => (letter.toLowerCase() === letter.toUpperCase() ? [] : [at]))
  const all = Array.from({ length: 2 ** cased.length }, (_, bits) =>
    letters
      .map((letter, at) =>
        (bits >> cased.indexOf(at)) & 1 && cased.includes(at) ? letter.toUpperCase() : letter.toLowerCase(),
      )
      .join(''),
  )
  return all.filter((spelling) => spelling !== name)
}

async function tryOtherCases(lab: Lab, algorithms: readonly Algorithm[]): Promise<void> {
  for (const algorithm of algorithms) {
    const verifier = await openAs(lab, algorithm)
    for (const alg of otherCases(algorithm)) {
      await verifier.refuses(forgeAs(algorithm, { header: { alg, typ: 'JWT' } }))
    }
  }
}

describeAttacks('an algorithm by a name that is not quite its own (RFC 7515 §4.1.1, RFC 8725 §3.1)', () => {
  attack('the names of HMAC in other cases', (lab) => tryOtherCases(lab, ['HS256', 'HS384', 'HS512']))

  attack('the names of RSA in other cases', (lab) =>
    tryOtherCases(lab, ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']),
  )

  attack('the names of ECDSA in other cases', (lab) => tryOtherCases(lab, ['ES256', 'ES384', 'ES512']))

  attack('the name of EdDSA in other cases', (lab) => tryOtherCases(lab, ['EdDSA']))

  attack('names that only look like "HS256"', async ({ open }) => {
    const verifier = await open({ algorithm: 'HS256', key: SECRET }, forge())
    const names = [
      ' HS256',
      'HS256 ',
      'HS256\0',
      'HS256\n',
      'HS\u200B256',
      'НS256',
      'ＨＳ２５６',
      'HS2५6',
      'HS-256',
    ]
    for (const alg of [...names, 'HS0256', 'HS256,none', 'HMAC', 'HmacSHA256', 'sha256', 'SHA256', '256']) {
      await verifier.refuses(forge({ header: { alg, typ: 'JWT' } }))
    }
  })

  attack('a list or an object that turns into "HS256" as text', async ({ open }) => {
    const verifier = await open({ algorithm: 'HS256', key: SECRET }, forge())
    for (const alg of [['HS256'], [['HS256']], { 0: 'HS256' }, { toString: 'HS256' }, { alg: 'HS256' }]) {
      await verifier.refuses(forge({ header: { alg, typ: 'JWT' } }))
    }
  })

  attack('names that every object has', async ({ open }) => {
    const verifier = await open({ algorithm: 'HS256', key: SECRET }, forge())
    for (const alg of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', 'length']) {
      await verifier.refuses(forge({ header: { alg, typ: 'JWT' } }))
      await verifier.refuses(`${encode({ alg, typ: 'JWT' })}.${encode(CLAIMS)}.`)
    }
    // JSON.parse makes `__proto__` an own member; an algorithm that is only inherited is none.
    await verifier.refuses(forge({ header: '{"typ":"JWT","__proto__":{"alg":"HS256"}}' }))
  })
})
