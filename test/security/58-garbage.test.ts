import { expect } from 'vitest'
import { isTokenError, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, encode, forge, SECRET } from './harness/forge.js'

const OPTIONS = { algorithm: 'HS256', key: SECRET } as const

// The same numbers in every run (xorshift32): what failed once fails again.
function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

const PIECES =
  '|.|..|=|-|_|+|/| |\0|\n|%|{|}|[|"|null|e30|W10|MA|eyJhbGciOiJIUzI1NiJ9|eyJhbGciOiJub25lIn0|AAAA|\uD800|\u{1F4A9}|é|\u2028|__proto__'.split(
    '|',
  )

describeAttacks('garbage, and what escapes of it (CVE-2019-17195, CVE-2026-102274)', () => {
  attack('500 texts of the pieces that tokens are made of', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    const random = createRandom(58)
    for (let round = 0; round < 500; round++) {
      const text = Array.from({ length: random(9) }, () => PIECES[random(PIECES.length)]).join('')
      await verifier.refuses(text)
    }
  })

  attack('500 texts of random characters', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    const random = createRandom(59)
    for (let round = 0; round < 500; round++) {
      const below = [128, 256, 65_536][random(3)] as number
      await verifier.refuses(
        Array.from({ length: random(200) }, () => String.fromCharCode(random(below))).join(''),
      )
    }
  })

  attack('500 tokens of three segments of random bytes', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    const random = createRandom(60)
    const bytes = (): string => encode(Uint8Array.from({ length: random(60) }, () => random(256)))
    for (let round = 0; round < 500; round++) await verifier.refuses(`${bytes()}.${bytes()}.${bytes()}`)
  })

  attack('every JSON value as a header', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    const values = [
      null,
      true,
      0,
      -1,
      '',
      'HS256',
      [],
      [null],
      {},
      { alg: {} },
      { alg: [] },
      { ALG: 'HS256' },
      { alg: 'hs256' },
    ]
    for (const value of values) await verifier.refuses(forge({ header: JSON.stringify(value) }))
  })

  attack('values of every type that no token is', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    const values = [
      undefined,
      null,
      true,
      false,
      0,
      1,
      Number.NaN,
      5n,
      Symbol('token'),
      {},
      [],
      () => forge(),
    ]
    for (const value of [...values, new Date(), /./, new Map(), new Error('x'), Promise.resolve(forge())]) {
      await verifier.refuses(value)
    }
  })

  ownAttack(
    'one honest token, changed in every one of its characters, is never taken and never a crash',
    async () => {
      const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) })
      const honest = forge()
      expect((await tokens.verify(honest)).sub).toBe(CLAIMS.sub)
      const changes = ['', '.', 'A', '\uD800']
      for (let at = 0; at < honest.length; at++) {
        for (const change of changes.filter((char) => char !== honest[at])) {
          await refusesToken(tokens, honest.slice(0, at) + change + honest.slice(at + 1))
        }
      }
    },
  )

  ownAttack('well-signed garbage is refused like any other', async () => {
    const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) })
    await tokens.verify(forge())
    const random = createRandom(61)
    const honest = JSON.stringify(CLAIMS)
    for (let round = 0; round < 250; round++) {
      const [from, length] = [random(honest.length), random(20) + 1]
      const piece = PIECES[random(PIECES.length)] as string
      const claims = honest.slice(0, from) + piece + honest.slice(from + length)
      await refusesOrReads(tokens, forge({ claims }))
      const bytes = Buffer.from(honest)
      bytes[from] = random(256)
      await refusesOrReads(tokens, forge({ claims: bytes }))
    }
  })

  ownAttack('requests of every shape end in a token error, or in a TypeError for the program', async () => {
    const tokens = new TokenManager({
      config: new TokenConfig({
        JWT_SECRET_KEY: SECRET,
        JWT_TOKEN_LOCATION: ['headers', 'cookies', 'json', 'query'],
      }),
    })
    const bearer = { authorization: `Bearer ${forge()}` }
    await tokens.accessTokenRequired({ headers: bearer })
    const values = [
      '',
      'Bearer',
      'Bearer ',
      ',',
      'Bearer ,',
      ';',
      '=',
      '%',
      '\0',
      'Bearer \uD800',
      '=;=;',
      '%E0%A4%A',
    ]
    for (const value of values) {
      const request = {
        method: 'POST',
        url: `/?token=${value}&token`,
        headers: { authorization: value, cookie: value, 'content-type': 'application/json' },
        body: `{"access_token":${value}`,
      }
      const error = await tokens.accessTokenRequired(request).catch((thrown: unknown) => thrown)
      expect(isTokenError(error), JSON.stringify(value)).toBe(true)
    }
    for (const request of [
      undefined,
      null,
      0,
      'GET /',
      {},
      { headers: null },
      { headers: 'x' },
      [],
    ] as never[]) {
      await expect(tokens.accessTokenRequired(request)).rejects.toThrow(TypeError)
    }
  })
})

async function refusesToken(tokens: TokenManager, token: string): Promise<void> {
  const error = await tokens.verify(token).catch((thrown: unknown) => thrown)
  if (!isTokenError(error)) throw new Error(`Not refused: ${JSON.stringify(token)}`, { cause: error })
}

// The claims are signed: some garbage is still a claims set, and then all of it must be of the right types.
async function refusesOrReads(tokens: TokenManager, token: string): Promise<void> {
  try {
    const { sub, type, exp = 0, iat = 0 } = await tokens.verify(token)
    expect([typeof sub, type, typeof exp, typeof iat]).toEqual(['string', 'access', 'number', 'number'])
  } catch (error) {
    if (!isTokenError(error)) throw error
  }
}
