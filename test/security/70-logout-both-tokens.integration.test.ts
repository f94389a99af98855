import { expect } from 'vitest'
import type { TokenManager, TokenPair } from '../../packages/tokenlib/src/index.js'
import { createClock } from '../helpers/manager.js'
import { outcomeOf, toPair } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { createPlace, describeStores, openManager } from './harness/stores.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

/** What becomes of both tokens of a pair, and of an attempt to get new ones. */
async function tryPair(tokens: TokenManager, { accessToken, refreshToken }: TokenPair): Promise<string[]> {
  return [
    await outcomeOf(tokens.verify(accessToken)),
    await outcomeOf(tokens.verify(refreshToken, { type: 'refresh' })),
    await outcomeOf(tokens.sessions.refresh(refreshToken)),
  ]
}

const GOOD = ['ok', 'ok', 'ok']
const REVOKED = ['TOKEN_REVOKED', 'TOKEN_REVOKED', 'TOKEN_REVOKED']

describeAttacks(
  'a logout that leaves the other token alive (CVE-2025-56643, CVE-2026-28275, CVE-2026-78357)',
  () => {
    describeStores(['memory', 'SQLite'], (kind) => {
      ownAttack('the refresh token after a logout by the access token, and the other way round', async () => {
        const tokens = await openManager(kind, createPlace(), createClock())
        for (const type of ['access', 'refresh'] as const) {
          const pair = await tokens.sessions.open({ uid: 'ada' })
          const bystander = await tokens.sessions.open({ uid: 'ada' })
          const token = type === 'access' ? pair.accessToken : pair.refreshToken
          await tokens.logout(await tokens.verify(token, { type }))
          expect(await tryPair(tokens, pair)).toEqual(REVOKED)
          expect(await tryPair(tokens, bystander)).toEqual(GOOD)
        }
      })

      ownAttack('the refresh token after a logout by an access token that has expired', async () => {
        const clock = createClock()
        const tokens = await openManager(kind, createPlace(), clock)
        const pair = await tokens.sessions.open({ uid: 'ada' })
        clock.seconds += 3600
        expect(await outcomeOf(tokens.verify(pair.accessToken))).toBe('TOKEN_EXPIRED')
        await tokens.logout(
          internalsOf(tokens).verifyWithoutRevocation(pair.accessToken, { allowExpired: true }),
        )
        expect(await tryPair(tokens, pair)).toEqual(['TOKEN_EXPIRED', 'TOKEN_REVOKED', 'TOKEN_REVOKED'])
      })

      ownAttack('every generation of a session that was refreshed, kept by a thief', async () => {
        const clock = createClock()
        const tokens = await openManager(kind, createPlace(), clock)
        const pairs = [await tokens.sessions.open({ uid: 'ada' })]
        for (let generation = 1; generation < 5; generation++) {
          clock.seconds += 60
          pairs.push(toPair(await tokens.sessions.refresh(pairs.at(-1)?.refreshToken ?? '')))
        }
        const accepted = await Promise.all(
          pairs.map(({ accessToken }) => outcomeOf(tokens.verify(accessToken))),
        )
        expect(accepted).toEqual(pairs.map(() => 'ok'))
        // By the oldest token of all.
        await tokens.logout(await tokens.verify(pairs[0]?.accessToken ?? ''))
        for (const pair of pairs) expect(await tryPair(tokens, pair)).toEqual(REVOKED)
      })

      ownAttack('a logout that the store does not take is no logout, and says so', async () => {
        const place = createPlace()
        const clock = createClock()
        const tokens = await openManager(kind, place, clock)
        const pair = await tokens.sessions.open({ uid: 'ada' })
        const payload = await tokens.verify(pair.accessToken)
        const store = await kind.open(place, clock)
        const deaf = await openManager(
          { ...kind, open: async () => ({ ...store, revoke: () => Promise.reject(new Error('ENOSPC')) }) },
          place,
          clock,
        )
        const told: string[] = []
        deaf.on('revoked', ({ id }) => told.push(id))
        expect(await outcomeOf(deaf.logout(payload))).toBe('REVOCATION_UNAVAILABLE')
        expect(told).toEqual([])
        await tokens.logout(payload)
        expect(await tryPair(deaf, pair)).toEqual(REVOKED)
      })

      ownAttack('a logout by claims that name no session and no token', async () => {
        const tokens = await openManager(kind, createPlace(), createClock())
        const pair = await tokens.sessions.open({ uid: 'ada' })
        for (const claims of [
          {},
          { sid: '' },
          { jti: '' },
          { jti: 7 },
          { sid: null },
          { sid: ['x'] },
          null,
          undefined,
        ]) {
          await expect(tokens.logout(claims as object)).rejects.toThrow(TypeError)
        }
        expect(await tryPair(tokens, pair)).toEqual(GOOD)
      })
    })
  },
)
