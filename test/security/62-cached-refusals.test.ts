import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { outcomeOf } from '../helpers/revocable.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, NOW, SECRET } from './harness/forge.js'
import { countWork } from './limits/count-work.js'

const OPTIONS = { algorithm: 'HS256', key: SECRET, cache: true } as const

describeAttacks('a refusal that is remembered (fast-jwt 195)', () => {
  attack('a token that came too early is good in time', async ({ open, setTime }) => {
    const verifier = await open(OPTIONS, forge())
    const claims = { ...CLAIMS, nbf: NOW + 2 }
    await verifier.refuses(forge({ claims }))
    setTime(NOW + 1)
    await verifier.refuses(forge({ claims }))
    setTime(NOW + 2)
    expect((await verifier.accepts(forge({ claims })))['sub']).toBe('ada')
  })

  attack('a forged token does not spoil the genuine one, nor the other way round', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    const claims = { ...CLAIMS, jti: 'attacked' }
    const forged = forge({ claims, signature: 'A'.repeat(43) })
    await verifier.refuses(forged)
    await verifier.accepts(forge({ claims }))
    await verifier.refuses(forged)
    await verifier.accepts(forge({ claims }))
  })

  attack('1,000 forged tokens do not drive an honest one out for good', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    const start = forge().slice(0, -6)
    for (let at = 0; at < 1000; at++) await verifier.refuses(`${start}${String(at).padStart(5, '0')}A`)
    await verifier.accepts(forge())
  })

  ownAttack('forged tokens take no place in the cache', async () => {
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_VERIFIED_CACHE_SIZE: 4 })
    const tokens = new TokenManager({ config })
    const honest = forge()
    for (let times = 0; times < 2; times++) await tokens.verify(honest)
    for (let at = 0; at < 50; at++) {
      const forged = forge({ claims: { ...CLAIMS, jti: `forged-${at}` }, signature: 'A'.repeat(43) })
      expect(await outcomeOf(tokens.verify(forged))).toBe('TOKEN_SIGNATURE_INVALID')
    }
    const { work } = await countWork(() => tokens.verify(honest))
    // Claims are parsed once their signature holds.
    expect(work.by['JSON.parse']).toBeUndefined()
    // Genuine ones do.
    for (let at = 0; at < 50; at++) {
      const other = forge({ claims: { ...CLAIMS, jti: `other-${at}` } })
      for (let times = 0; times < 2; times++) await tokens.verify(other)
    }
    const again = await countWork(() => tokens.verify(honest))
    expect(again.work.by['JSON.parse']).toBeGreaterThan(0)
  })

  ownAttack('a store that could not answer is asked again', async () => {
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_VERIFIED_CACHE_SIZE: 100 })
    const tokens = new TokenManager({ config })
    const answers: (() => boolean)[] = [
      () => false,
      () => {
        throw new Error('ECONNREFUSED')
      },
      () => true,
      () => false,
    ]
    tokens.setTokenBlocklist(() => answers.shift()?.() ?? true)
    const outcomes: string[] = []
    for (let round = 0; round < 4; round++) outcomes.push(await outcomeOf(tokens.verify(forge())))
    expect(outcomes).toEqual(['ok', 'REVOCATION_UNAVAILABLE', 'TOKEN_REVOKED', 'ok'])
  })
})
