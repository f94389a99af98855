import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, SECRET } from './harness/forge.js'

const OPTIONS = { algorithm: 'HS256', key: SECRET } as const
const honest = JSON.stringify(CLAIMS).slice(0, -1)

/** Brackets in brackets; `depth` of them. */
const lists = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
const objects = (depth: number): string => '{"a":'.repeat(depth) + '0' + '}'.repeat(depth)

describeAttacks('brackets in brackets (CVE-2025-53864)', () => {
  attack('a forged header of nothing else, closed and open', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    for (const depth of [100, 10_000, 200_000]) {
      const signature = 'A'.repeat(43)
      await verifier.refuses(forge({ header: lists(depth), signature }))
      await verifier.refuses(forge({ header: `{"alg":"HS256","x":${lists(depth)}}`, signature }))
      await verifier.refuses(forge({ header: `{"alg":"HS256","x":${'['.repeat(depth)}`, signature }))
      await verifier.refuses(forge({ header: `{"alg":${objects(depth)}}`, signature }))
    }
  })

  attack('forged claims of nothing else', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    for (const depth of [100, 10_000, 200_000]) {
      const signature = 'A'.repeat(43)
      await verifier.refuses(forge({ claims: `${honest},"x":${lists(depth)}}`, signature }))
      await verifier.refuses(forge({ claims: `${honest},"x":${objects(depth)}}`, signature }))
      await verifier.refuses(forge({ claims: '['.repeat(depth), signature }))
    }
  })

  ownAttack('a genuine token that a program could not write out again', async () => {
    const tokens = createManager(4 * 2 ** 20)
    const check = (x: string) => tokens.verify(forge({ claims: `${honest},"x":${x}}` }))
    // The claims themselves are the first level.
    const deepest = await check(lists(31))
    expect(JSON.parse(JSON.stringify(deepest))).toMatchObject({ sub: CLAIMS.sub })
    await check(objects(31))
    for (const depth of [32, 33, 100, 4000, 8000, 200_000]) {
      await expect(check(lists(depth))).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
      await expect(check(objects(depth))).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    }
  })

  ownAttack('brackets in a text are no nesting, and a text does not hide any', async () => {
    const tokens = createManager()
    const check = (x: string) => tokens.verify(forge({ claims: `${honest},"x":${x}}` }))
    for (const x of [`"${'['.repeat(100)}"`, `"\\"${'{'.repeat(100)}"`, `"\\\\","y":"${'['.repeat(100)}"`])
      await check(x)
    for (const x of [
      `["\\"",${lists(40)}]`,
      `["\\\\",${lists(40)}]`,
      `["]]]]]",${lists(40)}]`,
      `["\\u005d",${lists(40)}]`,
    ]) {
      await expect(check(x)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    }
  })

  ownAttack('no token is made that is nested too deep', () => {
    const tokens = createManager()
    expect(tokens.createAccessToken({ uid: 'ada', x: JSON.parse(lists(31)) as [] })).toEqual(
      expect.any(String),
    )
    expect(() => tokens.createAccessToken({ uid: 'ada', x: JSON.parse(lists(32)) as [] })).toThrow(TypeError)
    expect(() => tokens.createAccessToken({ uid: 'ada', x: JSON.parse(lists(5000)) as [] })).toThrow(
      TypeError,
    )
  })
})

function createManager(longest = 8192): TokenManager {
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_MAX_TOKEN_LENGTH: longest })
  return new TokenManager({ config })
}
