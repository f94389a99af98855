import { expect } from 'vitest'
import { TokenConfig, type TokenConfigOptions, TokenManager } from '../../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../../packages/tokenlib/src/stores/memory.js'
import { describeAttacks, ownAttack } from '../harness/attack.js'
import { CLAIMS, forge, SECRET } from '../harness/forge.js'
import { countRefusal, countSuccess, FIXED_WORK, MIB } from './count-refusal.js'
import { internalsOf } from '../../../packages/tokenlib/src/sessions/internals.js'

const createManager = (options: TokenConfigOptions = {}): TokenManager =>
  new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...options }),
    store: createMemoryStore(),
  })

// One character too many, and then a hundred and two thousand times as much.
const LENGTHS = [8193, MIB, 16 * MIB]

// What is long, and how: each is refused by another check once it is short enough.
const SHAPES: Readonly<Record<string, (length: number) => string>> = {
  'nothing but dots': (length) => '.'.repeat(length),
  'no dot at all': (length) => 'A'.repeat(length),
  'a long header': (length) => `${'A'.repeat(length - 5)}.e30.`,
  'a long payload': (length) => `e30.${'A'.repeat(length - 8)}.AAA`,
  'a long signature': (length) => `e30.e30.${'A'.repeat(length - 8)}`,
  'an honest token and dots behind it': (length) => forge().padEnd(length, '.'),
  'characters of no token': (length) => '%'.repeat(length - 1) + '\u{2028}',
}

describeAttacks('limits: the length of a token (CVE-2025-30204, CVE-2025-27144, CVE-2025-61920)', () => {
  ownAttack('16 MiB of a token cost no more than one character too many', async () => {
    const tokens = createManager({ JWT_VERIFIED_CACHE_SIZE: 0 })
    const honest = forge()
    await countSuccess(() => tokens.verify(honest))
    for (const [shape, make] of Object.entries(SHAPES)) {
      for (const length of LENGTHS) {
        const token = make(length)
        expect(token).toHaveLength(length)
        const { total } = await countRefusal(() => tokens.verify(token))
        expect(total, `${shape}, ${length} characters`).toBeLessThan(FIXED_WORK)
      }
    }
  })

  ownAttack('a cache of verified tokens is not asked about what no token can be', async () => {
    const tokens = createManager({ JWT_VERIFIED_CACHE_SIZE: 100 })
    const honest = forge()
    const first = await countSuccess(() => tokens.verify(honest))
    await tokens.verify(honest)
    const again = await countSuccess(() => tokens.verify(honest))
    // The cache is there: claims, which are parsed once their signature holds, are not parsed again.
    expect([first.by['JSON.parse'], again.by['JSON.parse']]).toEqual([expect.any(Number), undefined])
    for (const length of LENGTHS) {
      const dots = '.'.repeat(length)
      const { total } = await countRefusal(() => tokens.verify(dots))
      expect(total, `${length} dots`).toBeLessThan(FIXED_WORK)
    }
  })

  ownAttack('every entrance has the limit', async () => {
    const tokens = createManager({ JWT_VERIFIED_CACHE_SIZE: 0 })
    const dots = '.'.repeat(16 * MIB)
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    const honest = forge()
    const inBody = tokens.require({ locations: ['json'] })
    const request = (token: unknown) => ({
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: { access_token: token },
    })
    const entrances: readonly (readonly [honest: () => unknown, hostile: () => unknown])[] = [
      [() => tokens.verify(honest), () => tokens.verify(dots)],
      [
        () => internalsOf(tokens).verifyWithoutRevocation(honest),
        () => internalsOf(tokens).verifyWithoutRevocation(dots, { allowExpired: true, type: 'any' }),
      ],
      [() => tokens.sessions.refresh(refreshToken), () => tokens.sessions.refresh(dots)],
      [() => inBody(request(honest)), () => inBody(request(dots))],
    ]
    for (const [honest, hostile] of entrances) {
      await countSuccess(honest)
      expect((await countRefusal(hostile)).total).toBeLessThan(FIXED_WORK)
    }
  })

  ownAttack('the limit is the one that is configured', async () => {
    const long = forge({ claims: { ...CLAIMS, note: 'n'.repeat(60_000) } })
    const tokens = createManager({ JWT_MAX_TOKEN_LENGTH: long.length, JWT_VERIFIED_CACHE_SIZE: 0 })
    const { total } = await countSuccess(() => tokens.verify(long))
    expect(total).toBeGreaterThan(long.length)
    const refused = await countRefusal(() => tokens.verify(`${long}A`))
    expect(refused.total).toBeLessThan(FIXED_WORK)
  })
})
