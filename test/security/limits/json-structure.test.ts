import { expect } from 'vitest'
import { TokenConfig, type TokenConfigOptions, TokenManager } from '../../../packages/tokenlib/src/index.js'
import { describeAttacks, ownAttack } from '../harness/attack.js'
import { CLAIMS, encode, forge, SECRET } from '../harness/forge.js'
import { countRefusal, countSuccess, decodingOf, MIB } from './count-refusal.js'
import { countWork, type Work } from './count-work.js'

const createManager = (options: TokenConfigOptions = {}): TokenManager =>
  new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_VERIFIED_CACHE_SIZE: 0, ...options }),
  })

const HEADER = '{"alg":"HS256","typ":"JWT"}'
const honestClaims = JSON.stringify(CLAIMS).slice(0, -1)

// The header is parsed twice, once to see whether a name is; then nothing may be.
const JSON_OF_HEADER = 2 * HEADER.length + 1

// Decoded and encoded again, and the same for the signature; far less than any of these claims are long.
const DECODING_OF_HEADER = 500

// Claims of an honest token and, inside them, one more that brings the token to a length.
function claimsOfLength(tokenLength: number, open: string, fill: (room: number) => string): string {
  const signature = 43
  const room = Math.floor(((tokenLength - signature - 2 - encode(HEADER).length) * 3) / 4)
  const start = `${honestClaims},"x":${open}`
  return `${start}${fill(room - start.length)}`
}

const nested = (room: number): string => '['.repeat(room)
const nestedObjects = (room: number): string => '{"":'.repeat(room / 4)

// Every call looks at most at the whole token; linear work is a small multiple of it.
const isLinear = ({ total }: Work, length: number): boolean => total < 12 * length

describeAttacks('limits: the structure of JSON (CVE-2025-53864, CVE-2025-61920)', () => {
  ownAttack('8 KiB of nesting, well signed: never parsed, and looked at once', async () => {
    const tokens = createManager()
    const honest = forge({ header: HEADER })
    await countSuccess(() => tokens.verify(honest))
    for (const fill of [nested, nestedObjects]) {
      const token = forge({ header: HEADER, claims: claimsOfLength(8192, '', fill) })
      expect(token.length).toBeGreaterThan(8180)
      expect(token.length).toBeLessThanOrEqual(8192)
      const work = await countRefusal(() => tokens.verify(token))
      expect(work.by['JSON.parse'] ?? 0).toBeLessThan(JSON_OF_HEADER)
      // It ends at the thirty-third bracket.
      expect(work.by['String.charCodeAt']).toBeLessThan(1000)
      expect(isLinear(work, token.length)).toBe(true)
    }
  })

  ownAttack('8 KiB of nesting without a signature: not even decoded from UTF-8', async () => {
    const tokens = createManager()
    const token = forge({
      header: HEADER,
      claims: claimsOfLength(8192, '', nested),
      signature: 'A'.repeat(43),
    })
    const work = await countRefusal(() => tokens.verify(token))
    expect(decodingOf(work)).toBeLessThan(DECODING_OF_HEADER)
    expect(work.by['JSON.parse'] ?? 0).toBeLessThan(JSON_OF_HEADER)
    expect(isLinear(work, token.length)).toBe(true)
  })

  ownAttack('a header of nesting is never parsed', async () => {
    const tokens = createManager()
    const header = `{"alg":"HS256","x":${'['.repeat(1500)}`
    const token = forge({ header })
    const work = await countRefusal(() => tokens.verify(token))
    expect(work.by['JSON.parse']).toBeUndefined()
    expect(work.by['Hmac.update']).toBeUndefined()
  })

  ownAttack('100,000 members, well signed: never parsed, and counted to a thousand', async () => {
    const tokens = createManager({ JWT_MAX_TOKEN_LENGTH: 4 * MIB })
    const small = forge({ header: HEADER, claims: { ...CLAIMS, x: Array.from({ length: 900 }, () => 0) } })
    const parsed = await countSuccess(() => tokens.verify(small))
    expect(parsed.by['JSON.parse']).toBeGreaterThan(1800)
    const members = Array.from({ length: 100_000 }, (_, at) => `"m${at}":0`).join(',')
    const elements = Array.from({ length: 100_000 }, () => '0').join(',')
    for (const x of [`{${members}}`, `[${elements}]`, `{"x":[${elements}]}`]) {
      const token = forge({ header: HEADER, claims: `${honestClaims},"x":${x}}` })
      const work = await countRefusal(() => tokens.verify(token))
      expect(work.by['JSON.parse'] ?? 0).toBeLessThan(JSON_OF_HEADER)
      expect(work.by['String.charCodeAt']).toBeLessThan(20_000)
      expect(isLinear(work, token.length)).toBe(true)
    }
  })

  ownAttack('100,000 members without a signature: never decoded from UTF-8', async () => {
    const tokens = createManager({ JWT_MAX_TOKEN_LENGTH: 4 * MIB })
    const members = Array.from({ length: 100_000 }, (_, at) => `"m${at}":0`).join(',')
    const token = forge({ header: HEADER, claims: `{${members}}`, signature: 'A'.repeat(43) })
    const work = await countRefusal(() => tokens.verify(token))
    expect(decodingOf(work)).toBeLessThan(DECODING_OF_HEADER)
    expect(work.by['JSON.parse'] ?? 0).toBeLessThan(JSON_OF_HEADER)
  })

  ownAttack('a header of 1 MiB is refused before it is decoded', async () => {
    const tokens = createManager({ JWT_MAX_TOKEN_LENGTH: 4 * MIB })
    const honest = forge({ header: HEADER })
    expect(decodingOf(await countSuccess(() => tokens.verify(honest)))).toBeGreaterThan(HEADER.length)
    const headers = [
      JSON.stringify({ alg: 'HS256', x: 'x'.repeat(MIB) }),
      JSON.stringify({
        alg: 'HS256',
        ...Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [at, 0])),
      }),
      `{"alg":"HS256","x":${'['.repeat(MIB)}`,
      ' '.repeat(MIB) + HEADER,
    ]
    for (const header of headers) {
      const token = forge({ header })
      const work = await countRefusal(() => tokens.verify(token))
      expect(decodingOf(work)).toBe(0)
      expect(work.by['Hmac.update']).toBeUndefined()
      // The dots have to be found, and a slice is counted as if it were a copy.
      expect(work.total).toBeLessThan(3 * token.length)
    }
  })

  ownAttack('below the limits, twice the token is twice the work', async () => {
    const tokens = createManager({ JWT_MAX_TOKEN_LENGTH: MIB })
    const shapes: Readonly<Record<string, (room: number) => string>> = {
      'one text': (room) => `"${'x'.repeat(room - 3)}"}`,
      'escaped quotes': (room) => `"${'\\"'.repeat((room - 3) / 2)}"}`,
      'escaped backslashes': (room) => `"${'\\\\'.repeat((room - 3) / 2)}"}`,
      'a text that never ends': (room) => `"${'x'.repeat(room)}`,
      'white space': (room) => `0${' '.repeat(room - 2)}}`,
      digits: (room) => `${'9'.repeat(room - 1)}}`,
      names: (room) => `{${'"":0,'.repeat(500)}"":"${'x'.repeat(room - 2506)}"}}`,
    }
    for (const [shape, fill] of Object.entries(shapes)) {
      const totals: number[] = []
      for (const length of [16_384, 32_768, 65_536]) {
        const token = forge({ header: HEADER, claims: claimsOfLength(length, '', fill) })
        totals.push((await countWork(() => tokens.verify(token))).work.total)
      }
      const [small = 0, middle = 0, large = 0] = totals
      expect(small, shape).toBeGreaterThan(16_384)
      expect(middle / small, shape).toBeLessThan(2.2)
      expect(large / middle, shape).toBeLessThan(2.2)
    }
  })
})
