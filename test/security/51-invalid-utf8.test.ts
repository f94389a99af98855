import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, SECRET } from './harness/forge.js'

const OPTIONS = { algorithm: 'HS256', key: SECRET } as const
const MARK = 'MARK'

// RFC 3629 §3 and §4: none of these is UTF-8.
const BROKEN: Readonly<Record<string, readonly number[]>> = {
  'a byte that never occurs': [0xff],
  'a lonely continuation': [0x80],
  'an end that is missing': [0xe2, 0x82],
  'a slash that is too long': [0xc0, 0xaf],
  'a quote that is too long': [0xc0, 0xa2],
  'half of a surrogate pair': [0xed, 0xa0, 0x80],
  'a pair of surrogates': [0xed, 0xa0, 0xbd, 0xed, 0xb2, 0xa9],
  'beyond the last character': [0xf4, 0x90, 0x80, 0x80],
  'Latin-1': [0xe9],
}

/** The JSON of an object, with bytes in the place of a mark. */
function withBytes(value: object, bytes: readonly number[]): Buffer {
  const [before = '', after = ''] = JSON.stringify(value).split(MARK)
  return Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)])
}

describeAttacks('claims that are not UTF-8 (RFC 7519 §7.2, RFC 8725 §3.7)', () => {
  attack('a subject that is not UTF-8, and so the same as many others', async ({ open }) => {
    const claims = { ...CLAIMS, sub: `ada${MARK}` }
    const verifier = await open(OPTIONS, forge({ claims: withBytes(claims, [0xc3, 0xa9]) }))
    for (const bytes of Object.values(BROKEN))
      await verifier.refuses(forge({ claims: withBytes(claims, bytes) }))
  })

  attack('a name of a claim that is not UTF-8', async ({ open }) => {
    const claims = { ...CLAIMS, [`role${MARK}`]: 'admin' }
    const verifier = await open(OPTIONS, forge({ claims: withBytes(claims, [0xc3, 0xa9]) }))
    for (const bytes of Object.values(BROKEN))
      await verifier.refuses(forge({ claims: withBytes(claims, bytes) }))
  })

  attack('a header that is not UTF-8 (RFC 7515 §5.2)', async ({ open }) => {
    const header = { alg: 'HS256', typ: 'JWT', note: MARK }
    const verifier = await open(OPTIONS, forge({ header: withBytes(header, [0xc3, 0xa9]) }))
    for (const bytes of Object.values(BROKEN))
      await verifier.refuses(forge({ header: withBytes(header, bytes) }))
  })

  ownAttack(
    'a byte order mark, which a parser may drop (RFC 8259 §8.1), and then two tokens are one',
    async () => {
      const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) })
      await tokens.verify(forge())
      const mark = Buffer.from('\uFEFF')
      const header = Buffer.concat([mark, Buffer.from('{"alg":"HS256","typ":"JWT"}')])
      const claims = Buffer.concat([mark, Buffer.from(JSON.stringify(CLAIMS))])
      for (const token of [forge({ header }), forge({ claims }), forge({ header, claims })]) {
        await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
      }
    },
  )

  attack('claims in another encoding', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    const little = Buffer.from(JSON.stringify(CLAIMS), 'utf16le')
    const big = Buffer.from(little).swap16()
    const wide = Buffer.concat(
      Array.from(JSON.stringify(CLAIMS), (char) => Buffer.from([0, 0, 0, char.charCodeAt(0)])),
    )
    const marked = [Buffer.from([0xff, 0xfe]), little]
    for (const claims of [little, big, wide, Buffer.concat(marked)]) await verifier.refuses(forge({ claims }))
  })
})
