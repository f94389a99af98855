import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { outcomeOf } from '../helpers/revocable.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, SECRET } from './harness/forge.js'

// Pairs of texts that are one to somebody: a database, a file system, a browser, an eye.
const LOOKALIKES: readonly (readonly [right: string, wrong: readonly string[]])[] = [
  ['café', ['cafe\u0301', 'cafe', 'CAFÉ', 'cafÉ']],
  ['paypal', ['pаypal', 'ｐａｙｐａｌ', 'paypal\u200D', 'pay\u00ADpal', '\u202Elapyap']],
  ['straße', ['strasse', 'STRASSE', 'stra\u1E9Ee']],
  ['ﬁle', ['file']],
  ['Kelvin', ['\u212Aelvin']],
  ['admin', ['admin\0', 'admin\0x', 'admin ', 'admin\u00A0', 'ADMIN', 'admın', 'admi\u0144']],
  ['\uD83D\uDE00', ['\uD83D', '\uDE00', '\uDE00\uD83D', '\uFFFD']],
]

// Each half of a pair alone is no character, and none is the same as another.
const LONE = ['\uD800', '\uD801', '\uDBFF', '\uDC00', '\uDFFF', '\uFFFD', '??']

describeAttacks('names that are the same to somebody (RFC 7519 §7.3, RFC 8725 §3.7)', () => {
  attack('an issuer that is ours only after normalising, folding or cutting', async ({ open }) => {
    for (const [issuer, others] of LOOKALIKES) {
      const options = { algorithm: 'HS256', key: SECRET, issuer } as const
      const verifier = await open(options, forge({ claims: { ...CLAIMS, iss: issuer } }))
      for (const iss of others) await verifier.refuses(forge({ claims: { ...CLAIMS, iss } }))
    }
  })

  attack('an audience likewise', async ({ open }) => {
    for (const [audience, others] of LOOKALIKES) {
      const options = { algorithm: 'HS256', key: SECRET, audience } as const
      const verifier = await open(options, forge({ claims: { ...CLAIMS, aud: audience } }))
      for (const aud of others) await verifier.refuses(forge({ claims: { ...CLAIMS, aud: [aud] } }))
    }
  })

  attack('a half of a character that is taken for another half', async ({ open }) => {
    for (const issuer of LONE.slice(0, 5)) {
      const options = { algorithm: 'HS256', key: SECRET, issuer } as const
      const verifier = await open(options, forge({ claims: { ...CLAIMS, iss: issuer } }))
      for (const iss of LONE.filter((other) => other !== issuer)) {
        await verifier.refuses(forge({ claims: { ...CLAIMS, iss } }))
      }
    }
  })

  ownAttack('a subject comes out as it went in, to the last code unit', async () => {
    const tokens = createManager()
    const names = [
      ...LOOKALIKES.flatMap(([right, wrong]) => [right, ...wrong]),
      ...LONE,
      '\0',
      '__proto__',
      'toString',
    ]
    for (const uid of names) {
      expect((await tokens.verify(tokens.createAccessToken({ uid }))).sub).toBe(uid)
      expect((await tokens.verify(forge({ claims: { ...CLAIMS, sub: uid } }))).sub).toBe(uid)
    }
  })

  ownAttack('to revoke a user revokes that one, and nobody who looks alike', async () => {
    for (const [right, wrong] of [...LOOKALIKES, [LONE[0] as string, LONE.slice(1)] as const]) {
      const tokens = createManager()
      const mine = tokens.createAccessToken({ uid: right })
      const others = wrong.map((uid) => tokens.createAccessToken({ uid }))
      expect(await outcomeOf(tokens.verify(mine))).toBe('ok')
      await tokens.revoke.user(right)
      expect(await outcomeOf(tokens.verify(mine))).toBe('TOKEN_REVOKED')
      for (const other of others) expect(await outcomeOf(tokens.verify(other))).toBe('ok')
    }
  })

  ownAttack('to revoke a token by its id likewise', async () => {
    const tokens = createManager()
    const token = (jti: string): string => forge({ claims: { ...CLAIMS, jti } })
    for (const [right, wrong] of [...LOOKALIKES, [LONE[0] as string, LONE.slice(1)] as const]) {
      expect(await outcomeOf(tokens.verify(token(right)))).toBe('ok')
      await tokens.revoke.token(await tokens.verify(token(right)))
      expect(await outcomeOf(tokens.verify(token(right)))).toBe('TOKEN_REVOKED')
      for (const jti of wrong) expect(await outcomeOf(tokens.verify(token(jti)))).toBe('ok')
    }
  })
})

function createManager(): TokenManager {
  return new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
    store: createMemoryStore(),
  })
}
