import { expect, vi } from 'vitest'
import { ConfigurationError, type TokenManager, type TokenPair } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock } from '../helpers/manager.js'
import { advance, createRevocable, outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { createPlace, describeStores, openManager } from './harness/stores.js'

const tryPair = async (tokens: TokenManager, { accessToken, refreshToken }: TokenPair): Promise<string[]> => [
  await outcomeOf(tokens.verify(accessToken)),
  await outcomeOf(tokens.sessions.refresh(refreshToken)),
]

describeAttacks('a restart that forgets what was used or revoked (CVE-2026-9802)', () => {
  describeStores(['SQLite', 'Redis', 'PostgreSQL', 'MariaDB'], (kind) => {
    ownAttack('a refresh token that was used before the restart', async () => {
      const place = createPlace()
      const clock = createClock()
      const before = await openManager(kind, place, clock)
      const used = await before.sessions.open({ uid: 'ada' })
      const next = await advance({ tokens: before, clock }, used.refreshToken)
      const newest = await advance({ tokens: before, clock }, next.refreshToken)
      const untouched = await before.sessions.open({ uid: 'ada' })
      clock.seconds += 60
      const after = await openManager(kind, place, clock)
      // An honest session goes on.
      expect(await tryPair(after, untouched)).toEqual(['ok', 'ok'])
      expect(await outcomeOf(after.verify(newest.accessToken))).toBe('ok')
      expect(await outcomeOf(after.sessions.refresh(used.refreshToken))).toBe('REFRESH_TOKEN_REUSED')
      expect(await tryPair(after, newest)).toEqual(['TOKEN_REVOKED', 'TOKEN_REVOKED'])
      // And the verdict outlives the next restart.
      const last = await openManager(kind, place, clock)
      expect(await tryPair(last, newest)).toEqual(['TOKEN_REVOKED', 'TOKEN_REVOKED'])
    })

    ownAttack('everything that was revoked before the restart, in each of the ways', async () => {
      const place = createPlace()
      const clock = createClock()
      const before = await openManager(kind, place, clock)
      const pairs: TokenPair[] = []
      const login = async (uid: string): Promise<TokenPair> => {
        const pair = await before.sessions.open({ uid })
        pairs.push(pair)
        return pair
      }
      await before.logout(await before.verify((await login('ada')).accessToken))
      const single = await login('bob')
      await before.revoke.token(await before.verify(single.accessToken))
      await before.revoke.token(await before.verify(single.refreshToken, { type: 'refresh' }))
      await login('cleo')
      await before.revoke.user('cleo')
      const bystander = await before.sessions.open({ uid: 'dora' })
      const after = await openManager(kind, place, clock)
      for (const pair of pairs) expect(await tryPair(after, pair)).toEqual(['TOKEN_REVOKED', 'TOKEN_REVOKED'])
      expect(await tryPair(after, bystander)).toEqual(['ok', 'ok'])
      await after.revoke.all()
      const last = await openManager(kind, place, clock)
      expect(await tryPair(last, bystander)).toEqual(['TOKEN_REVOKED', 'TOKEN_REVOKED'])
    })

    ownAttack('a restart within the grace, so that the used token is young again', async () => {
      const place = createPlace()
      const clock = createClock()
      const first = await openManager(kind, place, clock)
      const { refreshToken } = await first.sessions.open({ uid: 'ada' })
      const next = await advance({ tokens: first, clock }, refreshToken)
      await advance({ tokens: first, clock }, next.refreshToken)
      clock.seconds += 59
      const second = await openManager(kind, place, clock)
      expect(await outcomeOf(second.sessions.refresh(refreshToken))).toBe('REFRESH_SUPERSEDED')
      clock.seconds += 1
      // Counted from the rotation, not from the start of a process.
      const third = await openManager(kind, place, clock)
      expect(await outcomeOf(third.sessions.refresh(refreshToken))).toBe('REFRESH_TOKEN_REUSED')
    })
  })

  ownAttack('the store that does forget, in production', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    try {
      expect(() => createMemoryStore()).toThrow(ConfigurationError)
      expect(() => createMemoryStore({ allowInProduction: 1 as unknown as boolean })).toThrow(TypeError)
      const store = createMemoryStore({ allowInProduction: true })
      const { tokens } = createRevocable({}, { store })
      const pair = await tokens.sessions.open({ uid: 'ada' })
      expect(await outcomeOf(tokens.verify(pair.accessToken))).toBe('ok')
      // What it has forgotten is unknown, and unknown is not "no".
      await store.close()
      expect(await tryPair(tokens, pair)).toEqual(['REVOCATION_UNAVAILABLE', 'REVOCATION_UNAVAILABLE'])
    } finally {
      vi.unstubAllEnvs()
    }
  })

  ownAttack('a session whose store was replaced by an empty one', async () => {
    const clock = createClock()
    const before = createRevocable({}, { clock })
    const pair = await before.tokens.sessions.open({ uid: 'ada' })
    expect(await outcomeOf(before.tokens.sessions.refresh(pair.refreshToken))).toBe('ok')
    const { tokens } = createRevocable({}, { clock })
    expect(await outcomeOf(tokens.sessions.refresh(pair.refreshToken))).toBe('TOKEN_REVOKED')
  })
})
