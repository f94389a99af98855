import { expect, onTestFinished, test } from 'vitest'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { createClock } from '../helpers/manager.js'
import { createRevocable, outcomeOf, toPair } from '../helpers/revocable.js'
import { createPlace, describeStores, STORES } from '../security/harness/stores.js'

describeStores(STORES, (kind) => {
  test.each([false, true])(
    'rights that are taken away are gone with the next refresh, with a replica: %s',
    async (hasReplica) => {
      const clock = createClock()
      const place = createPlace()
      const roles = new Map([['ada', 'admin']])
      const open = async () => {
        const plain = await kind.open(place, clock)
        const store = hasReplica ? replicate(plain) : plain
        if (hasReplica) onTestFinished(() => store.close())
        const { tokens } = createRevocable(
          { JWT_REFRESH_GRACE: 0 },
          {
            clock,
            store,
            async describeUser(uid) {
              const role = roles.get(uid)
              return role === undefined
                ? null
                : { claims: { role }, scopes: role === 'admin' ? ['admin'] : [] }
            },
          },
        )
        await tokens.ready()
        return tokens
      }
      const [one, other] = [await open(), await open()]
      const enter = (token: string): Promise<string> => outcomeOf(one.verify(token, { scopes: ['admin'] }))

      const first = await one.sessions.open({ uid: 'ada' })
      expect(await enter(first.accessToken)).toBe('ok')
      roles.set('ada', 'reader')
      const second = toPair(await other.sessions.refresh(first.refreshToken))
      expect(await enter(second.accessToken)).toBe('INSUFFICIENT_SCOPE')
      roles.delete('ada')
      expect(await outcomeOf(other.sessions.refresh(second.refreshToken))).toBe('SUBJECT_NOT_FOUND')
      expect(await outcomeOf(other.verify(second.accessToken))).toBe('TOKEN_REVOKED')
      expect(await one.sessions.list('ada')).toEqual([])
    },
  )
})
