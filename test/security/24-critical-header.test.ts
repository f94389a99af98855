import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { attack, describeAttacks, type Lab, ownAttack } from './harness/attack.js'
import { forge, SECRET } from './harness/forge.js'

/** Tokens that are signed well, and say that they must not be taken by anyone who does not understand them. */
async function tryHeaders({ open }: Lab, headers: readonly object[]): Promise<void> {
  const verifier = await open({ algorithm: 'HS256', key: SECRET }, forge())
  for (const members of headers) {
    await verifier.refuses(forge({ header: { alg: 'HS256', typ: 'JWT', ...members } }))
  }
}

describeAttacks(
  'an extension that must be understood (RFC 7515 §4.1.11, CVE-2025-59420, CVE-2026-32597)',
  () => {
    attack('an extension that nobody knows', (lab) =>
      tryHeaders(lab, [
        { crit: ['http://example.com/UNDEFINED'], 'http://example.com/UNDEFINED': true },
        { crit: ['bound-to'], 'bound-to': 'another-client' },
        { crit: ['a', 'b'], a: 1, b: 2 },
      ]),
    )

    attack('a list that is empty, no list, or not of names', (lab) =>
      tryHeaders(
        lab,
        [[], {}, 'bound-to', 1, true, [1], [null], [''], [['alg']], [{}], [true]].map((crit) => ({ crit })),
      ),
    )

    attack('names that the list must not have, or twice', (lab) =>
      tryHeaders(lab, [{ crit: ['alg'] }, { crit: ['typ'] }, { crit: ['crit'] }, { crit: ['a', 'a'], a: 1 }]),
    )

    attack('names of members that are not there, or that every object has', (lab) =>
      tryHeaders(
        lab,
        ['bound-to', 'b64', 'exp', 'toString', 'constructor', '__proto__', 'valueOf'].map((name) => ({
          crit: [name],
        })),
      ),
    )

    ownAttack('a list that is as good as not there', async () => {
      const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) })
      const token = (members: object) => forge({ header: { alg: 'HS256', typ: 'JWT', ...members } })
      await tokens.verify(token({}))
      for (const crit of [null, '', 0, false]) {
        await expect(tokens.verify(token({ crit }))).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
      }
    })
  },
)
