import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { createRedisStore } from 'tokenlib/redis'
import { readFrom } from '../../packages/contracts/src/feed-contract.js'
import { FOREVER, type Revocation } from '../../packages/tokenlib/src/revocation/revocation.js'
import type { RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { describeWithRedis } from '../helpers/servers/describe-with-servers.js'
import { ALL, HOUR, start, token } from './redis-fixture.js'

const MARGIN = 60_000

describeWithRedis('A longer lifetime in a Redis store', (url) => {
  let client: Redis
  beforeAll(() => void (client = new Redis(url)))
  afterAll(() => client.disconnect())

  /** Stores of one namespace; each may send so many scripts, and no more. */
  function create(target = client): {
    readonly open: (lifetime: number, scripts?: number) => Promise<RevocationStore>
    readonly key: (name: string) => string
  } {
    const namespace = `raise-${randomUUID()}`
    const key = (name: string): string => `{tokenlib:${namespace}}:${name}`
    onTestFinished(async () => void (await target.del('nothing', ...(await target.keys(key('*'))))))
    return {
      key,
      async open(lifetime, scripts = Number.POSITIVE_INFINITY) {
        let left = scripts
        const call = async (command: string, args: string[]) => {
          if (args.includes(key('epoch')) && command.startsWith('EVAL') && left-- <= 0) {
            throw new Error('The connection is gone')
          }
          return target.call(command, args)
        }
        const store = createRedisStore({ call }, { namespace })
        await store.prepare({ longestLifetime: lifetime })
        return store
      },
    }
  }

  const user = (id: string, until = 0): Revocation => ({ kind: 'user', id, notBefore: 0, until })
  const users = (count: number) => Array.from({ length: count }, (_, at) => user(`u${at}`))

  test('every watermark is longer before the process is ready, however many there are', async () => {
    const { open, key } = create()
    const store = await open(HOUR)
    const { position, now } = await store.revoke([
      token('a'),
      ...users(2500),
      { ...ALL, notBefore: 0, until: 0 },
    ])
    await open(9 * HOUR)
    const { entries } = await readFrom(store, position)
    expect(entries.length).toBe(2501)
    expect(new Set(entries.map(({ kind, until }) => `${kind} ${until - now}`))).toEqual(
      new Set([`user ${9 * HOUR}`, `all ${9 * HOUR}`]),
    )
    for (const name of ['r:u:u0', 'r:u:u2499', 'r:a:']) {
      expect(await client.pttl(key(name))).toBeGreaterThan(8 * HOUR)
    }
  })

  test('what lives long enough is not told again', async () => {
    const { open } = create()
    const store = await open(HOUR)
    const { position, now } = await store.revoke([
      user('ada'),
      user('bob', FOREVER),
      token('a'),
      { kind: 'session', id: 'sid', notBefore: FOREVER, until: 0 },
    ])
    await open(FOREVER)
    const { entries } = await readFrom(store, position)
    expect(entries).toEqual([{ kind: 'user', id: 'ada', notBefore: now, until: FOREVER }])
  })

  test('a need that is not larger writes nothing', async () => {
    // A server of its own: ioredis fails if commands of others arrive while it begins to listen.
    const { server, client: own } = await start()
    const { open, key } = create(own)
    const store = await open(HOUR)
    const { position } = await store.revoke([user('ada'), user('bob', FOREVER)])
    const listener = new Redis(server.url)
    const monitor = await listener.monitor()
    onTestFinished(() => [listener, monitor].forEach((connection) => connection.disconnect()))
    const seen: string[] = []
    monitor.on('monitor', (_time: string, [command = '', name = '']: string[]) => {
      if (name.startsWith(key('')) || command === 'echo') seen.push(command.toUpperCase())
    })
    await open(HOUR)
    await open(1)
    await own.echo('done')
    await vi.waitFor(() => expect(seen).toContain('ECHO'))
    const writes = ['SET', 'HSET', 'ZADD', 'ZREM', 'RPUSH', 'LTRIM', 'DEL']
    expect(seen.filter((command) => writes.includes(command))).toEqual([])
    expect(await store.feed(position, { waitMs: 0 })).toMatchObject({ entries: [], next: position })
  })

  test('a process that ends half-way is not ready, and the next one goes on, whatever it needs', async () => {
    const { open } = create()
    const store = await open(HOUR)
    const { position, now } = await store.revoke(users(2500))
    await expect(open(9 * HOUR, 1)).rejects.toThrow('The connection is gone')
    expect((await readFrom(store, position)).entries.length).toBe(1000)
    await open(HOUR)
    const { entries } = await readFrom(store, position)
    expect(new Set(entries.map(({ id }) => id)).size).toBe(2500)
    expect(new Set(entries.map(({ until }) => until - now))).toEqual(new Set([9 * HOUR]))
  })

  test('a watermark that is raised at the same time is as long as its own moment asks for', async () => {
    const { open, key } = create()
    const store = await open(HOUR)
    const { now } = await store.revoke(users(1500).map((entry) => ({ ...entry, notBefore: FOREVER })))
    await expect(open(9 * HOUR, 1)).rejects.toThrow('The connection is gone')
    const left = await client.zrangebyscore(key('marks'), '-inf', HOUR)
    expect(left.length).toBe(500)
    const id = String(left[0]).slice(2)
    await store.revoke([user(id)])
    expect(await client.get(key(`r:u:${id}`))).toBe(`${now}:${now + 9 * HOUR}`)
  })

  test('only watermarks are looked at, and those that are gone are forgotten', async () => {
    const { open, key } = create()
    const store = await open(1)
    const marks = async () =>
      (await client.zrange(key('marks'), '0', '-1')).filter((member) => member.includes(':'))
    await store.revoke([token('a'), user('ada'), user('bob'), user('eve')])
    expect(await marks()).toEqual(['u:ada', 'u:bob', 'u:eve'])
    // As the server does a minute after they have ended.
    expect(await client.pttl(key('r:u:bob'))).toBeLessThanOrEqual(MARGIN + 1)
    await client.del(key('r:u:bob'))
    expect(await store.prune(10)).toBe(1)
    expect(await marks()).toEqual(['u:ada', 'u:eve'])
    await client.del(key('r:u:ada'))
    const { position } = await store.revoke([token('b'), token('c'), token('d')])
    expect(await marks()).toEqual(['u:eve'])
    await client.del(key('r:u:eve'))
    await open(HOUR)
    expect(await marks()).toEqual([])
    expect((await readFrom(store, position)).entries).toEqual([])
  })

  test('a loss that a longer lifetime comes upon leaves one watermark of all, of that length', async () => {
    const { open, key } = create()
    const store = await open(HOUR)
    await store.revoke([{ ...ALL, notBefore: 0, until: 0 }, user('ada')])
    await client.del(key('epoch'))
    await store.prepare({ longestLifetime: 9 * HOUR })
    const { entries } = await readFrom(store, null)
    expect(entries.map(({ kind }) => kind).toSorted()).toEqual(['all', 'user'])
    for (const { notBefore, until } of entries) expect(until - notBefore).toBe(9 * HOUR)
  })
})
