import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, SECRET } from './harness/forge.js'

const AUDIENCE = 'https://api.example'
const OPTIONS = { algorithm: 'HS256', key: SECRET, audience: AUDIENCE } as const
const withAudience = (aud: unknown): string => forge({ claims: { ...CLAIMS, aud } })

describeAttacks('tokens that are for somebody else (CVE-2025-62610, CVE-2020-26160)', () => {
  attack('a token for others', async ({ open }) => {
    const verifier = await open(OPTIONS, withAudience(AUDIENCE))
    await verifier.accepts(withAudience(['https://other.example', AUDIENCE]))
    for (const aud of ['https://other.example', ['https://other.example'], ['a', 'b', 'c']]) {
      await verifier.refuses(withAudience(aud))
    }
  })

  attack('a token for nobody in particular, where an audience is demanded', async ({ open }) => {
    const verifier = await open(OPTIONS, withAudience(AUDIENCE))
    await verifier.refuses(forge())
  })

  attack('an audience that is empty, or of another kind', async ({ open }) => {
    const verifier = await open(OPTIONS, withAudience(AUDIENCE))
    for (const aud of ['', [], [''], null, true, 0, {}, [null], [[]], [{}]]) {
      await verifier.refuses(withAudience(aud))
    }
  })

  attack('our audience, wrapped up in something', async ({ open }) => {
    const verifier = await open(OPTIONS, withAudience(AUDIENCE))
    for (const aud of [[[AUDIENCE]], { 0: AUDIENCE, length: 1 }, { aud: AUDIENCE }, { toString: AUDIENCE }]) {
      await verifier.refuses(withAudience(aud))
    }
  })

  attack('a part of our audience, or more than it', async ({ open }) => {
    const verifier = await open(OPTIONS, withAudience(AUDIENCE))
    const parts = ['https', AUDIENCE.slice(0, -1), AUDIENCE.slice(1), AUDIENCE.toUpperCase()]
    const more = [`${AUDIENCE}/`, `${AUDIENCE} https://other.example`, `x,${AUDIENCE}`, `${AUDIENCE}\0`]
    for (const aud of [...parts, ...more]) {
      await verifier.refuses(withAudience(aud))
      await verifier.refuses(withAudience([aud]))
    }
  })

  ownAttack('a list that is not all texts, our audience among them', async () => {
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_DECODE_AUDIENCE: [AUDIENCE, 'b'] })
    const tokens = new TokenManager({ config })
    expect((await tokens.verify(withAudience(['b', 'c']))).aud).toEqual(['b', 'c'])
    for (const other of [1, null, true, {}, ['b']]) {
      await expect(tokens.verify(withAudience([AUDIENCE, other]))).rejects.toMatchObject({
        code: 'TOKEN_INVALID',
      })
    }
  })

  ownAttack('a pattern is no audience, and no audience is not every audience', () => {
    expect(new TokenConfig({ JWT_DECODE_AUDIENCE: [AUDIENCE] }).JWT_DECODE_AUDIENCE).toEqual([AUDIENCE])
    for (const audience of [[], '', [''], /./, [/./g], [null], {}, true]) {
      expect(() => new TokenConfig({ JWT_DECODE_AUDIENCE: audience as string[] })).toThrow(
        expect.objectContaining({ code: 'CONFIGURATION_INVALID' }),
      )
    }
  })
})
