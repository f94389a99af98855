import { expect, test, vi } from 'vitest'
import { FOREVER } from '../../packages/tokenlib/src/revocation/revocation.js'
import type { LostData, RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import { firstToken } from '../../packages/contracts/src/store-fixture.js'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import { ALL, HOUR, LIST, prepared, RULES, session, start, token } from './redis-fixture.js'

describeWithOwnServer('redis', 'What a Redis store does about lost data', () => {
  test('after FLUSHALL every process revokes what was before, and logins go on', async () => {
    const { client } = await start()
    const [one, two] = [await prepared(client), await prepared(client)]
    const { position } = await one.revoke([token('a')])
    const { sid } = await one.sessions.open(session())
    await client.flushall()
    const before = Number((await client.time())[0]) * 1000
    const looks = await Promise.all(
      [one, two, one, two].map(async (store) => store.lookup([token('a'), ALL])),
    )
    for (const [, all] of looks) expect(all).toBeGreaterThanOrEqual(before)
    expect(await one.sessions.rotate(sid, firstToken(sid), RULES)).toEqual({ outcome: 'ended' })
    const page = await two.feed(position, { waitMs: 0 })
    expect(page.reset).toBe(true)
    expect((await two.feed(page.next, { waitMs: 0 })).entries).toEqual([
      expect.objectContaining({ ...ALL, notBefore: expect.any(Number) }),
    ])
    const opened = await two.sessions.open(session())
    expect((await one.sessions.rotate(opened.sid, firstToken(opened.sid), RULES)).outcome).toBe('advanced')
    expect((await two.sessions.list('ada', LIST)).length).toBe(1)
  })

  test('a loss does not shorten what any process asked for', async () => {
    const { client } = await start()
    const [long, short] = [await prepared(client), await prepared(client)]
    await long.prepare({ longestLifetime: 9 * HOUR })
    await long.prepare({ longestLifetime: HOUR })
    await client.flushall()
    for (const store of [long, short]) await store.lookup([ALL])
    const { position } = await short.revoke([])
    const { now } = await short.revoke([{ kind: 'user', id: 'ada', notBefore: 0, until: 0 }])
    const { entries } = await short.feed(position, { waitMs: 0 })
    expect(entries).toEqual([{ kind: 'user', id: 'ada', notBefore: now, until: now + 9 * HOUR }])
  })

  for (const [call, run] of Object.entries({
    revoke: (store) => store.revoke([token('b')]),
    open: (store) => store.sessions.open(session()),
    rotate: (store) => store.sessions.rotate('sid', firstToken('sid'), RULES),
    present: (store) => store.sessions.present('sid', firstToken('sid'), RULES),
    get: (store) => store.sessions.get('sid', RULES),
    lookup: async (store) => store.lookup([ALL]),
    list: (store) => store.sessions.list('ada', LIST),
    feed: (store) => store.feed(null, { waitMs: 0 }),
    prune: (store) => store.prune(10),
    prepare: (store) => store.prepare({ longestLifetime: HOUR }),
  } satisfies Record<string, (store: Required<RevocationStore>) => Promise<unknown>>)) {
    test(`a loss that ${call} comes upon revokes what was before`, async () => {
      const { client } = await start()
      const store = await prepared(client)
      await client.flushall()
      await run(store)
      expect(await (await prepared(client)).lookup([ALL])).toEqual([expect.any(Number)])
    })
  }

  test('a loss is told once to every manager of each process, with the moment of it', async () => {
    const { client } = await start()
    const warnings: string[] = []
    const warn = (name: string) => () => void warnings.push(name)
    const [one, two] = [await prepared(client, warn('one')), await prepared(client, warn('two'))]
    const losses: [string, number][] = []
    const listen = (name: string, longestLifetime = HOUR) => ({
      longestLifetime,
      onLostData: ({ revokedBefore }: LostData) => void losses.push([name, revokedBefore]),
    })
    const [first, second, third] = [listen('first'), listen('second'), listen('third')]
    for (const needs of [first, second, { ...first, longestLifetime: 2 * HOUR }]) await one.prepare(needs)
    await two.prepare(third)
    expect([losses, warnings]).toEqual([[], []])
    for (let loss = 0; loss < 2; loss++) {
      losses.length = 0
      warnings.length = 0
      await client.flushall()
      await Promise.all([
        ...Array.from({ length: 5 }, async () => one.lookup([ALL])),
        one.revoke([token('a')]),
        one.sessions.open(session()),
        one.feed(null, { waitMs: 0 }),
        one.prepare(second),
      ])
      expect(losses.map(([name]) => name).toSorted()).toEqual(['first', 'second'])
      for (const [, revokedBefore] of losses) {
        expect(revokedBefore).toBeLessThanOrEqual(Number((await one.lookup([ALL]))[0]))
      }
      expect(warnings).toEqual(['one'])
      losses.length = 0
      const [found] = await two.lookup([ALL])
      expect(losses).toEqual([['third', found]])
      expect(warnings).toEqual(['one', 'two'])
      // Whatever comes after it is no other loss.
      for (const store of [one, two, one]) await store.lookup([ALL])
      expect([losses.length, warnings.length]).toEqual([1, 2])
    }
  })

  test('a process that starts on an empty store, or after a loss, has lost nothing', async () => {
    const { client } = await start()
    const told: unknown[] = []
    const needs = { longestLifetime: HOUR, onLostData: (loss: LostData) => void told.push(loss) }
    const first = await prepared(client, (message) => void told.push(message))
    await first.prepare(needs)
    await first.revoke([token('a')])
    await client.flushall()
    const second = await prepared(client, (message) => void told.push(message))
    await second.prepare(needs)
    await second.lookup([ALL])
    expect(told).toEqual([])
  })

  for (const lost of ['epoch', 'meta', 'log', 'marks', 'count']) {
    test(`a process that starts where ${lost} is missing revokes everything, and says so`, async () => {
      const { client } = await start()
      await (await prepared(client)).revoke([token('a')])
      await client.del(`{tokenlib:tokenlib}:${lost}`)
      const warnings: string[] = []
      const store = await prepared(client, (message) => void warnings.push(message))
      expect(await store.lookup([token('a'), ALL])).toEqual([FOREVER, expect.any(Number)])
      expect(warnings).toHaveLength(1)
      await (await prepared(client, (message) => void warnings.push(message))).lookup([ALL])
      expect(warnings).toHaveLength(1)
    })
  }

  for (const lost of ['epoch', 'meta', 'log', 'marks']) {
    test(`a loss of ${lost} alone is noticed, and no entry goes with it`, async () => {
      const { client } = await start()
      const store = await prepared(client)
      const { position } = await store.revoke([token('a'), token('b')])
      await client.del(`{tokenlib:tokenlib}:${lost}`)
      const page = await store.feed(position, { waitMs: 0 })
      expect(page.reset).toBe(true)
      const [a, all] = await store.lookup([token('a'), ALL])
      expect(a).toBe(FOREVER)
      expect(all).toBeGreaterThan(0)
      await store.revoke([token('c')])
      const ids = (await store.feed(page.next, { waitMs: 0 })).entries.map(({ id }) => id)
      expect(ids).toEqual(lost === 'log' ? ['', 'c'] : ['a', 'b', '', 'c'])
    })
  }

  test('a history that a failover threw away is not taken for the one that goes on', async () => {
    const { server, client } = await start({ 'repl-diskless-sync-delay': '0' })
    const { client: second } = await start({ replicaof: `127.0.0.1 ${server.port}` })
    const store = await prepared(client)
    const { position: shared } = await store.revoke([token('kept')])
    await vi.waitFor(async () => expect(await second.exists('{tokenlib:tokenlib}:r:t:kept')).toBe(1), 20_000)
    await second.replicaof('NO', 'ONE')
    const { position: lost } = await store.revoke([token('lost')])

    const promoted = await prepared(second)
    expect((await promoted.feed(shared, { waitMs: 0 })).reset).toBe(false)
    expect((await promoted.feed(lost, { waitMs: 0 })).reset).toBe(true)
    for (const id of ['x', 'y', 'z']) {
      await promoted.revoke([token(id)])
      expect((await promoted.feed(lost, { waitMs: 0 })).reset).toBe(true)
    }
    const { entries } = await promoted.feed(shared, { waitMs: 0 })
    expect(entries.map(({ id }) => id)).toEqual(['x', 'y', 'z'])
  })

  test('an older copy of the data is noticed by every process that had seen more', async () => {
    const { client } = await start()
    const [writer, reader] = [await prepared(client), await prepared(client)]
    await writer.revoke([token('kept')])
    const names = await client.keys('{tokenlib:tokenlib}:*')
    const copy = await Promise.all(names.map((name) => client.dumpBuffer(name)))
    await writer.revoke([token('lost')])
    expect(await reader.lookup([token('lost'), ALL])).toEqual([FOREVER, undefined])

    await client.flushall()
    for (const [at, name] of names.entries()) await client.restore(name, 0, copy[at] as Buffer)
    const [lost, all] = await reader.lookup([token('lost'), ALL])
    expect(lost).toBeUndefined()
    expect(all).toBeGreaterThan(0)
    const opened = await reader.sessions.open(session())
    expect(opened.startedAt).toBeGreaterThan(all as number)
    // The other process has seen as much, and revokes what began until then once more.
    const [, again] = await writer.lookup([token('lost'), ALL])
    expect(again).toBeGreaterThanOrEqual(all as number)
    const settled = await Promise.all(
      [reader, writer].map(async (store) => store.lookup([token('kept'), ALL])),
    )
    expect(settled).toEqual([
      [FOREVER, again],
      [FOREVER, again],
    ])
  })

  test('an older copy that others have written to since is noticed too', async () => {
    const { client } = await start()
    const [writer, other] = [await prepared(client), await prepared(client)]
    await writer.revoke([token('kept')])
    await other.lookup([ALL])
    const names = await client.keys('{tokenlib:tokenlib}:*')
    const copy = await Promise.all(names.map((name) => client.dumpBuffer(name)))
    await writer.revoke([token('lost')])
    await client.flushall()
    for (const [at, name] of names.entries()) await client.restore(name, 0, copy[at] as Buffer)

    // As many batches as the writer has seen, and more: the last one it knows is not among them.
    for (const id of ['x', 'y']) {
      await other.revoke([token(id)])
    }
    const [lost, all] = await writer.lookup([token('lost'), ALL])
    expect(lost).toBeUndefined()
    expect(all).toBeGreaterThan(0)
  })

  test('a process that revokes on an older copy notices it as well', async () => {
    const { client } = await start()
    const store = await prepared(client)
    await store.revoke([token('kept')])
    const names = await client.keys('{tokenlib:tokenlib}:*')
    const copy = await Promise.all(names.map((name) => client.dumpBuffer(name)))
    await store.revoke([token('lost')])
    await client.flushall()
    for (const [at, name] of names.entries()) await client.restore(name, 0, copy[at] as Buffer)
    await store.revoke([token('later')])
    const [later, all] = await store.lookup([token('later'), ALL])
    expect(later).toBe(FOREVER)
    expect(all).toBeGreaterThan(0)
  })

  test('a reader that fell too far behind has to start again', async () => {
    const { client } = await start()
    const store = await prepared(client)
    const { position: old } = await store.revoke([token('a')])
    const { position: recent } = await store.revoke([token('b')])
    await store.revoke([token('c')])
    // As 10,000 more revocations would.
    await client.ltrim('{tokenlib:tokenlib}:past', -2, -1)
    expect((await store.feed(recent, { waitMs: 0 })).entries.map(({ id }) => id)).toEqual(['c'])
    const page = await store.feed(old, { waitMs: 0 })
    expect(page).toMatchObject({ reset: true, entries: [] })
    expect((await store.feed(page.next, { waitMs: 0 })).entries.length).toBe(3)
  })
})
