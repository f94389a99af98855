import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { outcomeOf } from '../helpers/revocable.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, NOW, SECRET } from './harness/forge.js'

const OPTIONS = { algorithm: 'HS256', key: SECRET, cache: true } as const

describeAttacks('a cache that outlives what it remembers (CVE-2026-107719)', () => {
  attack('a token expires in the cache', async ({ open, setTime }) => {
    const verifier = await open(OPTIONS, forge())
    for (const seconds of [0, 1, 599]) {
      setTime(NOW + seconds)
      await verifier.accepts(forge())
    }
    for (const seconds of [601, 602, 3600, 86_400]) {
      setTime(NOW + seconds)
      await verifier.refuses(forge())
    }
  })

  attack('a token without a date of issue expires there, too', async ({ open, setTime }) => {
    const { iat: _, ...claims } = CLAIMS
    const verifier = await open(OPTIONS, forge({ claims }))
    await verifier.accepts(forge({ claims }))
    for (const seconds of [601, 660, 86_400]) {
      setTime(NOW + seconds)
      await verifier.refuses(forge({ claims }))
    }
  })

  attack('a leeway is not added a second time', async ({ open, setTime }) => {
    const verifier = await open({ ...OPTIONS, leeway: 30 }, forge())
    setTime(CLAIMS.exp + 29)
    await verifier.accepts(forge())
    for (const seconds of [31, 59, 61, 120]) {
      setTime(CLAIMS.exp + seconds)
      await verifier.refuses(forge())
    }
  })

  attack('a clock that is set back makes a known token too early again', async ({ open, setTime }) => {
    const claims = { ...CLAIMS, iat: NOW - 600, nbf: NOW - 10 }
    const verifier = await open(OPTIONS, forge({ claims }))
    await verifier.accepts(forge({ claims }))
    setTime(NOW - 60)
    await verifier.refuses(forge({ claims }))
    setTime(NOW)
    await verifier.accepts(forge({ claims }))
  })

  ownAttack('a token is revoked in the cache, by every way to revoke it', async () => {
    type Revoke = (
      tokens: TokenManager,
      payload: Awaited<ReturnType<TokenManager['verify']>>,
    ) => Promise<unknown>
    const ways: Readonly<Record<string, Revoke>> = {
      token: (tokens, payload) => tokens.revoke.token(payload),
      session: (tokens, payload) => tokens.revoke.session(payload),
      user: (tokens, payload) => tokens.revoke.user(payload.sub),
      key: (tokens) => tokens.revoke.key(tokens.keys.current as string),
      all: (tokens) => tokens.revoke.all(),
      logout: (tokens, payload) => tokens.logout(payload),
    }
    for (const [name, revoke] of Object.entries(ways)) {
      const tokens = createManager()
      const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
      for (let round = 0; round < 3; round++) {
        expect(await outcomeOf(tokens.verify(accessToken)), name).toBe('ok')
      }
      await revoke(tokens, await tokens.verify(accessToken))
      expect(await outcomeOf(tokens.verify(accessToken)), name).toBe('TOKEN_REVOKED')
    }
  })

  ownAttack('the callback is asked again about a token that is in the cache', async () => {
    const tokens = createManager()
    let answer = false
    let asked = 0
    tokens.setTokenBlocklist(() => ((asked += 1), answer))
    expect(await outcomeOf(tokens.verify(forge()))).toBe('ok')
    expect(await outcomeOf(tokens.verify(forge()))).toBe('ok')
    answer = true
    expect(await outcomeOf(tokens.verify(forge()))).toBe('TOKEN_REVOKED')
    expect(asked).toBe(3)
  })

  ownAttack('a schema that builds something new is asked again, and its refusal counts', async () => {
    let strict = false
    const tokens = new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_VERIFIED_CACHE_SIZE: 100 }),
      claims: {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: () => (strict ? { issues: [{ message: 'no' }] } : { value: { at: new Date(0) } }),
        },
      },
    })
    expect(await outcomeOf(tokens.verify(forge()))).toBe('ok')
    strict = true
    expect(await outcomeOf(tokens.verify(forge()))).toBe('CLAIMS_INVALID')
  })
})

function createManager(): TokenManager {
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_VERIFIED_CACHE_SIZE: 100 })
  return new TokenManager({ config, store: createMemoryStore() })
}
