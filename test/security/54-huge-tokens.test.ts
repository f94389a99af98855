import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { assertWithstood, attack, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, SECRET } from './harness/forge.js'
import type { Verify } from './harness/target.js'
import { countWork } from './limits/count-work.js'

const OPTIONS = { algorithm: 'HS256', key: SECRET } as const
const MIB = 2 ** 20

describeAttacks('huge tokens (CVE-2025-30204, CVE-2025-27144, CVE-2025-61920)', () => {
  attack('16 MiB of dots are refused without a text for every dot', async ({ open, target }) => {
    await open(OPTIONS, forge())
    const verify = (await target.open(OPTIONS)) as Verify
    const dots = '.'.repeat(16 * MIB)
    const { work, error } = await countWork(() => verify(dots))
    assertWithstood(error !== null, `${target.name} took it`)
    const split = work.by['String.split'] ?? 0
    assertWithstood(split <= MIB, `${target.name} split it, into ${split - dots.length} texts`)
  })

  attack('an honest token with a megabyte of dots or segments behind it', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    for (const tail of ['.', 'A', '.A']) {
      const length = Math.floor(MIB / tail.length)
      await verifier.refuses(`${forge()}${tail.repeat(length)}`)
    }
  })

  attack('two megabytes of what no token is made of', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    for (const piece of ['A', '{', '\0', '\uD800', 'e30.', '"']) {
      await verifier.refuses(piece.repeat((2 * MIB) / piece.length))
    }
  })

  ownAttack('a genuine token is refused from one character too many', async () => {
    const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) })
    // Three bytes are four characters: one byte more is one or two.
    const ofNote = (length: number): string => forge({ claims: { ...CLAIMS, note: 'n'.repeat(length) } })
    const fitting = Array.from({ length: 200 }, (_, at) => ofNote(5900 + at))
    const longest = fitting.filter((token) => token.length <= 8192).at(-1) as string
    const first = fitting.find((token) => token.length > 8192) as string
    expect([longest.length, first.length]).toEqual([8192, 8193])
    expect((await tokens.verify(longest)).sub).toBe(CLAIMS.sub)
    await expect(tokens.verify(first)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  })

  ownAttack('a genuine token with a header larger than any header is', async () => {
    const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) })
    const withHeader = (note: string): string => forge({ header: { alg: 'HS256', note } })
    await tokens.verify(withHeader('n'.repeat(1500)))
    await expect(tokens.verify(withHeader('n'.repeat(1520)))).rejects.toMatchObject({
      code: 'TOKEN_INVALID',
    })
  })

  ownAttack('no token is made that would be refused for its size', () => {
    const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) })
    expect(tokens.createAccessToken({ uid: 'ada', note: 'n'.repeat(5000) }).length).toBeLessThan(8193)
    expect(() => tokens.createAccessToken({ uid: 'ada', note: 'n'.repeat(8000) })).toThrow(TypeError)
    expect(() => tokens.createAccessToken({ uid: 'ada' }, { headers: { note: 'n'.repeat(1600) } })).toThrow(
      TypeError,
    )
  })
})
