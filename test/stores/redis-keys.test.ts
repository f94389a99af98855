import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { createRedisStore } from 'tokenlib/redis'
import { replicate } from 'tokenlib/replica'
import type { RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import { FOREVER, type RevocationKind } from '../../packages/tokenlib/src/revocation/revocation.js'
import { childOf, firstToken } from '../../packages/contracts/src/store-fixture.js'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { describeWithOwnServer, describeWithRedis } from '../helpers/servers/describe-with-servers.js'
import { HOUR, LIST, prepared, RULES, session, start, token } from './redis-fixture.js'

// How long the store keeps what has ended.
const MARGIN = 60_000

describeWithRedis('What a Redis store keeps, and for how long', (url) => {
  let client: Redis
  beforeAll(() => void (client = new Redis(url)))
  afterAll(() => client.disconnect())

  async function open(namespace = `keys-${randomUUID()}`): Promise<{
    readonly store: RevocationStore
    readonly key: (name: string) => string
    readonly names: () => Promise<string[]>
    readonly now: number
  }> {
    const key = (name: string): string => `{tokenlib:${namespace}}:${name}`
    const find = () => client.keys(key('*'))
    onTestFinished(async () => void (await client.del('nothing', ...(await find()))))
    const store = createRedisStore(client, { namespace })
    await store.prepare({ longestLifetime: HOUR })
    const { now } = await store.revoke([])
    const names = async () => (await find()).map((full) => full.slice(key('').length)).toSorted()
    return { store, key, names, now }
  }

  const all = (kind: RevocationKind, id: string, until: number) => ({ kind, id, notBefore: FOREVER, until })
  const sessionUntil = (until: number, given = {}) => ({
    ...session(),
    expiresAt: until,
    until,
    ...given,
  })
  const until = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 20_000, interval: 50 })

  test('an entry is kept a little longer than it has to be, and what never ends for ever', async () => {
    const { store, key, now } = await open()
    await store.revoke([all('token', 'a', now + HOUR), all('key', 'k', FOREVER)])
    const expiry = Number(await client.call('PEXPIRETIME', key('r:t:a')))
    expect(expiry).toBeGreaterThanOrEqual(now + HOUR + MARGIN)
    expect(expiry).toBeLessThan(now + HOUR + 2 * MARGIN)
    expect(await client.pttl(key('r:k:k'))).toBe(-1)
    await store.revoke([all('token', 'a', now + 2 * HOUR)])
    expect(Number(await client.call('PEXPIRETIME', key('r:t:a')))).toBeGreaterThanOrEqual(now + 2 * HOUR)
    await store.revoke([all('token', 'a', FOREVER)])
    expect(await client.pttl(key('r:t:a'))).toBe(-1)
  })

  test('a later notBefore does not shorten the life of an entry', async () => {
    const { store, key, now } = await open()
    await store.revoke([{ kind: 'user', id: 'ada', notBefore: now, until: now + 9 * HOUR }])
    await store.revoke([{ kind: 'user', id: 'ada', notBefore: now + 5000, until: 0 }])
    expect(await client.get(key('r:u:ada'))).toBe(`${now + 5000}:${now + 9 * HOUR}`)
    expect(await client.pttl(key('r:u:ada'))).toBeGreaterThan(8 * HOUR)
  })

  test('an entry that ended long ago is written all the same, and found', async () => {
    const { store } = await open()
    await store.revoke([all('token', 'a', 1)])
    expect(await store.lookup([{ kind: 'token', id: 'a' }])).toEqual([FOREVER])
  })

  test('numbers stay exact', async () => {
    const { store, key } = await open()
    await store.revoke([{ kind: 'token', id: 'a', notBefore: FOREVER - 1, until: FOREVER - 2 }])
    expect(await client.get(key('r:t:a'))).toBe('9007199254740990:9007199254740989')
    expect(await store.lookup([{ kind: 'token', id: 'a' }])).toEqual([FOREVER - 1])
    const { entries } = await store.feed(null, { waitMs: 0 })
    expect(entries).toEqual([{ kind: 'token', id: 'a', notBefore: FOREVER - 1, until: FOREVER - 2 }])
  })

  test('an abandoned namespace is left with what never ends', async () => {
    const { store, key, names, now } = await open()
    const soon = now + HOUR
    const sessions = store.sessions
    await store.revoke([all('token', 'a', soon), all('key', 'k', FOREVER)])
    await sessions?.open(sessionUntil(soon))
    await sessions?.open(sessionUntil(soon, { user: 'grace' }))
    await sessions?.open(sessionUntil(FOREVER, { user: 'grace' }))
    expect((await names()).filter((name) => /^[rsu]:/.test(name)).length).toBe(7)
    // As if that time had passed.
    for (const name of await names()) {
      const left = await client.pttl(key(name))
      expect(left).toBeLessThanOrEqual(HOUR + MARGIN)
      if (left > 0) await client.pexpire(key(name), 1)
    }
    await until(async () => {
      const left = (await names()).map((name) => name.replace(/^s:.*/, 's:'))
      expect(left).toEqual(['count', 'epoch', 'log', 'marks', 'meta', 'past', 'r:k:k', 's:', 'u:grace'])
    })
  })

  test('the list of a user lives as long as the longest session', async () => {
    const { store, key, now } = await open()
    await store.sessions?.open(sessionUntil(now + 2 * HOUR))
    await store.sessions?.open(sessionUntil(now + HOUR))
    expect(await client.pttl(key('u:ada'))).toBeGreaterThan(HOUR + MARGIN)
    await store.sessions?.open(sessionUntil(FOREVER))
    await store.sessions?.open(sessionUntil(now + HOUR))
    expect(await client.pttl(key('u:ada'))).toBe(-1)
    expect((await store.sessions?.list('ada', LIST))?.length).toBe(4)
  })

  test('a rotation does not lengthen the life of a session', async () => {
    const { store, key, now } = await open()
    const { sid } = (await store.sessions?.open(sessionUntil(now + HOUR))) ?? { sid: '' }
    const expiry = await client.call('PEXPIRETIME', key(`s:${sid}`))
    expect(Number(expiry)).toBeGreaterThanOrEqual(now + HOUR + MARGIN)
    expect((await store.sessions?.rotate(sid, firstToken(sid), RULES))?.outcome).toBe('advanced')
    expect(await client.call('PEXPIRETIME', key(`s:${sid}`))).toBe(expiry)
  })

  test('pruning drops what the server has dropped from the log, a bounded number at a time', async () => {
    const { store, key, now } = await open()
    const ended = Array.from({ length: 10 }, (_, at) => all('token', `t${at}`, now - MARGIN + 1))
    await store.revoke([all('key', 'k', FOREVER), ...ended, all('token', 'live', now + HOUR)])
    expect(await store.prune(1000)).toBe(0)
    await until(async () => expect(await client.exists(key('r:t:t0'), key('r:t:t9'))).toBe(0))
    const { entries } = await store.feed(null, { waitMs: 0 })
    expect(entries.map(({ id }) => id)).toEqual(['k', 'live'])
    expect([await store.prune(4), await store.prune(4), await store.prune(4), await store.prune(4)]).toEqual([
      4, 4, 2, 0,
    ])
    expect((await store.feed(null, { waitMs: 0 })).entries).toEqual(entries)
    expect(await client.zcard(key('log'))).toBe(1 + 2)
  })

  test.each(['', '-', '1,2', 'abc'])('a value that we did not write, %j, revokes for ever', async (value) => {
    const { store, key } = await open()
    await client.mset(key('r:t:a'), value, key('r:u:ada'), value)
    const found = await store.lookup([
      { kind: 'token', id: 'a' },
      { kind: 'user', id: 'ada' },
    ])
    expect(found).toEqual([FOREVER, FOREVER])
  })

  test.each(['t:a', 'abcdefghijklmnop t:a', '9000000000000000:x t:a'])(
    'a row of the log that we did not write, %j, revokes for ever',
    async (row) => {
      const { store, key, now } = await open()
      await store.revoke([all('token', 'b', now + HOUR)])
      await client.zadd(key('log'), 0.5, row)
      const replica = replicate(store)
      onTestFinished(() => replica.close())
      await replica.prepare({ longestLifetime: HOUR })
      await replica.replica?.ready()
      const found = await replica.lookup(['a', 'b'].map((id) => ({ kind: 'token', id })))
      expect(found).toEqual([FOREVER, FOREVER])
    },
  )

  test('an entry that is raised has one row in the log', async () => {
    const { store, key, now } = await open()
    await store.revoke([
      all('token', 'a', now + HOUR),
      { kind: 'user', id: 'ada', notBefore: now, until: now + HOUR },
    ])
    await store.revoke([all('token', 'a', now + 2 * HOUR)])
    await store.revoke([{ kind: 'user', id: 'ada', notBefore: now + 5000, until: 0 }])
    await store.restore?.([all('token', 'a', now + 3 * HOUR)])
    // Makes the watermark last longer.
    await store.prepare({ longestLifetime: 9 * HOUR })
    expect(await client.zcard(key('log'))).toBe(1 + 2)
    const { entries } = await store.feed(null, { waitMs: 0 })
    expect(entries).toEqual([
      all('token', 'a', now + 3 * HOUR),
      { kind: 'user', id: 'ada', notBefore: now + 5000, until: now + 5000 + 9 * HOUR },
    ])
  })

  test('of two entries of one key in a batch, the larger numbers count', async () => {
    const { store, key, now } = await open()
    const batch = [all('token', 'a', now + 2 * HOUR), all('token', 'a', now + HOUR)]
    await store.restore?.(batch)
    expect(await client.get(key('r:t:a'))).toBe(String(now + 2 * HOUR))
    expect((await store.feed(null, { waitMs: 0 })).entries).toEqual(batch.slice(0, 1))
  })

  test('a clock that is ahead hides nothing from the feed, and prunes nothing', async () => {
    const namespace = `keys-${randomUUID()}`
    const { store, now } = await open(namespace)
    await store.revoke([all('token', 'a', now + HOUR)])
    const ahead = createRedisStore(client, { namespace, clock: () => Date.now() + 24 * HOUR })
    await ahead.prepare({ longestLifetime: HOUR })
    const { entries } = await ahead.feed(null, { waitMs: 0 })
    expect(entries).toEqual([all('token', 'a', now + HOUR)])
    expect(await ahead.prune(10)).toBe(0)
  })

  test('the log does not grow with what has ended, though nobody prunes', async () => {
    const { store, key, now } = await open()
    const ended = Array.from({ length: 200 }, (_, at) => all('token', `t${at}`, now - MARGIN + 1))
    await store.revoke(ended)
    await until(async () => expect(await client.exists(key('r:t:t0'), key('r:t:t199'))).toBe(0))
    // The last of them are revoked again, and must not be swept away with the rest.
    for (const { id } of ended.slice(-100)) await store.revoke([all('token', id, now + HOUR)])
    expect(await client.zcard(key('log'))).toBeLessThan(1 + 100 + 20)
    expect((await store.feed(null, { waitMs: 0 })).entries.length).toBe(100)
  })

  test('the list of a user does not grow with logins that have ended', async () => {
    const { store, key, now } = await open()
    for (let at = 0; at < 100; at++) {
      const { sid } = (await store.sessions?.open(sessionUntil(now + HOUR))) ?? { sid: '' }
      // As the server drops it when it has ended.
      await client.del(key(`s:${sid}`))
    }
    expect(await client.zcard(key('u:ada'))).toBeLessThan(20)
    expect(await store.sessions?.list('ada', LIST)).toEqual([])
    expect(await client.zcard(key('u:ada'))).toBe(0)
  })

  test('a revoked session leaves its entry, and nothing in the rows and the list of its user', async () => {
    const { store, key, names, now } = await open()
    const sids: string[] = []
    for (let at = 0; at < 4; at++) {
      const { sid } = (await store.sessions?.open(sessionUntil(now + HOUR))) ?? { sid: '' }
      await store.sessions?.rotate(sid, firstToken(sid), RULES)
      sids.push(sid)
    }
    const [revoked = '', rotated = '', presented = '', kept] = sids
    await store.revoke([all('session', revoked, now)])
    const sibling = (sid: string) => ({ ...firstToken(sid), id: 'sibling' })
    expect((await store.sessions?.rotate(rotated, sibling(rotated), RULES))?.outcome).toBe('reused')
    expect((await store.sessions?.present(presented, sibling(presented), RULES))?.outcome).toBe('reused')
    expect((await names()).filter((name) => /^[rs]:/.test(name)).toSorted()).toEqual(
      [...[revoked, rotated, presented].map((sid) => `r:s:${sid}`), `s:${kept}`].toSorted(),
    )
    expect(await client.zrange(key('u:ada'), '0', '-1')).toEqual([kept])
    for (const sid of [revoked, rotated, presented]) {
      expect(await client.pttl(key(`r:s:${sid}`))).toBeGreaterThan(HOUR)
    }
  })

  test('of very many sessions the newest are listed', async () => {
    const { store, now } = await open()
    const opened = await Promise.all(
      Array.from({ length: 1005 }, async () => store.sessions?.open(sessionUntil(now + HOUR))),
    )
    const listed = (await store.sessions?.list('ada', LIST)) ?? []
    expect(listed.length).toBe(1000)
    const starts = opened.map((given) => given?.startedAt ?? 0).toSorted((a, b) => b - a)
    expect(listed.map(({ startedAt }) => startedAt)).toEqual(starts.slice(0, 1000))
  })

  test('namespaces do not see each other', async () => {
    const [one, other] = [await open(), await open()]
    await one.store.revoke([all('token', 'a', FOREVER), all('all', '', FOREVER)])
    await one.store.sessions?.open(sessionUntil(one.now + HOUR))
    const keys = [
      { kind: 'token' as const, id: 'a' },
      { kind: 'all' as const, id: '' },
    ]
    expect(await other.store.lookup(keys)).toEqual([undefined, undefined])
    expect((await other.store.feed(null, { waitMs: 0 })).entries).toEqual([])
    expect(await other.store.sessions?.list('ada', LIST)).toEqual([])
  })

  test('no id can pass for another kind of key', async () => {
    const { store, names, now } = await open()
    const ids = ['a', ':a', 's:a', '}:r:s:a', '{a}', 'meta', '', 'a:', '\\', ' ']
    for (const id of ids) await store.revoke([all('token', id, now + HOUR)])
    for (const id of ids) await store.sessions?.open(sessionUntil(now + HOUR, { user: id }))
    for (const kind of ['session', 'user', 'key', 'all'] as const) {
      const found = await store.lookup(ids.map((id) => ({ kind, id })))
      expect(found).toEqual(ids.map(() => undefined))
    }
    const written = (await names()).filter((name) => name.startsWith('r:'))
    expect(written).toEqual(ids.map((id) => `r:t:${id}`).toSorted())
  })

  test('a revocation keeps nothing of the client that was signed in', async () => {
    const { store, key, names, now } = await open()
    const given = sessionUntil(now + HOUR, { ip: '192.0.2.99', userAgent: 'Secret/1.0' })
    const { sid } = (await store.sessions?.open(given)) ?? { sid: '' }
    const first = firstToken(sid)
    const [second, third] = [
      { ...RULES, ip: '192.0.2.98', userAgent: 'Secret/2.0' },
      { ...RULES, ip: '192.0.2.97', userAgent: 'Secret/3.0' },
    ]
    await store.sessions?.rotate(sid, first, second)
    await store.sessions?.rotate(sid, childOf(first, now), second)
    expect((await store.sessions?.rotate(sid, first, third))?.outcome).toBe('reused')
    for (const name of await names()) {
      const dump = (await client.dumpBuffer(key(name)))?.toString('latin1') ?? ''
      expect(`${name} ${dump.includes('192.0.2') || dump.includes('Secret')}`).toBe(
        `${name} ${name === `s:${sid}`}`,
      )
    }
  })
})

describeWithOwnServer('redis', 'A Redis store', () => {
  test('writes nothing when it reads', async () => {
    const { client } = await start()
    const store = await prepared(client)
    await store.revoke([token('a')])
    const { sid, startedAt } = await store.sessions.open(session())
    const first = firstToken(sid)
    const rules = { ...RULES, graceMs: HOUR, ip: '192.0.2.99' }
    await store.sessions.rotate(sid, first, rules)
    const changes = async () => /rdb_changes_since_last_save:\d+/.exec(await client.info('persistence'))?.[0]
    const before = await changes()
    await store.lookup([token('a')])
    await store.feed(null, { waitMs: 0 })
    await store.sessions.list('ada', LIST)
    await store.sessions.get(sid, rules)
    expect((await store.sessions.rotate(sid, first, rules)).outcome).toBe('repeated')
    expect((await store.sessions.rotate(sid, childOf(first, startedAt), rules)).outcome).toBe('kept')
    expect((await store.sessions.present(sid, first, rules)).outcome).toBe('current')
    expect(await changes()).toBe(before)
  })
})
