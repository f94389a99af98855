import { expect } from 'vitest'
import { type TokenManager, type TokenPair } from '../../packages/tokenlib/src/index.js'
import { FOREVER } from '../../packages/tokenlib/src/kit.js'
import { createClock } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { createPlace, describeStores, openManager, STORES } from './harness/stores.js'

const outcomes = async (
  tokens: TokenManager,
  { accessToken, refreshToken }: TokenPair,
): Promise<string[]> => [
  await outcomeOf(tokens.verify(accessToken)),
  await outcomeOf(tokens.verify(refreshToken, { type: 'refresh' })),
]
const GOOD = ['ok', 'ok']
const REVOKED = ['TOKEN_REVOKED', 'TOKEN_REVOKED']

const WHEN = ['never', 'before', 'at once', 'later'] as const

describeAttacks('a narrow revocation that hides a wider one (CVE-2026-8922, CVE-2026-18218)', () => {
  describeStores(STORES, (kind) => {
    ownAttack('all 16 combinations of everybody, the user, the session and the token, in turn', async () => {
      const tokens = await openManager(kind, createPlace(), createClock())
      for (let bits = 0; bits < 16; bits++) {
        const uid = `user-${bits}`
        const pair = await tokens.sessions.open({ uid })
        const payloads = [
          await tokens.verify(pair.accessToken),
          await tokens.verify(pair.refreshToken, { type: 'refresh' }),
        ] as const
        const steps = [
          () => tokens.revoke.all(),
          () => tokens.revoke.user(uid),
          () => tokens.revoke.session(payloads[0]),
          () => Promise.all(payloads.map((payload) => tokens.revoke.token(payload))),
        ]
        const chosen = steps.filter((_, at) => (bits >> at) & 1)
        // The widest first, or last.
        for (const step of bits % 2 === 0 ? chosen : chosen.toReversed()) await step()
        expect(await outcomes(tokens, pair), String(bits)).toEqual(bits === 0 ? GOOD : REVOKED)
        expect(await outcomes(tokens, await tokens.sessions.open({ uid }))).toEqual(GOOD)
      }
    })

    ownAttack('all 16 combinations of older and newer moments, for everybody and for the user', async () => {
      const clock = createClock()
      const tokens = await openManager(kind, createPlace(), clock)
      for (const all of WHEN) {
        for (const user of WHEN) {
          const uid = `${all}, ${user}`
          const revoke = async (when: (typeof WHEN)[number]): Promise<void> => {
            if (user === when) await tokens.revoke.user(uid)
            if (all === when) await tokens.revoke.all()
          }
          clock.seconds += 100
          await revoke('before')
          clock.seconds += 10
          const pair = await tokens.sessions.open({ uid })
          await revoke('at once')
          clock.seconds += 10
          await revoke('later')
          const isRevoked = [all, user].some((when) => when === 'at once' || when === 'later')
          expect(await outcomes(tokens, pair), uid).toEqual(isRevoked ? REVOKED : GOOD)
        }
      }
    })

    ownAttack('a later revocation with an earlier moment, by a clock that was set back', async () => {
      const clock = createClock()
      const place = createPlace()
      const tokens = await openManager(kind, place, clock)
      const store = await kind.open(place, clock)
      await store.prepare({ longestLifetime: 1000 })
      const pair = await tokens.sessions.open({ uid: 'ada' })
      expect(await outcomes(tokens, pair)).toEqual(GOOD)
      await tokens.revoke.user('ada')
      // Further than stores make up for by themselves.
      clock.seconds -= 7200
      const entries = [
        { kind: 'user', id: 'ada', notBefore: 0, until: 0 },
        { kind: 'all', id: '', notBefore: 0, until: 0 },
        { kind: 'user', id: 'bob', notBefore: FOREVER, until: FOREVER },
      ] as const
      for (const entry of entries) await store.revoke([entry])
      await tokens.revoke.user('ada')
      clock.seconds += 7200
      expect(await outcomes(tokens, pair)).toEqual(REVOKED)
      // Nor does somebody's mistake reach into the future: the user could never log in again.
      expect(await outcomes(tokens, await tokens.sessions.open({ uid: 'bob' }))).toEqual(GOOD)
    })

    ownAttack('a revocation of one kind leaves those of others alone', async () => {
      const tokens = await openManager(kind, createPlace(), createClock())
      const [ada, other, bob] = [
        await tokens.sessions.open({ uid: 'ada' }),
        await tokens.sessions.open({ uid: 'ada' }),
        await tokens.sessions.open({ uid: 'bob' }),
      ]
      await tokens.revoke.token(await tokens.verify(ada.accessToken))
      expect(await outcomes(tokens, ada)).toEqual(['TOKEN_REVOKED', 'ok'])
      await tokens.revoke.session(await tokens.verify(ada.refreshToken, { type: 'refresh' }))
      expect(await outcomes(tokens, ada)).toEqual(REVOKED)
      expect(await outcomes(tokens, other)).toEqual(GOOD)
      await tokens.revoke.user('ada')
      expect(await outcomes(tokens, other)).toEqual(REVOKED)
      expect(await outcomes(tokens, bob)).toEqual(GOOD)
      await tokens.revoke.all()
      expect(await outcomes(tokens, bob)).toEqual(REVOKED)
    })
  })
})
