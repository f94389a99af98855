import { deflateRawSync } from 'node:zlib'
import { expect } from 'vitest'
import { attack, describeAttacks, type TestedVerifier } from './harness/attack.js'
import { encrypt } from './harness/encrypt.js'
import { CLAIMS, encode, forge, SECRET } from './harness/forge.js'

const KEY = SECRET.slice(0, 32)

// What is asked for costs minutes: the time limit of the test notices anyone who does it.
async function refusesAll(verifier: TestedVerifier, tokens: readonly string[]): Promise<void> {
  for (const token of tokens) await verifier.refuses(token, 'TOKEN_INVALID')
}

describeAttacks(
  'a token that costs more than it is worth (CVE-2022-36083, CVE-2023-6681, CVE-2024-28176)',
  () => {
    attack('a key to be derived in two thousand million rounds', async ({ open }) => {
      const verifier = await open({ algorithm: 'HS256', key: KEY }, forge({ key: KEY }))
      const tokens = [2 ** 31 - 1, 2 ** 31, 2 ** 53, 1e308, -1, '2147483647'].flatMap((p2c) => {
        const members = {
          alg: 'PBES2-HS512+A256KW',
          enc: 'A256GCM',
          typ: 'JWT',
          p2s: encode('salt of the attacker'),
          p2c,
        }
        const [, , ...others] = encrypt('{}', KEY).split('.')
        return [
          [encode(members), encode(Buffer.alloc(40)), ...others].join('.'),
          forge({ key: KEY, header: members }),
          forge({ key: KEY, header: { ...members, alg: 'HS256' }, signature: Buffer.alloc(32) }),
        ]
      })
      await refusesAll(verifier, tokens)
    })

    attack('claims that are small on the way and large behind the door', async ({ open }) => {
      const verifier = await open({ algorithm: 'HS256', key: KEY }, forge({ key: KEY }))
      // 5 MiB of blanks in the claims, which deflate makes a thousand times smaller.
      const bomb = deflateRawSync(JSON.stringify(CLAIMS).replace('{', `{${' '.repeat(5 * 2 ** 20)}`))
      expect(bomb.length).toBeLessThan(6000)
      await refusesAll(verifier, [
        encrypt(bomb, KEY, { zip: 'DEF' }),
        forge({ key: KEY, header: { alg: 'HS256', typ: 'JWT', zip: 'DEF' }, claims: bomb }),
        forge({ key: KEY, header: { alg: 'HS256', typ: 'JWT', zip: 'GZIP' }, claims: bomb }),
      ])
    })

    attack('an encrypted token with empty segments (CVE-2026-34986)', async ({ open }) => {
      const verifier = await open({ algorithm: 'HS256', key: KEY }, forge({ key: KEY }))
      const segments = encrypt('{}', KEY, { alg: 'A256KW' }).split('.')
      const tokens = Array.from({ length: 2 ** 5 }, (_, bits) =>
        segments.map((segment, at) => ((bits >> at) & 1 ? segment : '')).join('.'),
      )
      await refusesAll(verifier, tokens)
    })
  },
)
