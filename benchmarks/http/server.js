import { createSecretKey } from 'node:crypto'
import { TokenConfig, TokenManager } from 'tokenlib'
import { createMemoryStore } from 'tokenlib/memory'
import { readCpu, readMemory, serveParent } from '../child.js'
import { createIdBatches, revokeIds } from '../tokens.js'

/**
 * @typedef {object} ServerSetUp
 * @property {import('./contestants.js').HttpContestant} contestant
 * @property {string} secret
 * @property {string} revokedId The token that a check will send.
 * @property {string | null} redisUrl
 * @property {string} namespace
 * @property {string} replicaNamespace Of the store that replicas follow; a million tokens are revoked there.
 */

const MILLION = 1_000_000

// One server with one contestant, in a process of its own.
serveParent(async (/** @type {ServerSetUp} */ setUp) => {
  const framework = await importFramework(setUp.contestant.framework)
  const server = await SERVE[setUp.contestant.kind](framework, setUp)
  return {
    ready: `http://127.0.0.1:${server.address().port}/me`,
    answer: (/** @type {'cpu' | 'memory'} */ question) => (question === 'cpu' ? readCpu() : readMemory()),
  }
})

const SERVE = {
  bare: (framework) => framework.bare(),
  empty: (framework) => framework.empty(),
  ours: async (framework, setUp) => framework.ours(await createManager(setUp)),
  hook: async (framework, setUp) => framework.hook(await createManager(setUp)),
  async peer(framework, setUp) {
    const { contestant, secret } = setUp
    const key = contestant.hasKeyObject ? createSecretKey(Buffer.from(secret)) : secret
    return framework.peers[contestant.peer](key, await createCheck(setUp))
  },
}

// Only what is served is loaded.
async function importFramework(name) {
  switch (name) {
    case 'Fastify':
      return (await import('./frameworks/fastify.js')).fastify
    case 'Express':
      return (await import('./frameworks/express.js')).expressFramework
    case 'Hono':
      return (await import('./frameworks/hono.js')).hono
    case 'Koa':
      return (await import('./frameworks/koa.js')).koa
    case 'Nest on Express':
      return (await import('./frameworks/nest.js')).nestOnExpress
    default:
      throw new TypeError(`Unknown framework "${name}"`)
  }
}

async function createManager(setUp) {
  const { contestant, secret, revokedId } = setUp
  const config = new TokenConfig({ JWT_SECRET_KEY: secret })
  const store = await createStore(setUp)
  const tokens = new TokenManager({ config, store: store ?? undefined })
  if (contestant.revocation === 'Set') {
    const revoked = createRevokedSet(setUp)
    tokens.setCallbackTokenBlocklist((_token, { payload }) => revoked.has(payload.jti))
  }
  if (store === null) return tokens
  await tokens.ready()
  await revokeIds(store, [revokedId])
  // Redis answers as fast with many keys as with one.
  if (contestant.revocation === 'memory') {
    for (const ids of createIdBatches(contestant.revokedCount ?? MILLION)) await revokeIds(store, ids)
  }
  return tokens
}

async function createStore({ contestant, redisUrl, namespace, replicaNamespace }) {
  const openRedis = async (name) => {
    const { createRedisStore } = await import('tokenlib/redis')
    return createRedisStore(await connectRedis(redisUrl), { namespace: name, allowVolatile: true })
  }
  switch (contestant.revocation) {
    case 'memory':
      return createMemoryStore({ allowInProduction: true })
    case 'Redis':
      return openRedis(namespace)
    case 'replica':
      return (await import('tokenlib/replica')).replicate(await openRedis(replicaNamespace))
    default:
      return null
  }
}

// Has a class that extends `String`, which makes strings slower in the whole process.
async function connectRedis(url) {
  const { Redis } = await import('ioredis')
  return new Redis(url)
}

/** The check that users of a library write. */
async function createCheck(setUp) {
  if (setUp.contestant.revocation === 'none') return null
  if (setUp.contestant.revocation === 'Set') {
    const revoked = createRevokedSet(setUp)
    return (id) => revoked.has(id)
  }
  const redis = await connectRedis(setUp.redisUrl)
  await redis.set(`revoked:${setUp.revokedId}`, '1', 'EX', 3600)
  return async (id) => (await redis.get(`revoked:${id}`)) !== null
}

function createRevokedSet({ revokedId }) {
  const revoked = new Set([revokedId])
  for (const ids of createIdBatches(MILLION)) for (const id of ids) revoked.add(id)
  return revoked
}
