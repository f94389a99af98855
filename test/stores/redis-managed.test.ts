import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Cluster, Redis } from 'ioredis'
import { ConfigurationError } from 'tokenlib'
import { createRedisStore, type RedisReply, type RedisStoreOptions } from 'tokenlib/redis'
import { expect, onTestFinished, test } from 'vitest'
import { CLIENT_CONTRACT } from './contract-parts.js'
import { describeWithOwnServer, describeWithRedis } from '../helpers/servers/describe-with-servers.js'
import { type RedisSettings, startRedis } from '../helpers/servers/start-redis.js'
import { type Connection, describeRedis, fromIoredis } from './redis-contract.js'
import { HOUR, RULES, session, token } from './redis-fixture.js'

// What the services forbid, as their documentation lists it; docs/stores/managed-redis.md has the links.
const ELASTICACHE = '-bgrewriteaof -bgsave -config -debug -migrate -replicaof -save -slaveof -shutdown -sync'
const MEMORYDB = `${ELASTICACHE} -module -psync -acl|setuser -acl|deluser -acl|load -acl|save -cluster|setslot`
const MEMORYSTORE =
  '-config +config|help -acl -bgrewriteaof -bgsave -lastsave -migrate -monitor -save -shutdown'
// A section that it does not have is empty there; here the user may not ask for it.
const UPSTASH = '-config -info +info|memory'
// There, a script may not run INFO.
const REDIS_ENTERPRISE = '-config -info'

const CACHE = { appendonly: 'no', maxmemory: '100mb', 'maxmemory-policy': 'volatile-lru' }
const DURABLE = { ...CACHE, 'maxmemory-policy': 'noeviction' }
const LOGGED = { maxmemory: '100mb' }
const CLUSTER = { 'cluster-enabled': 'yes', 'cluster-announce-ip': '127.0.0.1' }

interface Service {
  readonly name: string
  readonly rights: string
  readonly settings: RedisSettings
  readonly options?: RedisStoreOptions
  /** The message that the store refuses the server with. */
  readonly refusal?: RegExp
  readonly warning?: RegExp
}

const SERVICES: readonly Service[] = [
  {
    name: 'ElastiCache as it comes',
    rights: ELASTICACHE,
    settings: CACHE,
    refusal: /appendonly yes.*assumeDurable: true.*maxmemory-policy volatile-lru.*allowVolatile: true/,
  },
  {
    name: 'ElastiCache with durability, and the policy that was there before',
    rights: ELASTICACHE,
    settings: { ...CACHE, ...CLUSTER },
    options: { assumeDurable: true },
    refusal: /^(?!.*appendonly).*set maxmemory-policy noeviction/,
  },
  {
    name: 'ElastiCache with durability',
    rights: ELASTICACHE,
    settings: { ...DURABLE, ...CLUSTER },
    options: { assumeDurable: true },
  },
  {
    name: 'ElastiCache without durability, where that is accepted',
    rights: ELASTICACHE,
    settings: DURABLE,
    options: { allowVolatile: true },
  },
  {
    name: 'ElastiCache Serverless, where losses are accepted',
    rights: ELASTICACHE,
    settings: { ...CACHE, ...CLUSTER },
    options: { allowVolatile: true },
    warning: /maxmemory-policy volatile-lru.*allowVolatile accepts/,
  },
  {
    name: 'MemoryDB without an option',
    rights: MEMORYDB,
    settings: { ...DURABLE, ...CLUSTER },
    refusal: /appendonly yes, or pass assumeDurable: true/,
  },
  {
    name: 'MemoryDB',
    rights: MEMORYDB,
    settings: { ...DURABLE, ...CLUSTER },
    options: { assumeDurable: true },
  },
  {
    name: 'Memorystore with an append-only file, and the policy it comes with',
    rights: MEMORYSTORE,
    settings: { ...LOGGED, 'maxmemory-policy': 'volatile-lru' },
    refusal: /set maxmemory-policy noeviction/,
  },
  {
    name: 'Memorystore with an append-only file, and without eviction',
    rights: MEMORYSTORE,
    settings: LOGGED,
  },
  {
    name: 'a server that shows its memory only, as Upstash does',
    rights: UPSTASH,
    settings: DURABLE,
    warning: /does not show appendonly in INFO.*assumeDurable: true/,
  },
  {
    name: 'a server that shows its memory only, where the rest is assumed',
    rights: UPSTASH,
    settings: DURABLE,
    options: { assumeDurable: true },
  },
  {
    name: 'a server that shows its memory only, and that it evicts',
    rights: UPSTASH,
    settings: CACHE,
    options: { assumeDurable: true },
    refusal: /maxmemory-policy volatile-lru/,
  },
  {
    name: 'Redis Enterprise without an option',
    rights: REDIS_ENTERPRISE,
    settings: CACHE,
    warning:
      /does not show appendonly and maxmemory-policy in INFO.*assumeDurable: true.*allowVolatile: true/,
  },
  {
    name: 'Redis Enterprise',
    rights: REDIS_ENTERPRISE,
    settings: LOGGED,
    options: { assumeDurable: true },
  },
  {
    name: 'Redis Enterprise, where losses are accepted',
    rights: REDIS_ENTERPRISE,
    settings: CACHE,
    options: { allowVolatile: true },
  },
  {
    name: 'a server whose commands were renamed',
    rights: '',
    settings: { ...DURABLE, 'rename-command': ['CONFIG ""', 'INFO ""', 'DEBUG ""'] },
    warning: /does not show appendonly and maxmemory-policy/,
  },
]

describeWithOwnServer('redis', 'A Redis store on a server with the restrictions of a service', () => {
  for (const { name, rights, settings, options, refusal, warning } of SERVICES) {
    const outcome = refusal ? 'is refused' : warning ? 'is used with a warning' : 'is used'
    test(`${name} ${outcome}`, async () => {
      const client = await connect(rights, settings)
      const warnings: string[] = []
      const store = createRedisStore(client, { ...options, onWarning: (message) => warnings.push(message) })
      const prepared = store.prepare({ longestLifetime: HOUR })
      if (refusal !== undefined) {
        await expect(prepared).rejects.toThrow(ConfigurationError)
        await expect(prepared).rejects.toThrow(refusal)
        return
      }
      await prepared
      expect(warnings).toEqual(warning === undefined ? [] : [expect.stringMatching(warning)])
      const { sid } = await store.sessions!.open(session())
      await store.revoke([token('a')])
      const [revoked, other] = await store.lookup([token('a'), token('b')])
      expect([revoked !== undefined, other]).toEqual([true, undefined])
      expect(await store.sessions!.get(sid, RULES)).not.toBeNull()
      expect(await store.spend!('once', 1000)).toBe(true)
    })
  }
})

const WATCHES = 'a watcher is called after a revocation, until it stops'

describeWithRedis('A Redis store over HTTP', (url) => {
  describeRedis('REST', () => connectByHttp(url), {
    ...CLIENT_CONTRACT,
    // It has no `duplicate`, so replicas poll.
    test: (title, run) => (title === WATCHES ? undefined : CLIENT_CONTRACT.test(title, run)),
  })
})

/** The REST protocol of Upstash: a command is a JSON array in the body, and the answer has a `result` or an `error`. */
async function connectByHttp(url: string): Promise<Connection> {
  const redis = new Redis(url)
  const answer = async (request: IncomingMessage): Promise<string> => {
    const [command, ...args] = JSON.parse(await text(request)) as [string, ...string[]]
    const reply = await redis.call(command, args).then(
      (result) => ({ result }),
      ({ message: error }: Error) => ({ error }),
    )
    return JSON.stringify(reply)
  }
  const server = createServer((request, response) => void answer(request).then((body) => response.end(body)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const call = async (command: string, args: string[]): Promise<RedisReply> => {
    const response = await fetch(address, { method: 'POST', body: JSON.stringify([command, ...args]) })
    const { result, error } = (await response.json()) as { result: RedisReply; error?: string }
    if (error !== undefined) throw new Error(error)
    return result
  }
  return {
    ...fromIoredis(redis),
    client: { call },
    close() {
      server.closeAllConnections()
      server.close()
      redis.disconnect()
    },
  }
}

/** A client of a server, by a user with the rights of an application. */
async function connect(rights: string, settings: RedisSettings): Promise<Redis | Cluster> {
  const server = await startRedis(settings)
  onTestFinished(() => server.stop())
  const admin = new Redis(server.url, { enableReadyCheck: false })
  onTestFinished(() => admin.disconnect())
  const rules = [
    'on',
    '>secret',
    '~{tokenlib:*',
    '&{tokenlib:*',
    '+@all',
    ...rights.split(' ').filter(Boolean),
  ]
  await admin.call('ACL', 'SETUSER', 'app', ...rules)
  const user = { username: 'app', password: 'secret', enableReadyCheck: false }
  const { host, port } = server
  const client =
    settings['cluster-enabled'] === 'yes'
      ? new Cluster([{ host, port }], { redisOptions: user, enableReadyCheck: false })
      : new Redis({ host, port, ...user })
  onTestFinished(() => client.disconnect())
  return client
}
