import { deepEqual, equal, ok } from 'node:assert/strict'
import { FOREVER, MAX_DATA_BYTES, type SessionStore } from 'tokenlib/kit'
import { entry, readFrom } from './feed-contract.js'
import {
  firstToken,
  HOUR,
  LIST,
  NO_GRACE,
  revocationOf,
  rotateFirst,
  RULES,
  session,
  type StoreFixture,
  type StoreTests,
  testOneSession,
  testSessions,
} from './store-fixture.js'

// The longest data there is: of one byte for each character, and of more.
const LONGEST = JSON.stringify({ note: 'x'.repeat(MAX_DATA_BYTES - '{"note":""}'.length) })
const WIDE = JSON.stringify({ note: '漢🦊'.repeat(Math.floor((MAX_DATA_BYTES - '{"note":""}'.length) / 7)) })

// Every text differs from every other one, however little.
const TEXTS = [
  '{"label":"Ada\'s phone"}',
  '{"label":"Ada\'s Phone"}',
  '{ "label": "Ada\'s phone" }',
  '{"label":"Ada\'s phone"} ',
  JSON.stringify({ label: 'Ä "quoted" \\ %s $1 漢字 🦊\u2028', cart: [1.5, null, true] }),
  // Composed and decomposed: the same to some databases.
  '{"label":"\u00e4"}',
  '{"label":"a\u0308"}',
  '{"label":"\\u0000"}',
  '{}',
  LONGEST,
  WIDE,
]

/** What a store promises about the data of a session. */
export function dataContract(tests: StoreTests): void {
  const withSessions = testSessions(tests)
  const withSession = testOneSession(tests)

  withSessions('data is returned as it was given', async (sessions, fixture) => {
    for (const data of [...TEXTS, null, undefined]) {
      const given = data === undefined ? {} : { data }
      const { sid } = await sessions.open(session(fixture, given))
      equal(await readData(sessions, sid), data ?? null)
      const [listed] = await sessions.list('ada', LIST)
      equal(listed?.data ?? null, data ?? null)
      fixture.advance(1)
    }
  })

  withSession('data is replaced if the caller knows the current data', async (sid, sessions) => {
    let before: string | null = null
    for (const data of [...TEXTS, null, LONGEST, WIDE, null]) {
      equal(await write(sessions, sid, data, before), true)
      equal(await readData(sessions, sid), data)
      // Counted by rows that match: this one changes nothing.
      equal(await write(sessions, sid, data, data), true)
      before = data
    }
  })

  withSessions('data is replaced only if it is the same to the last byte', async (sessions, fixture) => {
    const other = await sessions.open(session(fixture, { data: '{"other":1}' }))
    for (const known of [...TEXTS, null]) {
      const { sid } = await sessions.open(session(fixture, { data: known }))
      for (const before of [...TEXTS, null, '']) {
        if (before === known) continue
        equal(await write(sessions, sid, '{"label":"lost"}', before), false, `${before} for ${known}`)
      }
      equal(await readData(sessions, sid), known)
    }
    equal(await readData(sessions, other.sid), '{"other":1}')
  })

  withSession('nothing else changes with the data', async (sid, sessions, { store, advance }) => {
    await rotateFirst(sessions, sid)
    const before = await sessions.get(sid, RULES)
    const { position } = await store.revoke([])
    advance(120_000)
    equal(await write(sessions, sid, '{"label":"new"}', null), true)
    deepEqual(await sessions.get(sid, RULES), { ...before, data: '{"label":"new"}' })
    deepEqual((await readFrom(store, position)).entries, [])
  })

  withSessions('data stays when the session is refreshed', async (sessions, fixture) => {
    const client = { ip: '192.0.2.1', userAgent: 'curl/8' }
    const { sid } = await sessions.open(session(fixture, { data: WIDE }))
    await sessions.rotate(sid, firstToken(sid), { ...NO_GRACE, ...client })
    equal(await readData(sessions, sid), WIDE)
    fixture.advance(HOUR / 2)
    await sessions.rotate(sid, firstToken(sid), RULES)
    equal(await readData(sessions, sid), WIDE)
  })

  withSessions('a login with a limit has data too', async (sessions, fixture) => {
    if (sessions.openLimited === undefined) return ok(true)
    const given = session(fixture, { data: WIDE })
    const limit = { max: 1, whenFull: 'endOldest', idleMs: FOREVER } as const
    equal((await sessions.openLimited(given, limit)).outcome, 'opened')
    equal((await sessions.list('ada', LIST))[0]?.data, WIDE)
  })

  for (const kind of ['session', 'user', 'all'] as const) {
    withSession(`revoking ${kind} ends its data`, async (sid, sessions, { store }) => {
      equal(await write(sessions, sid, '{}', null), true)
      await store.revoke([revocationOf(kind, sid)])
      for (const before of ['{}', null]) equal(await write(sessions, sid, '{"a":1}', before), false)
      deepEqual(await sessions.list('ada', LIST), [])
    })
  }

  withSession('a session that is over or unknown has no data', async (sid, sessions, { advance }) => {
    for (const unknown of ['AZxAAAAAAAAAAAAAAAAAAA', '']) {
      equal(await write(sessions, unknown, '{}', null), false)
      equal(await sessions.get(unknown, RULES), null)
    }
    advance(HOUR + 1000)
    equal(await write(sessions, sid, '{}', null), false)
  })

  withSession('of many concurrent changes, one succeeds', async (sid, sessions, { store, another }) => {
    const stores = [store, tests.isShared ? await another() : store]
    let before: string | null = null
    for (let round = 0; round < 5; round++) {
      const texts = Array.from({ length: 20 }, (_, at) => JSON.stringify({ round, at }))
      const calls = texts.map((text, at) => write(stores[at % 2]?.sessions ?? sessions, sid, text, before))
      const written = (await Promise.all(calls)).map((isWritten, at) => (isWritten ? texts[at] : null))
      const winners = written.filter((text) => text !== null)
      equal(winners.length, 1)
      before = await readData(sessions, sid)
      equal(before, winners[0])
    }
  })

  withSessions('after a revocation resolved, no data is written', async (sessions, { store, now }) => {
    const opened = await Promise.all(Array.from({ length: 20 }, () => sessions.open(session({ now }))))
    const answers = opened.map(async ({ sid }) => {
      const racing = [write(sessions, sid, '{"a":1}', null), rotateFirst(sessions, sid)]
      await store.revoke([entry('session', sid, now() + HOUR)])
      const answer = [
        await write(sessions, sid, '{"b":1}', null),
        await write(sessions, sid, null, '{"a":1}'),
      ]
      await Promise.all(racing)
      return [...answer, await sessions.get(sid, RULES)]
    })
    for (const answer of await Promise.all(answers)) deepEqual(answer, [false, false, null])
  })

  withSessions('a concurrent refresh and change both succeed', async (sessions, fixture) => {
    const opened = await Promise.all(Array.from({ length: 20 }, () => sessions.open(session(fixture))))
    await Promise.all(
      opened.map(async ({ sid }) => {
        const [rotated, isWritten] = await Promise.all([
          rotateFirst(sessions, sid),
          write(sessions, sid, '{"a":1}', null),
        ])
        deepEqual([rotated.outcome, isWritten], ['advanced', true])
        const { data, generation } = (await sessions.get(sid, RULES)) ?? {}
        deepEqual({ data, generation }, { data: '{"a":1}', generation: 1 })
      }),
    )
  })

  if (tests.isShared) {
    withSession('another process finds the data', async (sid, sessions, { another }) => {
      equal(await write(sessions, sid, WIDE, null), true)
      const { sessions: others } = (await another()) as StoreFixture['store'] & { sessions: SessionStore }
      equal(await readData(others, sid), WIDE)
      equal(await write(others, sid, null, WIDE), true)
      equal(await readData(sessions, sid), null)
    })
  }
}

/** What a store without `writeData` promises: that it has none, so that no test is forgotten. */
export function noDataContract({ test }: StoreTests): void {
  test('writeData is tested wherever a store has it', async ({ store }) => {
    const keepsData = store.sessions?.writeData !== undefined
    equal(keepsData, false, 'pass keepsData: true to storeContract')
  })
}

async function write(
  sessions: SessionStore,
  sid: string,
  data: string | null,
  before: string | null,
): Promise<boolean> {
  ok(sessions.writeData !== undefined, 'The store has no sessions.writeData')
  return sessions.writeData(sid, data, before)
}

async function readData(sessions: SessionStore, sid: string): Promise<string | null> {
  return (await sessions.get(sid, RULES))?.data ?? null
}
