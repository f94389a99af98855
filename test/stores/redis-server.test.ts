import { Cluster, Redis } from 'ioredis'
import { ConfigurationError } from 'tokenlib'
import { createRedisStore, type RedisClient, type RedisStoreOptions } from 'tokenlib/redis'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { describeWithOwnServer, describeWithRedis } from '../helpers/servers/describe-with-servers.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { type RedisSettings, startRedis } from '../helpers/servers/start-redis.js'

const NEEDS = { longestLifetime: 3_600_000 }

async function start(settings: RedisSettings): Promise<RunningServer> {
  const server = await startRedis(settings)
  onTestFinished(() => server.stop())
  return server
}

function connect(url: string, options = {}): Redis {
  const client = new Redis(url, options)
  onTestFinished(() => client.disconnect())
  return client
}

async function refusalOf(client: RedisClient, options?: RedisStoreOptions): Promise<string> {
  const error: unknown = await createRedisStore(client, options)
    .prepare(NEEDS)
    .then(
      () => null,
      (reason: unknown) => reason,
    )
  expect(error).toBeInstanceOf(ConfigurationError)
  return (error as Error).message
}

describeWithOwnServer('redis', 'What a Redis store asks of its server', () => {
  test('a server without an append-only file is refused, unless that is accepted', async () => {
    const client = connect((await start({ appendonly: 'no' })).url)
    expect(await refusalOf(client)).toMatch(/appendonly yes/)
    expect(await client.keys('*')).toEqual([])
    await createRedisStore(client, { allowVolatile: true }).prepare(NEEDS)
  })

  for (const policy of ['allkeys-lru', 'volatile-ttl']) {
    test(`a server that evicts by ${policy} is refused, unless that is accepted`, async () => {
      const server = await start({ maxmemory: '100mb', 'maxmemory-policy': policy })
      const client = connect(server.url)
      expect(await refusalOf(client)).toMatch(
        new RegExp(`maxmemory-policy ${policy}.*set maxmemory-policy noeviction`),
      )
      await createRedisStore(client, { allowVolatile: true }).prepare(NEEDS)
    })
  }

  test('a policy of eviction without a limit of memory is no trouble, nor is a limit without eviction', async () => {
    const unlimited = await start({ 'maxmemory-policy': 'allkeys-lru' })
    await expect(createRedisStore(connect(unlimited.url)).prepare(NEEDS)).resolves.toBeUndefined()
    const limited = await start({ maxmemory: '100mb' })
    await expect(createRedisStore(connect(limited.url)).prepare(NEEDS)).resolves.toBeUndefined()
  })

  test('a replica is refused, whatever is accepted', async () => {
    const primary = await start({})
    const replica = await start({ replicaof: `127.0.0.1 ${primary.port}` })
    expect(await refusalOf(connect(replica.url), { allowVolatile: true })).toMatch(/primary/)
  })

  test('a server that was fixed is asked again, and one that was good is not', async () => {
    const client = connect((await start({ appendonly: 'no' })).url)
    const store = createRedisStore(client)
    await expect(store.prepare(NEEDS)).rejects.toThrow(ConfigurationError)
    await client.config('SET', 'appendonly', 'yes')
    await store.prepare(NEEDS)
    await client.config('SET', 'appendonly', 'no')
    await store.prepare({ longestLifetime: 2 * NEEDS.longestLifetime })
  })

  test('where INFO is forbidden, a warning says once what nobody checked', async () => {
    const { url, port } = await start({ appendonly: 'no' })
    await connect(url).call('ACL', 'SETUSER', 'app', 'on', '>secret', '~{tokenlib:*', '+@all', '-info')
    const warnings: string[] = []
    const options = { username: 'app', password: 'secret', enableReadyCheck: false }
    const store = createRedisStore(connect(`redis://127.0.0.1:${port}`, options), {
      onWarning: (message) => warnings.push(message),
    })
    await Promise.all([store.prepare(NEEDS), store.prepare(NEEDS)])
    await store.prepare({ longestLifetime: 2 * NEEDS.longestLifetime })
    expect(warnings).toEqual([expect.stringMatching(/INFO.*appendonly yes.*maxmemory-policy noeviction/)])
    const [found] = await store.lookup([{ kind: 'token', id: 'a' }])
    expect(found).toBe(undefined)
  })

  test('a warning without a listener is a warning of the process', async () => {
    const { url, port } = await start({})
    await connect(url).call('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '+@all', '-info')
    const warnings: Error[] = []
    const listen = (warning: Error) => warnings.push(warning)
    process.on('warning', listen)
    onTestFinished(() => void process.off('warning', listen))
    const options = { username: 'app', password: 'secret', enableReadyCheck: false }
    await createRedisStore(connect(`redis://127.0.0.1:${port}`, options)).prepare(NEEDS)
    await vi.waitFor(() => expect(warnings.map(({ name }) => name)).toContain('RedisStoreWarning'))
  })
})

describeWithRedis('What a Redis store asks of its client', (url) => {
  let client: Redis
  beforeAll(() => void (client = new Redis(url)))
  afterAll(() => client.disconnect())

  test('a client that changes the names of keys is refused, and writes nothing', async () => {
    const prefixed = connect(url, { keyPrefix: 'prefixed:' })
    expect(await refusalOf(prefixed)).toMatch(/keyPrefix/)
    expect(await client.keys('prefixed:*')).toEqual([])
  })

  test('a cluster that reads from replicas is refused', () => {
    for (const scaleReads of ['slave', 'all'] as const) {
      const cluster = new Cluster([url], { scaleReads, lazyConnect: true })
      expect(() => createRedisStore(cluster)).toThrow(/scaleReads/)
    }
  })

  test('what is no client is refused', () => {
    for (const value of [undefined, null, {}, 'redis://127.0.0.1', { call: 1 }]) {
      expect(() => createRedisStore(value as unknown as RedisClient)).toThrow(ConfigurationError)
    }
  })

  test('a namespace is short and plain', () => {
    for (const namespace of ['', 'a b', 'a:b', '{a}', 'ä', 'a\n', 'x'.repeat(65)]) {
      expect(() => createRedisStore(client, { namespace })).toThrow(ConfigurationError)
    }
    createRedisStore(client, { namespace: `${'x'.repeat(60)}A._-` })
  })

  test('a clock that shows no time is an error, not a moment', async () => {
    const store = createRedisStore(client, { namespace: 'no-time', clock: () => Number.NaN })
    await expect(store.prepare(NEEDS)).rejects.toThrow(TypeError)
  })
})
