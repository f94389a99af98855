import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, encode, forge, SECRET, signInput } from './harness/forge.js'

const TEXT = JSON.stringify(CLAIMS)

describeAttacks('a payload that is not encoded (RFC 7797, CVE-2026-48525)', () => {
  attack('the claims as they are, signed as they are', async ({ open }) => {
    const verifier = await open({ algorithm: 'HS256', key: SECRET }, forge())
    for (const members of [{ b64: false, crit: ['b64'] }, { b64: false }]) {
      const header = encode({ alg: 'HS256', typ: 'JWT', ...members })
      const signature = encode(signInput('HS256', SECRET, `${header}.${TEXT}`))
      await verifier.refuses(`${header}.${TEXT}.${signature}`)
      await verifier.refuses(`${header}.${encode(TEXT)}.${signature}`)
      // Detached (RFC 7515 appendix F): the payload is not even there.
      await verifier.refuses(`${header}..${signature}`)
    }
  })

  attack('the claims encoded, and said not to be', async ({ open }) => {
    const verifier = await open({ algorithm: 'HS256', key: SECRET }, forge())
    await verifier.refuses(forge({ header: { alg: 'HS256', typ: 'JWT', b64: false, crit: ['b64'] } }))
  })

  ownAttack('b64 in any other form', async () => {
    const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) })
    const token = (members: object) => forge({ header: { alg: 'HS256', typ: 'JWT', ...members } })
    await tokens.verify(token({}))
    for (const b64 of [false, true, 'false', 'true', 0, 1, null, [], {}]) {
      await expect(tokens.verify(token({ b64 }))).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    }
  })
})
