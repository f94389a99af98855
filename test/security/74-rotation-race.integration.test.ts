import { expect } from 'vitest'
import type { TokenManager, TokenPair } from '../../src/index.js'
import { createClock, openToken } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge } from './harness/forge.js'
import { createPlace, describeStores, openManager, STORES } from './harness/stores.js'

const AT_ONCE = 50
const generationOf = ({ refreshToken }: TokenPair): unknown => openToken(refreshToken).claims['gen']

/** Fifty refreshes of one token at once, by two processes; the pairs that came of it, and the codes of the others. */
async function race(managers: readonly TokenManager[], token: string) {
  const attempts = Array.from({ length: AT_ONCE }, async (_, at) =>
    managers[at % managers.length]?.refresh(token),
  )
  const settled = await Promise.allSettled(attempts)
  return {
    pairs: settled.flatMap((one) => (one.status === 'fulfilled' && one.value ? [one.value] : [])),
    codes: settled.flatMap((one) =>
      one.status === 'rejected' ? [(one.reason as { code: string }).code] : [],
    ),
  }
}

describeAttacks(
  'ATK-74 one refresh token, used many times at once (CVE-2026-1035, CVE-2026-53517, CVE-2026-50631)',
  () => {
    describeStores(STORES, (kind) => {
      const open = async (grace: number) => {
        const clock = createClock()
        const place = createPlace()
        const options = { JWT_REFRESH_GRACE: grace }
        const managers = [
          await openManager(kind, place, clock, options),
          await openManager(kind, place, clock, options),
        ] as const
        return { clock, managers, tokens: managers[0] }
      }

      ownAttack('fifty at once make one line of successors, however many answers there are', async () => {
        const { managers, tokens, clock } = await open(10)
        let { refreshToken } = await tokens.createTokenPair({ uid: 'ada' })
        for (let generation = 1; generation <= 3; generation++) {
          const { pairs, codes } = await race(managers, refreshToken)
          expect(codes).toEqual([])
          expect(new Set(pairs.map(generationOf))).toEqual(new Set([generation]))
          refreshToken = pairs.at(-generation)?.refreshToken ?? ''
          clock.seconds += 10
        }
        expect(await tokens.listSessions('ada')).toHaveLength(1)
        clock.seconds += 60
        expect(await outcomeOf(tokens.refresh(refreshToken))).toBe('ok')
      })

      ownAttack('without a grace there is at most one winner, and the others end the session', async () => {
        const { managers, tokens } = await open(0)
        const control = await tokens.createTokenPair({ uid: 'ada' })
        expect(await outcomeOf(tokens.refresh(control.refreshToken))).toBe('ok')
        const { refreshToken } = await tokens.createTokenPair({ uid: 'ada' })
        const { pairs, codes } = await race(managers, refreshToken)
        expect(pairs.length).toBeLessThanOrEqual(1)
        expect(codes.filter((code) => code === 'REFRESH_TOKEN_REUSED')).toHaveLength(1)
        expect(codes.filter((code) => code !== 'REFRESH_TOKEN_REUSED' && code !== 'TOKEN_REVOKED')).toEqual(
          [],
        )
        for (const pair of pairs) {
          expect(await outcomeOf(tokens.verifyToken(pair.accessToken))).toBe('TOKEN_REVOKED')
          expect(await outcomeOf(tokens.refresh(pair.refreshToken))).toBe('TOKEN_REVOKED')
        }
      })

      ownAttack('two lines out of one token, by a thief who is as fast as the victim', async () => {
        const { managers, clock } = await open(10)
        const [victim, thief] = managers
        const alarms: unknown[] = []
        for (const tokens of managers) tokens.on('reuseDetected', (event) => alarms.push(event))
        const stolen = await victim.createTokenPair({ uid: 'ada' })
        const [own, copy] = await Promise.all([
          victim.refresh(stolen.refreshToken),
          thief.refresh(stolen.refreshToken),
        ])
        expect(alarms).toEqual([])
        // Both are of one generation: whoever goes on leaves the other behind.
        clock.seconds += 600
        const next = await thief.refresh(copy.refreshToken)
        clock.seconds += 600
        expect(await outcomeOf(victim.refresh(own.refreshToken))).toBe('REFRESH_TOKEN_REUSED')
        expect(alarms).toHaveLength(1)
        expect(await outcomeOf(thief.verifyToken(next.accessToken))).toBe('TOKEN_REVOKED')
        expect(await outcomeOf(thief.refresh(next.refreshToken))).toBe('TOKEN_REVOKED')
      })

      ownAttack('an older token than the one before, within the grace of the newest', async () => {
        const { tokens, clock } = await open(300)
        const first = await tokens.createTokenPair({ uid: 'ada' })
        const second = await tokens.refresh(first.refreshToken)
        clock.seconds += 300
        const third = await tokens.refresh(second.refreshToken)
        expect(await outcomeOf(tokens.refresh(second.refreshToken))).toBe('ok')
        expect(await outcomeOf(tokens.refresh(first.refreshToken))).toBe('REFRESH_TOKEN_REUSED')
        expect(await outcomeOf(tokens.refresh(third.refreshToken))).toBe('TOKEN_REVOKED')
        expect(await outcomeOf(tokens.verifyToken(third.accessToken))).toBe('TOKEN_REVOKED')
      })

      ownAttack('the grace, held open by using it again and again', async () => {
        const { tokens, clock } = await open(10)
        const { refreshToken } = await tokens.createTokenPair({ uid: 'ada' })
        await tokens.refresh(refreshToken)
        for (let second = 0; second < 9; second += 3) {
          clock.seconds += 3
          expect(await outcomeOf(tokens.refresh(refreshToken))).toBe('ok')
        }
        clock.seconds += 3
        expect(await outcomeOf(tokens.refresh(refreshToken))).toBe('REFRESH_TOKEN_REUSED')
      })

      ownAttack('a refresh token of no session, or of a session that the store has never seen', async () => {
        const { tokens } = await open(10)
        const { sid = '' } = await tokens.verifyToken(
          (await tokens.createTokenPair({ uid: 'ada' })).accessToken,
        )
        const mint = (claims: object): string => forge({ claims: { ...CLAIMS, type: 'refresh', ...claims } })
        expect(await outcomeOf(tokens.refresh(mint({})))).toBe('TOKEN_INVALID')
        expect(await outcomeOf(tokens.refresh(mint({ gen: 0 })))).toBe('TOKEN_INVALID')
        expect(await outcomeOf(tokens.refresh(mint({ sid })))).toBe('TOKEN_INVALID')
        expect(await outcomeOf(tokens.refresh(mint({ sid: 'unheard', gen: 0 })))).toBe('TOKEN_REVOKED')
        for (const gen of [-1, 0.5, '0', null, 2 ** 53]) {
          expect(await outcomeOf(tokens.refresh(mint({ sid, gen })))).toBe('TOKEN_INVALID')
        }
        expect(await outcomeOf(tokens.refresh(tokens.createRefreshToken({ uid: 'ada' })))).toBe(
          'TOKEN_INVALID',
        )
      })
    })
  },
)
