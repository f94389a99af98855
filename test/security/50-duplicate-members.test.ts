import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, encode, forge, NOW, SECRET } from './harness/forge.js'

const OPTIONS = { algorithm: 'HS256', key: SECRET } as const
const { exp: _, ...withoutExpiry } = CLAIMS
const claims = JSON.stringify(withoutExpiry).slice(0, -1)

describeAttacks('a member that is there twice, for two readers (RFC 7515 §4, RFC 7519 §4)', () => {
  attack(
    'the first of two algorithms must not count (both RFCs: refuse, or the last one)',
    async ({ open }) => {
      const verifier = await open(OPTIONS, forge())
      const headers = [
        '{"alg":"HS256","alg":"none"}',
        '{"alg":"HS256","\\u0061lg":"none"}',
        '{"alg":"HS256","typ":"JWT","alg":"HS384"}',
        '{"alg":"HS256","alg":null}',
      ]
      for (const header of headers) {
        await verifier.refuses(forge({ header }))
        await verifier.refuses(`${encode(header)}.${encode(CLAIMS)}.`)
      }
    },
  )

  attack('nor the first of two expiries', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    const future = `${NOW + 600}`
    for (const second of [
      `"exp":${NOW - 1}`,
      '"exp":0',
      '"exp":null',
      `"\\u0065xp":${NOW - 1}`,
      `"ex\\u0070":0`,
    ]) {
      await verifier.refuses(forge({ claims: `${claims},"exp":${future},${second}}` }))
    }
  })

  ownAttack('a header with any name twice is refused, whatever the values are', async () => {
    const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) })
    const check = (header: string) => tokens.verify(forge({ header }))
    // Values may repeat names, and members of members are nobody's business here.
    await check('{"alg":"HS256","a":"alg","b":"\\"alg\\":","c":["alg","alg"]}')
    const twice = [
      '{"alg":"HS256","alg":"HS256"}',
      '{"alg":"none","alg":"HS256"}',
      '{"\\u0061lg":"HS256","alg":"HS256"}',
      '{"a\\u006cg":"HS256","\\u0061\\u006C\\u0067":"HS256"}',
      '{"alg":"HS256","x":1,"x":1}',
      '{"alg":"HS256","typ":"dpop+jwt","typ":"JWT"}',
      '{"alg" :"HS256","alg"\t:\n"HS256"}',
      '{"x":{"alg":"none"},"alg":"HS256","y":[],"alg":"HS256"}',
      '{"alg":"HS256","":0,"":0}',
      '{"alg":"HS256","__proto__":0,"__proto__":0}',
    ]
    for (const header of twice) {
      await expect(check(header), header).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    }
  })

  ownAttack('of two claims of one name, all of us read the last', async () => {
    const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) })
    const twice = `${claims},"exp":${NOW + 600},"sub":"eve","role":"user","role":"guest"}`
    const payload = await tokens.verify(forge({ claims: twice }))
    expect(payload).toMatchObject({ sub: 'eve', role: 'guest' })
  })
})
