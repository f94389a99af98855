import { deepEqual, equal, ok } from 'node:assert/strict'
import { FOREVER, type SessionStore } from 'tokenlib/kit'
import { readFrom } from './feed-contract.js'
import { endOldest, ENDED, open, openInTurn, openLimited, refuse, sidsOf } from './limit-contract.js'
import { LIST, rotateFirst, session, type StoreTests, testSessions } from './store-fixture.js'

/** What a store promises of a limit of sessions to those who log in at the same time. */
export function limitRaceContract(tests: StoreTests): void {
  const withSessions = testSessions(tests)

  withSessions('concurrent logins leave as many sessions as the limit allows', async (sessions, fixture) => {
    const stores = [fixture.store, ...(tests.isShared ? [await fixture.another()] : [])]
    const grace = await sessions.open(session(fixture, { user: 'grace' }))
    const { position } = await fixture.store.revoke([])
    const opened = await Promise.all(
      Array.from({ length: 20 }, (_, at) => {
        const own = stores[at % stores.length]?.sessions ?? sessions
        return open(own, session(fixture), endOldest(3))
      }),
    )
    const ended = opened.flatMap((one) => one.ended)
    const live = opened.map(({ sid }) => sid).filter((sid) => !ended.includes(sid))
    equal(new Set(ended).size, 17)
    equal(ended.length, 17)
    for (const { sessions: own } of stores) {
      deepEqual((await sidsOf(own as SessionStore)).toSorted(), live.toSorted())
    }
    const { entries } = await readFrom(fixture.store, position)
    deepEqual(entries.map(({ id }) => id).toSorted(), ended.toSorted())
    for (const sid of ended) deepEqual(await rotateFirst(sessions, sid), ENDED)
    for (const sid of [...live, grace.sid]) {
      equal((await rotateFirst(sessions, sid)).outcome, 'advanced')
    }
  })

  withSessions('with refuse, concurrent logins never exceed the limit', async (sessions, fixture) => {
    const stores = [fixture.store, ...(tests.isShared ? [await fixture.another()] : [])]
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        openLimited(stores[at % stores.length]?.sessions ?? sessions, session(fixture), refuse(3)),
      ),
    )
    const opened = answers.filter((answer) => answer.outcome === 'opened')
    equal(opened.length, 3)
    equal(answers.filter(({ outcome }) => outcome === 'full').length, 17)
    deepEqual((await sidsOf(sessions)).toSorted(), opened.map(({ sid }) => sid).toSorted())
  })

  withSessions('concurrent logins of several users do not affect each other', async (sessions, fixture) => {
    const users = ['ada', 'bob', 'eve', 'Ada']
    await Promise.all(
      Array.from({ length: 24 }, (_, at) =>
        open(sessions, session(fixture, { user: users[at % users.length] as string }), endOldest(2)),
      ),
    )
    for (const user of users) equal((await sessions.list(user, LIST)).length, 2, user)
  })

  if (tests.isShared) {
    withSessions('what was acknowledged holds after the process is gone', async (sessions, fixture) => {
      const [first] = await openInTurn(sessions, fixture, 2)
      const { sid, ended } = await open(sessions, session(fixture), endOldest(2))
      deepEqual(ended, [first])
      const { store } = fixture
      await store.close()
      const next = await fixture.another()
      const revoked = [{ kind: 'session' as const, id: first as string }]
      deepEqual([...(await next.lookup(revoked))], [FOREVER])
      ok((await sidsOf(next.sessions as SessionStore)).includes(sid))
      deepEqual(await openLimited(next.sessions as SessionStore, session(fixture), refuse(2)), {
        outcome: 'full',
      })
    })
  }
}
