import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { createRedisStore, type RedisClient } from 'tokenlib/redis'
import { replicate, type ReplicaOptions } from 'tokenlib/replica'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { FOREVER } from '../../packages/tokenlib/src/revocation/revocation.js'
import type { RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import { redisCommand } from '../helpers/servers/redis-command.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { startRedis } from '../helpers/servers/start-redis.js'
import { ALL, HOUR, start, token } from './redis-fixture.js'

/** Before the first poll of a replica whose bound is a minute. */
const BEFORE_POLL = { timeout: 10_000 }
const key = (id: string) => [{ kind: 'token' as const, id }]

type Connect = (server: RunningServer) => Promise<RedisClient>

async function connectIoredis(
  server: RunningServer,
  options: { readonly lazyConnect?: boolean; readonly enableOfflineQueue?: boolean } = {},
): Promise<Redis> {
  const client = new Redis(server.url, {
    maxRetriesPerRequest: null,
    retryStrategy: () => 20,
    ...options,
  })
  client.on('error', () => undefined)
  onTestFinished(() => client.disconnect())
  // A client without a queue takes no command before.
  if (options.lazyConnect !== true)
    await new Promise<void>((resolve) => client.once('ready', () => resolve()))
  return client
}

async function connectNodeRedis(
  server: RunningServer,
  options: Parameters<typeof createClient>[0] = {},
): Promise<RedisClient> {
  const client = createClient({ url: server.url, socket: { reconnectStrategy: () => 20 }, ...options })
  client.on('error', () => undefined)
  await client.connect()
  onTestFinished(() => client.destroy())
  return client
}

const CLIENTS: Record<string, Connect> = {
  ioredis: (server) => connectIoredis(server),
  'ioredis without an offline queue': (server) => connectIoredis(server, { enableOfflineQueue: false }),
  'ioredis that connects with the first command': (server) => connectIoredis(server, { lazyConnect: true }),
  redis: (server) => connectNodeRedis(server),
  'redis without an offline queue': (server) => connectNodeRedis(server, { disableOfflineQueue: true }),
}

const CLUSTERS: Record<string, Connect> = {
  async ioredis({ host, port }) {
    const cluster = new Cluster([{ host, port }])
    onTestFinished(() => cluster.disconnect())
    return cluster
  },
  async redis({ url }) {
    const cluster = createCluster({ rootNodes: [{ url }] })
    await cluster.connect()
    onTestFinished(() => cluster.destroy())
    return cluster
  },
}

interface Replica {
  readonly store: Required<RevocationStore>
  /** How many times the server has called. */
  readonly calls: () => number
  readonly changes: string[]
  readonly warnings: string[]
}

/** A replica that has read everything. */
async function open(client: RedisClient, options: ReplicaOptions = {}): Promise<Replica> {
  const warnings: string[] = []
  const changes: string[] = []
  let calls = 0
  const shared = createRedisStore(client, { onWarning: (message) => void warnings.push(message) })
  const watch: RevocationStore['watch'] = (listener) =>
    (shared as Required<RevocationStore>).watch(() => {
      calls++
      listener()
    })
  const store = replicate({ ...shared, watch }, options)
  onTestFinished(() => store.close())
  await store.prepare({ longestLifetime: HOUR, onReplicaChange: ({ kind }) => void changes.push(kind) })
  await store.replica?.ready()
  return { store: store as Required<RevocationStore>, calls: () => calls, changes, warnings }
}

/** A store of another process. */
async function openOther(server: RunningServer): Promise<Required<RevocationStore>> {
  const store = createRedisStore(await connectIoredis(server), { onWarning: () => undefined })
  await store.prepare({ longestLifetime: HOUR })
  return store as Required<RevocationStore>
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await sleep(2)
}

async function untilRefused({ store }: Replica, id: string): Promise<void> {
  await until(async () => (await store.lookup(key(id)))[0] === FOREVER)
}

/** Until a connection waits for news, another one than that of an id; returns its id. */
async function untilWatched(server: RunningServer, before = ''): Promise<string> {
  const client = await connectIoredis(server)
  let id = ''
  await until(async () => {
    const found = /^id=(\d+) .* sub=1 /m.exec(String(await client.client('LIST', 'TYPE', 'PUBSUB')))
    id = found?.[1] ?? ''
    return id !== '' && id !== before
  })
  return id
}

/** Whether a token passed later than so long after a moment. Waits until it is refused, and asks for no read. */
async function passesLate(
  { store }: Replica,
  from: number,
  milliseconds: number,
  id: string,
): Promise<boolean> {
  const isRevokedNow = () => store.isRevokedNow(key(id), 1)
  let isLate = false
  await until(() => {
    const hasPassed = performance.now() - from > milliseconds
    try {
      if (isRevokedNow()) return true
      isLate ||= hasPassed
    } catch {
      // Stale, which is no acceptance.
    }
    return false
  })
  return isLate
}

function watchesNews(connectors: Record<string, Connect>, server: () => RunningServer): void {
  describe.each(Object.entries(connectors))('%s', (_, connect) => {
    test('what another process revokes arrives before the next poll', BEFORE_POLL, async () => {
      await redisCommand(server().url, 'FLUSHALL')
      const replica = await open(await connect(server()), { bound: '1m' })
      await untilWatched(server())
      const other = await openOther(server())
      await other.revoke([token('a')])
      await untilRefused(replica, 'a')
      expect(replica.calls()).toBeGreaterThan(0)
    })

    test('and also after the server has cut the connection that waits for news', BEFORE_POLL, async () => {
      await redisCommand(server().url, 'FLUSHALL')
      const replica = await open(await connect(server()), { bound: '1m' })
      const other = await openOther(server())
      const before = await untilWatched(server())
      await redisCommand(server().url, 'CLIENT', 'KILL', 'TYPE', 'pubsub')
      await untilWatched(server(), before)
      await other.revoke([token('a')])
      await untilRefused(replica, 'a')
      expect(replica.calls()).toBeGreaterThan(0)
    })
  })
}

describeWithOwnServer('redis', 'A replica of a Redis store that is woken', () => {
  let server: RunningServer
  beforeAll(async () => void (server = await startRedis()))
  afterAll(() => server.stop())
  watchesNews(CLIENTS, () => server)
})

describeWithOwnServer('redis', 'A replica of a Redis store that is woken in a cluster', () => {
  let server: RunningServer
  beforeAll(
    async () =>
      void (server = await startRedis({ 'cluster-enabled': 'yes', 'cluster-announce-ip': '127.0.0.1' })),
  )
  afterAll(() => server.stop())
  watchesNews(CLUSTERS, () => server)
})

describeWithOwnServer('redis', 'A replica of a Redis store that nobody wakes', () => {
  const BOUND_MS = 400
  const OPTIONS: ReplicaOptions = { bound: `${BOUND_MS}ms` }

  test.each(['ioredis', 'redis'])(
    '%s: refuses within the bound, when its connection for news is gone',
    async (name) => {
      const { server } = await start()
      const replica = await open(await (CLIENTS[name] as Connect)(server), OPTIONS)
      const other = await openOther(server)
      await untilWatched(server)
      await redisCommand(server.url, 'CLIENT', 'KILL', 'TYPE', 'pubsub')
      await other.revoke([token('a')])
      expect(await passesLate(replica, performance.now(), BOUND_MS, 'a')).toBe(false)
    },
  )

  test.each([
    ['publish or subscribe', ['-publish', '-subscribe']],
    ['use any channel', ['resetchannels']],
    ['use a command for messages', ['-@pubsub']],
  ])('refuses within the bound, when the user may not %s', async (_, rules) => {
    for (const name of ['ioredis', 'redis']) {
      const { server } = await start()
      await redisCommand(
        server.url,
        'ACL',
        'SETUSER',
        'app',
        'on',
        '>of-the-application',
        '~*',
        '&*',
        '+@all',
        ...rules,
      )
      const url = server.url.replace('redis://', 'redis://app:of-the-application@')
      const connect = CLIENTS[name] as Connect
      const replica = await open(await connect({ ...server, url }), OPTIONS)
      const other = createRedisStore(await connect({ ...server, url }))
      await other.prepare({ longestLifetime: HOUR })
      await other.revoke([token('a')])
      expect(await passesLate(replica, performance.now(), BOUND_MS, 'a')).toBe(false)
      expect(replica.calls()).toBe(0)
    }
  })
})

describeWithOwnServer('redis', 'A replica of a Redis server that does not answer', () => {
  test('answers every check, if that is shorter than the bound', async () => {
    const { server, client } = await start()
    const { store } = await open(client, { bound: '20s' })
    await store.revoke([token('a')])
    const isRevokedNow = () => store.isRevokedNow(key('b'), 1)
    await server.kill('SIGSTOP')
    try {
      for (const from = performance.now(); performance.now() - from < 1500; await sleep(5)) {
        expect(await store.lookup([...key('a'), ...key('b')])).toEqual([FOREVER, undefined])
        expect(isRevokedNow()).toBe(false)
      }
    } finally {
      await server.kill('SIGCONT')
    }
  })

  test.each(['ioredis', 'redis'])(
    '%s: refuses, if it is longer, and answers again after it',
    async (name) => {
      const { server } = await start()
      const { store, changes } = await open(await (CLIENTS[name] as Connect)(server), { bound: '300ms' })
      await store.revoke([token('a')])
      const isRevokedNow = () => store.isRevokedNow(key('b'), 1)
      await server.kill('SIGSTOP')
      try {
        await until(() => changes.includes('stale'))
        await expect(store.lookup(key('b'))).rejects.toThrow('may be at most 300 ms old')
        expect(isRevokedNow).toThrow('may be at most 300 ms old')
      } finally {
        await server.kill('SIGCONT')
      }
      await until(() => changes.at(-1) === 'fresh')
      expect(await store.lookup([...key('a'), ...key('b')])).toEqual([FOREVER, undefined])
      expect(isRevokedNow()).toBe(false)
    },
  )
})

describeWithOwnServer('redis', 'A replica of a Redis server that lost its data', () => {
  const config = new TokenConfig({
    JWT_SECRET_KEY: 'a secret of 32 bytes or more: Kq7Zw0',
    JWT_REVOCATION_TIMEOUT: '20s',
  })

  const ask = (tokens: TokenManager, accessToken: string): Promise<string> =>
    tokens.verify(accessToken).then(
      () => 'passed',
      (error: { code: string }) => error.code,
    )

  const LOSSES: Record<string, (server: RunningServer) => Promise<unknown>> = {
    FLUSHALL: ({ url }) => redisCommand(url, 'FLUSHALL'),
    'a restart with an empty folder': async (server) => {
      await server.kill()
      for (const name of ['appendonlydir', 'dump.rdb', 'appendonly.aof'])
        rmSync(join(server.folder, name), { recursive: true, force: true })
      await server.restart()
    },
  }

  test.each(Object.entries(LOSSES))('restores it after %s, and revokes nothing else', async (_, lose) => {
    const { server } = await start()
    const replicas = [
      await open(await connectIoredis(server), { bound: '500ms' }),
      await open(await connectNodeRedis(server), { bound: '500ms' }),
    ] as const
    const [one, two] = replicas.map(({ store }) => new TokenManager({ config, store })) as [
      TokenManager,
      TokenManager,
    ]
    const [ada, bob, grace] = await Promise.all(
      ['ada', 'bob', 'grace'].map((uid) => one.sessions.open({ uid })),
    )
    await one.logout(await one.verify(String(ada?.accessToken)))
    await two.revoke.user('bob')
    await until(() => replicas.every(({ store }) => store.replica.readState().entries === 2))

    await lose(server)
    await until(() => replicas.some(({ changes }) => changes.includes('reset')))
    const other = await openOther(server)
    await until(async () => (await other.lookup([{ kind: 'user', id: 'bob' }]))[0] !== undefined)
    await until(async () => (await other.feed(null, { waitMs: 0 })).entries.length === 2)

    for (const manager of [one, two, new TokenManager({ config, store: other })]) {
      expect(await ask(manager, String(grace?.accessToken))).toBe('passed')
      expect(await ask(manager, String(ada?.accessToken))).toBe('TOKEN_REVOKED')
      expect(await ask(manager, String(bob?.accessToken))).toBe('TOKEN_REVOKED')
    }
    expect(await other.lookup([ALL])).toEqual([undefined])
    expect(replicas.flatMap(({ warnings }) => warnings)).toEqual([])
  })

  test('restores what was acknowledged by a history that is gone again', async () => {
    const { server, client } = await start()
    const shared = createRedisStore(client, { onWarning: () => undefined })
    let isCut = false
    const store = replicate(
      {
        ...shared,
        watch: () => () => undefined,
        feed: (...given) => (isCut ? Promise.reject(new Error('cut')) : shared.feed(...given)),
      },
      { bound: '300ms' },
    )
    onTestFinished(() => store.close())
    await store.prepare({ longestLifetime: HOUR })
    await store.replica?.ready()
    await store.revoke([token('first')])
    await until(() => store.replica?.readState().position?.includes('|1|') === true)
    const keys = await client.keys('*')
    const dumps = await Promise.all(keys.map((name) => client.dumpBuffer(name)))
    // Between two reads: the store is emptied, takes a revocation, and is what it was before.
    isCut = true
    await client.flushall()
    await store.revoke([token('between')])
    await client.flushall()
    for (const [at, name] of keys.entries()) await client.restore(name, 0, dumps[at] as Buffer)
    isCut = false
    const other = await openOther(server)
    await until(async () => (await other.lookup(key('between')))[0] === FOREVER)
    expect(await other.lookup([...key('first'), ALL])).toEqual([FOREVER, undefined])
  })

  test('restores the log where that is all that is lost', async () => {
    const { server, client } = await start()
    const { store } = await open(client, { bound: '300ms' })
    await store.revoke([token('a')])
    await client.del('{tokenlib:tokenlib}:log')
    const other = await openOther(server)
    await until(async () => (await other.feed(null, { waitMs: 0 })).entries.some(({ id }) => id === 'a'))
    // Where the other process was the first to find the loss, it has revoked everything as well.
    expect(await other.lookup([token('a')])).toEqual([FOREVER])
  })

  test('revokes everything where it starts, finds a damaged store, and nobody knows more', async () => {
    const { server, client } = await start()
    await (await openOther(server)).revoke([token('a')])
    await client.del('{tokenlib:tokenlib}:log')
    const { store, warnings } = await open(client, { bound: '300ms' })
    expect(await store.lookup([ALL])).toEqual([expect.any(Number)])
    expect(warnings).toHaveLength(1)
  })

  test('reads on after DEBUG RELOAD, which loses nothing', async () => {
    const { server, client } = await start({ 'enable-debug-command': 'yes' })
    const replica = await open(client, { bound: '500ms' })
    await replica.store.revoke([token('a')])
    await client.debug('RELOAD')
    const other = await openOther(server)
    await other.revoke([token('b')])
    await untilRefused(replica, 'b')
    expect(await replica.store.lookup([...key('a'), ALL])).toEqual([FOREVER, undefined])
    expect(replica.changes).toEqual(['fresh'])
    expect(replica.warnings).toEqual([])
  })
})

describeWithOwnServer('redis', 'A replica of a Redis store whose client gives up', () => {
  test.each(['before it has connected', 'after a while'])('can be closed: %s', async (when) => {
    const { server } = await start()
    const client = createClient({ url: server.url, socket: { reconnectStrategy: false } })
    client.on('error', () => undefined)
    await client.connect()
    const store = replicate(createRedisStore(client), { bound: '100ms' })
    const changes: string[] = []
    if (when === 'after a while') {
      await store.prepare({ longestLifetime: HOUR, onReplicaChange: ({ kind }) => void changes.push(kind) })
      await store.replica?.ready()
      await untilWatched(server)
      await server.kill()
      await until(() => changes.includes('stale'))
    } else {
      await store.prepare({ longestLifetime: HOUR })
    }
    await expect(store.close()).resolves.toBeUndefined()
    await expect(store.close()).resolves.toBeUndefined()
  })
})

describeWithOwnServer('redis', 'Checks of a fresh replica of a Redis store', () => {
  test('send nothing to the server', async () => {
    const { client } = await start()
    const { store } = await open(client, { bound: '1m' })
    const tokens = new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: 'a secret of 32 bytes or more: Kq7Zw0' }),
      store,
    })
    await tokens.ready()
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    const headers = { authorization: `Bearer ${accessToken}` }
    await client.config('RESETSTAT')
    for (let count = 0; count < 200; count++) {
      await tokens.accessTokenRequired(new Request('http://localhost/', { headers }))
    }
    const commands = (await client.info('commandstats')).match(/^cmdstat_(?!config|info)[^:]+/gm)
    expect(commands).toBeNull()
  })
})
