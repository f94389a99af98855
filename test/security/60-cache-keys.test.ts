import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { outcomeOf } from '../helpers/revocable.js'
import { assertWithstood, attack, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, encode, forge, SECRET } from './harness/forge.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const OPTIONS = { algorithm: 'HS256', key: SECRET, cache: true } as const
const OTHER_SECRET = 'Q7r-wZ4_kV9Xn2Bm5Tc8Hy1Lp6Gd3Js0Fq-Eu_Ai7Ow2Rt4Mk9Nl5Cv8Dx1Sz3P'

describeAttacks('a cache of verified tokens that mixes them up (CVE-2026-35039)', () => {
  attack('a forged signature under claims that were verified before', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    await verifier.accepts(forge())
    const [header, payload, signature = ''] = forge().split('.')
    const flipped = (signature.startsWith('A') ? 'B' : 'A') + signature.slice(1)
    for (const forged of ['A'.repeat(43), flipped, signature.slice(1), signature.toLowerCase(), '']) {
      await verifier.refuses(`${header}.${payload}.${forged}`)
    }
  })

  attack('forged claims or a forged header over a signature that was verified before', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    await verifier.accepts(forge())
    const [header, payload, signature] = forge().split('.')
    const root = encode({ ...CLAIMS, sub: 'bob' })
    expect(root).toHaveLength(payload?.length ?? 0)
    await verifier.refuses(`${header}.${root}.${signature}`)
    await verifier.refuses(`${encode({ alg: 'HS256', typ: 'jwt' })}.${payload}.${signature}`)
    await verifier.refuses(`${encode({ alg: 'none', typ: 'JWT' })}.${payload}.${signature}`)
  })

  attack('a verified token with something before or behind it', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    await verifier.accepts(forge())
    for (const more of ['A', '.', '.A', '\0', '%', 'é']) {
      await verifier.refuses(`${forge()}${more}`)
      await verifier.refuses(`${more}${forge()}`)
    }
  })

  attack('everybody gets their own claims, from a cache that is full', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    const users = Array.from({ length: 1100 }, (_, at) => `user-${at}`)
    const tokens = new Map(users.map((sub) => [sub, forge({ claims: { ...CLAIMS, sub } })]))
    for (const round of [users, users.toReversed(), users.slice(0, 100)]) {
      for (const sub of round) {
        const claims = await verifier.accepts(tokens.get(sub) ?? '')
        assertWithstood(claims['sub'] === sub, `${sub} became ${String(claims['sub'])}`)
      }
    }
  })

  attack('what one verifier knows, another one with other rules does not', async ({ open }) => {
    const honest = await open(OPTIONS, forge())
    await honest.accepts(forge())
    const withOther = { ...OPTIONS, key: OTHER_SECRET }
    await (await open(withOther, forge({ key: OTHER_SECRET }))).refuses(forge())
    const forUs = { ...CLAIMS, aud: 'api', iss: 'https://id.example' }
    const narrow = { ...OPTIONS, audience: 'api', issuer: 'https://id.example' }
    const strict = await open(narrow, forge({ claims: forUs }))
    await honest.accepts(forge({ claims: { ...forUs, aud: 'other' } }))
    await strict.refuses(forge({ claims: { ...forUs, aud: 'other' } }))
    const longer = await open({ ...OPTIONS, algorithm: 'HS384' }, forge({ algorithm: 'HS384' }))
    await longer.refuses(forge())
  })

  attack('what one request writes into the claims, the next one does not read', async ({ open }) => {
    const verifier = await open(OPTIONS, forge({ claims: { ...CLAIMS, roles: ['user'] } }))
    const token = forge({ claims: { ...CLAIMS, roles: ['user'] } })
    const claims = await verifier.accepts(token)
    Reflect.set(claims, 'sub', 'root')
    Reflect.set(claims['roles'] as string[], 0, 'admin')
    const again = await verifier.accepts(token)
    const isIntact = again['sub'] === 'ada' && (again['roles'] as string[])[0] === 'user'
    assertWithstood(isIntact, 'The claims of the token were overwritten')
  })

  ownAttack('a token that passed a lenient check does not thereby pass a strict one', async () => {
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_VERIFIED_CACHE_SIZE: 100 })
    const tokens = new TokenManager({ config, store: createMemoryStore() })
    const expired = forge({ claims: { ...CLAIMS, exp: CLAIMS.iat + 1 } })
    expect(internalsOf(tokens).verifyWithoutRevocation(expired, { allowExpired: true }).sub).toBe('ada')
    expect(await outcomeOf(tokens.verify(expired))).toBe('TOKEN_EXPIRED')
    const refresh = forge({ claims: { ...CLAIMS, type: 'refresh' } })
    expect(await outcomeOf(tokens.verify(refresh, { type: 'any' }))).toBe('ok')
    expect(await outcomeOf(tokens.verify(refresh))).toBe('ACCESS_TOKEN_REQUIRED')
    const token = forge()
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
    expect(await outcomeOf(tokens.verify(token, { fresh: true }))).toBe('FRESH_TOKEN_REQUIRED')
    expect(await outcomeOf(tokens.verify(token, { scopes: ['admin'] }))).toBe('INSUFFICIENT_SCOPE')
    await tokens.revoke.token({ jti: CLAIMS.jti, exp: CLAIMS.exp })
    expect(await outcomeOf(tokens.verify(token, { skipRevocation: true }))).toBe('ok')
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
  })

  ownAttack('nobody outside chooses a key of the cache', () => {
    expect(new TokenConfig({ JWT_VERIFIED_CACHE_SIZE: 5 }).JWT_VERIFIED_CACHE_SIZE).toBe(5)
    for (const size of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5', true, null, () => 'key']) {
      expect(() => new TokenConfig({ JWT_VERIFIED_CACHE_SIZE: size as number })).toThrow(
        expect.objectContaining({ code: 'CONFIGURATION_INVALID' }),
      )
    }
  })
})
