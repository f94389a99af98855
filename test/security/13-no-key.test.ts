import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import { attack, describeAttacks, type Lab } from './harness/attack.js'
import { forge, keyPairOf, SECRET } from './harness/forge.js'
import { forgeAs } from './harness/keys-for.js'
import type { VerifyKey } from './harness/target.js'

const NOTHING = [undefined, null, '', 0, false, Number.NaN, [], {}] as readonly unknown[]

/** Verifiers that have a list of algorithms, and nothing to verify with. */
async function tryNothing(
  { refusesKey }: Lab,
  algorithm: Algorithm,
  forged: readonly string[],
): Promise<void> {
  for (const key of NOTHING) {
    for (const token of forged) await refusesKey({ algorithm, key: key as VerifyKey }, token)
  }
}

describeAttacks('no key, and a list of algorithms that makes up for it (CVE-2026-107720)', () => {
  attack('no secret', (lab) =>
    tryNothing(lab, 'HS256', [
      forge({ key: '' }),
      forge({ key: 'undefined' }),
      forge({ key: 'null' }),
      forge({ key: SECRET }),
      forge({ signature: '' }),
      forge({ signature: Buffer.alloc(32) }),
    ]),
  )

  attack('no public key', async (lab) => {
    for (const algorithm of ['RS256', 'ES256'] as const) {
      await tryNothing(lab, algorithm, [forgeAs(algorithm), forgeAs(algorithm, { signature: '' })])
    }
  })

  attack('no key, and a token that brings its own (CVE-2026-27962)', async (lab) => {
    for (const algorithm of ['RS256', 'ES256'] as const) {
      const jwk = keyPairOf(algorithm).publicKey.export({ format: 'jwk' })
      await tryNothing(lab, algorithm, [forgeAs(algorithm, { header: { alg: algorithm, typ: 'JWT', jwk } })])
    }
  })

  attack('no key, and a token without a signature', async ({ refusesKey }) => {
    const unsigned = forge({ header: { alg: 'none', typ: 'JWT' }, signature: '' })
    for (const key of NOTHING) {
      for (const algorithm of ['HS256', 'RS256', 'ES256'] as const) {
        await refusesKey({ algorithm, key: key as VerifyKey }, unsigned)
      }
    }
  })
})
