import { describe, expect, test } from 'vitest'
import { FOREVER } from '../../packages/tokenlib/src/kit.js'
import {
  createMemorySessions,
  createSessionOrder,
} from '../../packages/tokenlib/src/stores/memory/sessions.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { toFirstPlace } from '../../packages/tokenlib/src/revocation/rotation.js'
import type { SessionPlace as Place } from '../../packages/tokenlib/src/stores/store-parts.js'
import { firstToken, RULES } from '../../packages/contracts/src/store-fixture.js'
import { createClock } from '../helpers/manager.js'

const place = (at: number): Place => ({ startedAt: 1000 + at, sid: `s${String(at).padStart(6, '0')}` })

/** An order with the sessions of a user, which counts how often it looks at one. */
function createCounted(count: number) {
  const kept = new Set<string>()
  let looks = 0
  const order = createSessionOrder((sid) => {
    looks++
    return kept.has(sid)
  })
  const add = (user: string, given: Place): void => {
    kept.add(given.sid)
    order.add(user, given)
  }
  for (let at = 0; at < count; at++) add('ada', place(at))
  return {
    order,
    add,
    remove(user: string, { sid }: Place) {
      kept.delete(sid)
      order.remove(user)
    },
    /** How many sessions are looked at while something runs. */
    countLooks(run: () => void): number {
      looks = 0
      run()
      return looks
    },
  }
}

/** The first few places after one. */
function readPage(places: Iterable<Place>, limit: number): Place[] {
  const page: Place[] = []
  for (const found of places) {
    page.push(found)
    if (page.length === limit) break
  }
  return page
}

describe('the order of sessions in memory', () => {
  test('finds the oldest without looking at those that are gone', () => {
    const { order, add, remove, countLooks } = createCounted(2000)
    const looks = countLooks(() => {
      for (let at = 0; at < 1800; at++) {
        expect(readPage(order.walkUp('ada', 0), 1)).toEqual([place(at)])
        remove('ada', place(at))
      }
    })
    expect(looks).toBeLessThan(12_000)
    // One from a clock that was set back.
    add('ada', place(5))
    expect(readPage(order.walkUp('ada', 0), 2)).toEqual([place(5), place(1800)])
    expect(readPage(order.walkUp('ada', 1005), 1)).toEqual([place(1800)])
  })

  test('reads pages without looking at what comes before or after them', () => {
    const { order, countLooks } = createCounted(2000)
    let last: Place | null = null
    for (let page = 0; page < 20; page++) {
      const looks = countLooks(() => (last = readPage(order.walk('ada', last), 100).at(-1) ?? null))
      expect(looks).toBe(100)
    }
    expect(last).toEqual(place(0))
  })

  test('does not look at the sessions of other users', () => {
    const { order, add, countLooks } = createCounted(2000)
    add('grace', place(20_000))
    expect(countLooks(() => readPage(order.walk('grace', null), 100))).toBe(1)
    expect(countLooks(() => readPage(order.walk('nobody', null), 100))).toBe(0)
  })

  test('removes any number of sessions in steps that are in proportion', () => {
    const { order, remove, countLooks } = createCounted(2000)
    // As sessions.endOthers does: page by page, and each page is removed.
    let last: Place | null = null
    const looks = countLooks(() => {
      for (;;) {
        const page: Place[] = readPage(order.walk('ada', last), 100)
        last = page.at(-1) ?? null
        if (last === null) return
        for (const found of page) remove('ada', found)
      }
    })
    expect(order.users).toBe(0)
    expect(looks).toBeLessThan(4 * 2000)
  })

  test('keeps its order whatever comes and goes', () => {
    const { order, add, remove } = createCounted(0)
    const places = Array.from({ length: 500 }, (_, at) => place((at * 7919) % 500))
    for (const given of places) add('ada', given)
    const expected = places.toSorted((one, other) => other.startedAt - one.startedAt)
    expect([...order.walk('ada', null)]).toEqual(expected)
    for (const given of places.slice(0, 400)) remove('ada', given)
    const left = expected.filter((given) => places.indexOf(given) >= 400)
    expect([...order.walk('ada', null)]).toEqual(left)
    expect([...order.walk('ada', left[10] ?? null)]).toEqual(left.slice(11))
  })
})

test('what is held of users stays bounded by the sessions that are alive', async () => {
  const clock = createClock()
  const store = createMemoryStore({ clock })
  const client = { ip: null, userAgent: null }
  for (let at = 0; at < 3000; at++) {
    clock.seconds++
    const nonce = String(at).padStart(13, 'A') + 'A'
    const end = clock() + 10_000
    await store.sessions?.open({ user: `u${at}`, nonce, expiresAt: end, until: end, ...client })
  }
  const page = { limit: 1000, before: null, idleMs: FOREVER }
  expect(await store.sessions?.list('u2999', page)).toHaveLength(1)
  expect(await store.sessions?.list('u0', page)).toEqual([])
  clock.seconds += 100
  expect(await store.prune(10_000)).toBeLessThan(100)
})

test('a closed store keeps no sessions', async () => {
  const store = createMemoryStore()
  await store.close()
  const page = { limit: 10, before: null, idleMs: FOREVER }
  await expect(store.sessions?.list('ada', page)).rejects.toThrow(/closed/)
  await expect(store.sessions?.get('s', { idleMs: FOREVER })).rejects.toThrow(/closed/)
  await expect(store.sessions?.present('s', firstToken('s'), RULES)).rejects.toThrow(/closed/)
})

describe('the sessions in memory', () => {
  const createSessions = (clock = () => 9000) => createMemorySessions(() => undefined, clock, clock)
  const session = (sid: string, startedAt: number, user = 'ada') => ({
    sid,
    user,
    startedAt,
    ...toFirstPlace(startedAt),
    expiresAt: FOREVER,
    until: FOREVER,
    ip: null,
    userAgent: null,
  })
  const sidsOf = (found: readonly { readonly sid: string }[]) => found.map(({ sid }) => sid)

  test('removes a session that started up to a moment, and no later one', () => {
    const sessions = createSessions()
    sessions.insertSession(session('a', 1000))
    sessions.removeSession('a', 999)
    sessions.removeSession('nobody', FOREVER)
    expect(sessions.findSession('a')).not.toBeNull()
    sessions.removeSession('a', 1000)
    expect(sessions.findSession('a')).toBeNull()
    expect(sessions.readNewestStart('ada')).toBe(0)
  })

  test('knows the newest start of a user and of all, also after the clock was set back', () => {
    let now = 9000
    const sessions = createSessions(() => now)
    sessions.insertSession(session('a', 1000))
    sessions.insertSession(session('b', 3000, 'bob'))
    sessions.insertSession(session('c', 5000, 'bob'))
    sessions.removeSession('c', FOREVER)
    expect(sessions.readNewestStart('ada')).toBe(1000)
    expect(sessions.readNewestStart('bob')).toBe(3000)
    // A start that is not ahead of the clock costs no walk.
    now = 5000
    expect(sessions.readNewestStart(null)).toBe(5000)
    now = 4999
    expect(sessions.readNewestStart(null)).toBe(3000)
  })

  test('finds the sessions that started after a moment and up to another', () => {
    const sessions = createSessions()
    for (const at of [1, 2, 3, 4]) sessions.insertSession(session(`a${at}`, at))
    sessions.insertSession(session('b3', 3, 'bob'))
    expect(sidsOf(sessions.readLate({ user: 'ada', after: 1, upTo: 3 }))).toEqual(['a2', 'a3'])
    expect(sidsOf(sessions.readLate({ user: null, after: 2, upTo: 3 }))).toEqual(['a3', 'b3'])
  })

  test('drops what has ended with later writes, and prunes the rest', () => {
    const sessions = createSessions()
    for (let at = 0; at < 20; at++) sessions.insertSession({ ...session(`s${at}`, at), until: 9000 })
    const count = () => sessions.readLate({ user: null, after: -1, upTo: FOREVER }).length
    sessions.sweep(1)
    expect(count()).toBe(16)
    sessions.sweep(2)
    expect(count()).toBe(8)
    expect([...sessions.prune(5)]).toEqual([5])
    sessions.clear()
    expect(count()).toBe(0)
    expect(sessions.readNewestStart('ada')).toBe(0)
  })

  test('forgets a user with the last session, and walks only what is left', () => {
    const { order, add, remove, countLooks } = createCounted(5)
    add('bob', place(9))
    remove('bob', place(9))
    expect(order.users).toBe(1)
    expect([...order.walk('bob', null), ...order.walkUp('bob', 0)]).toEqual([])
    for (const at of [0, 1, 3]) remove('ada', place(at))
    expect([...order.walk('ada', null)]).toEqual([place(4), place(2)])
    expect([...order.walk('ada', place(4))]).toEqual([place(2)])
    expect([...order.walkUp('ada', place(2).startedAt)]).toEqual([place(4)])
    // More than half are gone, so the places are too.
    expect(countLooks(() => expect([...order.walkUp('ada', 0)]).toHaveLength(2))).toBe(2)
    remove('ada', place(2))
    remove('ada', place(4))
    expect(order.users).toBe(0)
  })
})
