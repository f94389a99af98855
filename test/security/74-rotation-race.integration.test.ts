import { expect } from 'vitest'
import type { TokenManager } from '../../packages/tokenlib/src/index.js'
import { createClock, openToken } from '../helpers/manager.js'
import { outcomeOf, toPair } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, NOW } from './harness/forge.js'
import { createPlace, describeStores, openManager, STORES } from './harness/stores.js'

const AT_ONCE = 50
const placeOf = (refreshToken: string) => {
  const { jti, gen, par } = openToken(refreshToken).claims
  return { jti, gen, par }
}

/** Fifty refreshes of one token at once, by two processes. */
async function race(managers: readonly TokenManager[], token: string): Promise<string[]> {
  const attempts = Array.from({ length: AT_ONCE }, (_, at) =>
    (managers[at % managers.length] as TokenManager).sessions.refresh(token),
  )
  return (await Promise.all(attempts)).map((made) => toPair(made).refreshToken)
}

describeAttacks(
  'one refresh token, used many times at once (CVE-2026-1035, CVE-2026-53517, CVE-2026-50631)',
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
        const alarms: unknown[] = []
        for (const tokens of managers) tokens.on('reuseDetected', (event) => alarms.push(event))
        const refresh = async (token: string, at: 0 | 1 = 0): Promise<string> =>
          toPair(await managers[at].sessions.refresh(token)).refreshToken
        return { clock, managers, tokens: managers[0], refresh, alarms }
      }

      ownAttack('fifty at once make one line of successors, however many answers there are', async () => {
        const { managers, tokens, clock, alarms } = await open(10)
        let { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
        for (let generation = 2; generation <= 4; generation++) {
          clock.seconds += 10
          const { jti: par } = placeOf(refreshToken)
          const successors = await race(managers, refreshToken)
          for (const successor of successors)
            expect(placeOf(successor)).toMatchObject({ gen: generation, par })
          refreshToken = successors.at(-generation) as string
        }
        expect([await tokens.sessions.list('ada'), alarms]).toEqual([[expect.anything()], []])
        clock.seconds += 60
        expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('ok')
      })

      ownAttack('of the successors of one token, only one can go on, also without a grace', async () => {
        const { managers, tokens, alarms } = await open(0)
        const { refreshToken, accessToken } = await tokens.sessions.open({ uid: 'ada' })
        const [one, other] = await race(managers, refreshToken)
        expect(await outcomeOf(tokens.sessions.refresh(one as string))).toBe('ok')
        expect(alarms).toEqual([])
        expect(await outcomeOf(tokens.sessions.refresh(other as string))).toBe('REFRESH_TOKEN_REUSED')
        expect(alarms).toHaveLength(1)
        expect(await outcomeOf(tokens.verify(accessToken))).toBe('TOKEN_REVOKED')
      })

      ownAttack('two lines out of one token, by a thief who is as fast as the victim', async () => {
        const { managers, clock, refresh, alarms } = await open(10)
        const [victim, thief] = managers
        const { refreshToken: stolen } = await victim.sessions.open({ uid: 'ada' })
        clock.seconds += 600
        const [own, copy] = await Promise.all([refresh(stolen, 0), refresh(stolen, 1)])
        expect(alarms).toEqual([])
        // They are siblings: anyone who goes on leaves the other behind.
        clock.seconds += 600
        const next = await thief.sessions.refresh(copy)
        clock.seconds += 600
        expect(await outcomeOf(victim.sessions.refresh(own))).toBe('REFRESH_TOKEN_REUSED')
        expect(alarms).toHaveLength(1)
        expect(await outcomeOf(thief.verify(next.accessToken))).toBe('TOKEN_REVOKED')
        expect(await outcomeOf(thief.sessions.refresh(toPair(next).refreshToken))).toBe('TOKEN_REVOKED')
      })

      ownAttack('a thief who refreshes in the moment after each refresh of the victim', async () => {
        const { managers, clock, refresh, alarms } = await open(10)
        const [victim, thief] = managers
        const { refreshToken: stolen } = await victim.sessions.open({ uid: 'ada' })
        clock.seconds += 600
        const second = await refresh(stolen)
        const copy = await refresh(stolen, 1)
        clock.seconds += 600
        const third = await refresh(second)
        for (const token of [stolen, copy]) {
          expect(await outcomeOf(thief.sessions.refresh(token))).toBe('REFRESH_SUPERSEDED')
        }
        expect(alarms).toEqual([])
        clock.seconds += 600
        await refresh(third)
        expect(await outcomeOf(thief.sessions.refresh(copy))).toBe('REFRESH_TOKEN_REUSED')
        expect(alarms).toHaveLength(1)
      })

      ownAttack('an older token than the one before, within the grace of the newest', async () => {
        const { tokens, clock, refresh } = await open(300)
        const { refreshToken: first, accessToken } = await tokens.sessions.open({ uid: 'ada' })
        clock.seconds += 300
        const second = await refresh(first)
        clock.seconds += 300
        const third = await refresh(second)
        clock.seconds += 299
        expect(await outcomeOf(tokens.sessions.refresh(first))).toBe('REFRESH_SUPERSEDED')
        clock.seconds += 1
        const fourth = await refresh(third)
        expect(await outcomeOf(tokens.sessions.refresh(first))).toBe('REFRESH_TOKEN_REUSED')
        expect(await outcomeOf(tokens.sessions.refresh(fourth))).toBe('TOKEN_REVOKED')
        clock.seconds -= 600
        expect(await outcomeOf(tokens.verify(accessToken))).toBe('TOKEN_REVOKED')
      })

      ownAttack('the grace, held open by using it again and again', async () => {
        const { tokens, clock, refresh } = await open(10)
        const { refreshToken: first } = await tokens.sessions.open({ uid: 'ada' })
        clock.seconds += 10
        const second = await refresh(first)
        for (let seconds = 0; seconds < 9; seconds += 3) {
          clock.seconds += 3
          expect(await tokens.sessions.refresh(second)).toHaveProperty('refreshToken', null)
        }
        clock.seconds += 1
        await refresh(second)
        for (let seconds = 0; seconds < 9; seconds += 3) {
          clock.seconds += 3
          expect(await outcomeOf(tokens.sessions.refresh(first))).toBe('REFRESH_SUPERSEDED')
        }
        clock.seconds += 1
        expect(await outcomeOf(tokens.sessions.refresh(first))).toBe('REFRESH_TOKEN_REUSED')
      })

      ownAttack('a refresh token of no session, or of a session that the store has never seen', async () => {
        const { tokens } = await open(10)
        const { sid = '' } = await tokens.verify((await tokens.sessions.open({ uid: 'ada' })).accessToken)
        const mint = (claims: object): string => forge({ claims: { ...CLAIMS, type: 'refresh', ...claims } })
        const place = { gen: 1, par: '', sat: NOW * 1000 }
        for (const claims of [{}, place, { sid }, { sid, gen: 1 }, { sid, gen: 1, par: '' }]) {
          expect(await outcomeOf(tokens.sessions.refresh(mint(claims)))).toBe('TOKEN_INVALID')
        }
        expect(await outcomeOf(tokens.sessions.refresh(mint({ sid: 'unheard', ...place })))).toBe(
          'TOKEN_REVOKED',
        )
        for (const gen of [-1, 0.5, '0', null, 2 ** 53]) {
          expect(await outcomeOf(tokens.sessions.refresh(mint({ sid, ...place, gen })))).toBe('TOKEN_INVALID')
        }
        expect(await outcomeOf(tokens.sessions.refresh(tokens.createRefreshToken({ uid: 'ada' })))).toBe(
          'TOKEN_INVALID',
        )
        expect(await tokens.sessions.list('ada')).toHaveLength(1)
      })
    })
  },
)
