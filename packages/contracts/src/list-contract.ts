import { deepEqual, rejects } from 'node:assert/strict'
import { FOREVER, type OpenedSession, type SessionStore, toTimedId } from 'tokenlib/kit'
import { entry } from './feed-contract.js'
import {
  LIST,
  openMany,
  readPages,
  revocationOf,
  rotateFirst,
  session,
  testSessions,
  HOUR,
  type StoreFixture,
  type StoreTests,
} from './store-fixture.js'

// In the order of their characters, which differs from the order of the encoded bytes and of any language.
const NONCES = ['-', '0', '9', 'A', 'Z', '_', 'a', 'b', 'z'].map((first) => first.padEnd(14, 'A'))

/** What a store promises of a user's sessions that are read in pages. */
export function listContract(tests: StoreTests): void {
  const withSessions = testSessions(tests)

  for (const limit of [1, 2, 3, 7, 18, 1000]) {
    withSessions(`pages of ${limit} hold every session once, in order`, async (sessions, fixture) => {
      const sids = await openInTwoMoments(sessions, fixture)
      await sessions.open(session(fixture, { user: 'grace' }))
      const pages = await readPages(sessions, 'ada', { ...LIST, limit })
      deepEqual(toIds(pages.flat()), sids)
      deepEqual(new Set(pages.flat().map(({ user }) => user)), new Set(['ada']))
    })
  }

  withSessions('a page goes on after a session that is gone', async (sessions, fixture) => {
    const sids = await openInTwoMoments(sessions, fixture)
    for (const at of [4, 8, 9, 14]) {
      const before = sids[at] ?? null
      const rest = sids.slice(at + 1)
      await fixture.store.revoke([entry('session', sids[at] ?? '', 0)])
      sids.splice(at, 1)
      deepEqual(await listIds(sessions, { ...LIST, before }), rest)
    }
    const never = toTimedId(fixture.now() + HOUR, 'AAAAAAAAAAAAAA')
    deepEqual(await listIds(sessions, { ...LIST, before: never }), sids)
    deepEqual(await listIds(sessions, { ...LIST, before: toTimedId(1, 'zzzzzzzzzzzzzg') }), [])
  })

  withSessions('what is revoked between two pages is not in the second', async (sessions, fixture) => {
    const { store } = fixture
    const sids = await openInTwoMoments(sessions, fixture)
    const before = sids[4] ?? null
    await store.revoke([3, 5, 10].map((at) => entry('session', sids[at] ?? '', 0)))
    const rest = sids.filter((_, at) => at > 5 && at !== 10)
    deepEqual(await listIds(sessions, { ...LIST, before }), rest)
    deepEqual(await listIds(sessions, { ...LIST, limit: 5, before }), rest.slice(0, 5))
    await store.revoke([revocationOf('user')])
    deepEqual(await listIds(sessions, { ...LIST, before }), [])
    const next = await sessions.open(session(fixture))
    deepEqual(await listIds(sessions, LIST), [next.sid])
  })

  withSessions('sessions that nobody used for too long are left out', async (sessions, fixture) => {
    const { advance } = fixture
    const opened: OpenedSession[] = []
    for (let at = 0; at < 6; at++) {
      opened.push(await sessions.open(session(fixture)))
      advance(1)
    }
    const [a, b, c, d, e, f] = toIds(opened)
    advance(60_000)
    for (const sid of [a, c, e]) await rotateFirst(sessions, sid ?? '')
    // The last one of those that nobody used is just within its time.
    deepEqual(await listIds(sessions, { ...LIST, idleMs: 60_001 }), [f, e, c, a])
    // A page is filled with what is live.
    const pages = await readPages(sessions, 'ada', { limit: 2, idleMs: 60_000 })
    deepEqual(pages.map(toIds), [[e, c], [a]])
    deepEqual(await listIds(sessions, LIST), [f, e, d, c, b, a])
  })

  withSessions('sessions that have ended are left out of every page', async (sessions, fixture) => {
    const { now, advance } = fixture
    const short = { expiresAt: now() + 1000, until: now() + 2000 }
    const kept: string[] = []
    const ended: string[] = []
    for (let at = 0; at < 6; at++) {
      const { sid } = await sessions.open(session(fixture, at % 2 ? short : {}))
      ;(at % 2 ? ended : kept).unshift(sid)
      advance(1)
    }
    advance(2000)
    const pages = await readPages(sessions, 'ada', { limit: 2, idleMs: FOREVER })
    deepEqual(toIds(pages.flat()), kept)
    deepEqual(await listIds(sessions, { ...LIST, before: ended[0] ?? null }), kept)
  })

  withSessions('a page that cannot be read is refused', async (sessions) => {
    for (const limit of [0, -1, 1.5, 1001, Number.NaN]) {
      await rejects(async () => sessions.list('ada', { ...LIST, limit }), TypeError)
    }
    for (const before of ['', 'x', "' OR 1", 'AZxAAAAAAAAAAAAAAAAAAA=']) {
      await rejects(async () => sessions.list('ada', { ...LIST, before }), TypeError)
    }
    await rejects(async () => sessions.list('ada', { ...LIST, idleMs: Number.NaN }), TypeError)
  })

  withSessions('more sessions than a page holds are all read', async (sessions, fixture) => {
    const given = Array.from({ length: 1100 }, () => session(fixture))
    const opened = await openMany(sessions, given)
    const [first = [], second = [], ...others] = await readPages(sessions, 'ada', LIST)
    deepEqual([first.length, second.length, others.length], [1000, 100, 0])
    deepEqual(new Set(toIds([...first, ...second])), new Set(toIds(opened)))
  })
}

async function listIds(
  sessions: SessionStore,
  options: Parameters<SessionStore['list']>[1],
): Promise<readonly string[]> {
  return toIds(await sessions.list('ada', options))
}

function toIds(sessions: readonly Pick<OpenedSession, 'sid'>[]): string[] {
  return sessions.map(({ sid }) => sid)
}

// Nine sessions of one millisecond and nine of the next one, in the order that they are listed in.
async function openInTwoMoments(sessions: SessionStore, fixture: StoreFixture): Promise<string[]> {
  const shuffled = [...NONCES.slice(4), ...NONCES.slice(0, 4)]
  const open = async (): Promise<string[]> => {
    const given = shuffled.map((nonce) => session(fixture, { nonce }))
    return toIds(await openMany(sessions, given))
      .toSorted()
      .toReversed()
  }
  const first = await open()
  fixture.advance(1)
  return [...(await open()), ...first]
}
