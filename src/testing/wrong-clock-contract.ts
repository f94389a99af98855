import { deepEqual, equal, ok } from 'node:assert/strict'
import { FOREVER, MAX_SESSION_LEAD_MS } from '../revocation/revocation.js'
import { readAll, readFrom } from './read-feed.js'
import { LIST, openMany, RULES, session, testSessions } from './session-fixture.js'
import { HOUR, type StoreTests } from './store-fixture.js'

const ENDED = { outcome: 'ended' }

/** What a store promises of sessions that were opened while its clock was ahead, once the clock is right again. */
export function wrongClockContract(tests: StoreTests): void {
  const withSessions = testSessions(tests)

  for (const kind of ['user', 'all'] as const) {
    const key = { kind, id: kind === 'user' ? 'ada' : '' }
    const given = { ...key, notBefore: 0, until: 0 }

    for (const hours of [3, 100]) {
      withSessions(`${kind}: ends what was opened ${hours} h ahead`, async (sessions, fixture) => {
        const { store, now, advance } = fixture
        advance(hours * HOUR)
        const until = now() + HOUR + 1000
        const ahead = await sessions.open(session({ now }))
        const older = await sessions.open(session({ now }))
        await sessions.rotate(older.sid, 0, RULES)
        const grace = await sessions.open(session({ now }, { user: 'grace' }))
        advance(-hours * HOUR)
        const recent = await sessions.open(session({ now }))
        const { position: start } = await store.revoke([])
        const { position, now: taken } = await store.revoke([given])
        const ends = { kind: 'session' as const, notBefore: FOREVER, until }
        const ended = [ahead, older, ...(kind === 'all' ? [grace] : [])].map(({ sid }) => sid)

        // The watermark itself stays near: others would be locked out by it.
        ok(taken >= now() && taken <= now() + MAX_SESSION_LEAD_MS, `${taken - now()} ms ahead`)
        deepEqual([...(await store.lookup([key]))], [taken])
        ok(recent.startedAt <= taken)

        const keys = ended.map((id) => ({ kind: 'session' as const, id }))
        deepEqual(new Set(await store.lookup(keys)), new Set([FOREVER]))
        for (const { id: sid } of [...keys, { id: recent.sid }]) {
          deepEqual(await sessions.present(sid, 0, RULES), ENDED)
          deepEqual(await sessions.present(sid, 1, RULES), ENDED)
          deepEqual(await sessions.rotate(sid, 0, RULES), ENDED)
          deepEqual(await sessions.rotate(sid, 1, RULES), ENDED)
          equal(await sessions.get(sid, RULES), null)
        }
        deepEqual(await sessions.list('ada', LIST), [])
        equal((await sessions.list('grace', LIST)).length, kind === 'all' ? 0 : 1)
        if (kind === 'user') equal((await sessions.rotate(grace.sid, 0, RULES)).outcome, 'rotated')

        // The feed has them all, and the position of the batch includes them.
        const { entries } = await readFrom(store, start)
        const own = entries.filter((found) => found.kind === 'session')
        deepEqual(own.toSorted(byId), keys.map(({ id }) => ({ ...ends, id })).toSorted(byId))
        deepEqual((await store.feed(position, { waitMs: 0 })).entries, [])

        for (const user of ['ada', 'grace', 'bob']) {
          const next = await sessions.open(session({ now }, { user, until: now() + 3 * HOUR }))
          ok(next.startedAt <= now() + MAX_SESSION_LEAD_MS + 1)
          deepEqual(await sessions.present(next.sid, 0, RULES), { outcome: 'current' })
          equal((await sessions.rotate(next.sid, 0, RULES)).outcome, 'rotated')
          deepEqual([...(await store.lookup([{ kind: 'session', id: next.sid }]))], [undefined])
        }
      })
    }

    withSessions(`${kind}: again ends what was opened ahead since`, async (sessions, fixture) => {
      const { store, now, advance } = fixture
      const sids: string[] = []
      for (let round = 0; round < 2; round++) {
        advance(100 * HOUR)
        sids.push((await sessions.open(session({ now }))).sid)
        advance(-100 * HOUR)
        await store.revoke([given])
        for (const sid of sids) deepEqual(await sessions.rotate(sid, 0, RULES), ENDED)
      }
    })

    withSessions(`${kind}: ends any number of sessions of a wrong clock`, async (sessions, fixture) => {
      const { store, now, advance } = fixture
      advance(100 * HOUR)
      const many = Array.from({ length: 1200 }, () => session({ now }))
      const opened = await openMany(sessions, many)
      advance(-100 * HOUR)
      await store.revoke([given])
      deepEqual(await sessions.list('ada', LIST), [])
      const revoked = new Set((await readAll(store)).map(({ id }) => id))
      equal(opened.filter(({ sid }) => !revoked.has(sid)).length, 0)
      const found = await store.lookup(opened.map(({ sid }) => ({ kind: 'session', id: sid })))
      deepEqual(new Set(found), new Set([FOREVER]))
      const next = await sessions.open(session({ now }, { until: now() + 3 * HOUR }))
      equal((await sessions.rotate(next.sid, 0, RULES)).outcome, 'rotated')
    })
  }

  withSessions('one batch of several watermarks ends all that it names', async (sessions, fixture) => {
    const { store, now, advance } = fixture
    advance(5 * HOUR)
    const users = ['ada', 'bob', 'eve']
    const opened = await openMany(
      sessions,
      users.map((user) => session({ now }, { user })),
    )
    advance(-5 * HOUR)
    await store.revoke(['ada', 'bob'].map((id) => ({ kind: 'user', id, notBefore: 0, until: 0 })))
    const outcomes = await Promise.all(opened.map(({ sid }) => sessions.rotate(sid, 0, RULES)))
    deepEqual(
      outcomes.map(({ outcome }) => outcome),
      ['ended', 'ended', 'rotated'],
    )
  })
}

function byId(one: { readonly id: string }, other: { readonly id: string }): number {
  return one.id < other.id ? -1 : 1
}
