import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, SECRET } from './harness/forge.js'

const OPTIONS = { algorithm: 'HS256', key: SECRET } as const
const honest = JSON.stringify(CLAIMS).slice(0, -1)
const members = (count: number): string => Array.from({ length: count }, (_, at) => `"m${at}":0`).join(',')
const elements = (count: number): string => Array.from({ length: count }, () => '0').join(',')

describeAttacks('many members, and numbers of many digits (CVE-2025-61920, CWE-407)', () => {
  attack('a forged header of 100,000 members', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    for (const header of [
      `{"alg":"HS256",${members(100_000)}}`,
      `{"alg":"HS256","x":[${elements(100_000)}]}`,
    ]) {
      await verifier.refuses(forge({ header, signature: 'A'.repeat(43) }))
    }
  })

  ownAttack('a genuine token of more members than a thousand', async () => {
    const tokens = createManager()
    const check = (x: string) => tokens.verify(forge({ claims: `${honest},${x}}` }))
    // Five claims stand before it, and the first member of a list needs no comma.
    await check(members(1000))
    await check(`"x":[${elements(1000)}]`)
    const many = [members(1100), `"x":[${elements(1100)}]`, `"x":{${members(600)}},"y":[${elements(600)}]`]
    for (const x of [...many, members(100_000), `"x":[${elements(100_000)}]`]) {
      await expect(check(x)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    }
  })

  ownAttack('commas in a text are no members, and a text does not hide any', async () => {
    const tokens = createManager()
    const check = (x: string) => tokens.verify(forge({ claims: `${honest},"x":${x}}` }))
    for (const x of [`"${','.repeat(2000)}"`, `"\\"${','.repeat(2000)}"`]) await check(x)
    for (const x of [`["\\"",${elements(1100)}]`, `["\\\\",${elements(1100)}]`]) {
      await expect(check(x)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    }
  })

  ownAttack('members whose names would share one place in a naive table', async () => {
    const tokens = createManager()
    const check = (names: readonly string[]) =>
      tokens.verify(forge({ claims: `${honest},${names.map((name) => `"${name}":0`).join(',')}}` }))
    // Names like indexes go to another store than others, and the same letters in another order share many a hash.
    const indexes = Array.from({ length: 1000 }, (_, at) => String(at * 4_194_304))
    const anagrams = Array.from({ length: 1000 }, (_, at) =>
      at.toString(2).padStart(10, '0').replaceAll('0', 'Aa').replaceAll('1', 'BB'),
    )
    expect(Object.keys(await check(anagrams)).length).toBe(1005)
    expect(Object.keys(await check(indexes)).length).toBe(1005)
    await expect(check([...anagrams, ...indexes])).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  })

  ownAttack('a number of many digits is a number, or no date', async () => {
    const tokens = createManager()
    const check = (x: string) => tokens.verify(forge({ claims: `${honest},${x}}` }))
    expect((await check(`"x":${'9'.repeat(5000)}`))['x']).toBe(Number.POSITIVE_INFINITY)
    for (const claim of ['exp', 'nbf', 'iat', 'fresh', 'gen']) {
      await expect(check(`"${claim}":${'9'.repeat(5000)}`)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    }
  })
})

function createManager(): TokenManager {
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_MAX_TOKEN_LENGTH: 4 * 2 ** 20 })
  return new TokenManager({ config })
}
