import { createHash } from 'node:crypto'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { createRedisStore } from 'tokenlib/redis'
import { serveParent } from '../child.js'

/**
 * @typedef {object} CallerSetUp
 * @property {string} url
 * @property {'ioredis' | 'redis'} client
 * @property {'get' | 'lookup'} call
 */

/**
 * @typedef {object} Load
 * @property {number} calls
 * @property {number} atOnce How many calls are under way.
 */

const TOKENS = 1000

// One client with one kind of call, in a process of its own: whatever V8 learns from one does not slow another.
serveParent(async (/** @type {CallerSetUp} */ { url, client: name, call }) => {
  const client = await CONNECT[name](url)
  const calls = await CREATE_CALLS[call](client)
  return {
    ready: true,
    async answer(/** @type {Load} */ { calls: count, atOnce }) {
      let next = 0
      const callInTurn = async () => {
        while (next < count) await calls[next++ % TOKENS]()
      }
      const before = process.cpuUsage()
      await Promise.all(Array.from({ length: atOnce }, callInTurn))
      const { user, system } = process.cpuUsage(before)
      return (user + system) / count
    },
  }
})

const CONNECT = {
  ioredis: async (url) => new Redis(url),
  redis: (url) => createClient({ url }).connect(),
}

const CREATE_CALLS = {
  get: async (client) => createIds('jti').map((id) => () => client.get(`revoked:${id}`)),
  async lookup(client) {
    const store = createRedisStore(client, { namespace: 'measure-redis', allowVolatile: true })
    await store.prepare({ longestLifetime: 3_600_000 })
    const sessions = createIds('sid')
    return createIds('jti').map((id, at) => {
      // What the access token of a session can be revoked by.
      const keys = [
        { kind: 'all', id: '' },
        { kind: 'user', id: `user-${at}` },
        { kind: 'key', id: '2026-01' },
        { kind: 'session', id: sessions[at] },
        { kind: 'token', id },
      ]
      return () => store.lookup(keys)
    })
  },
}

function createIds(name) {
  return Array.from({ length: TOKENS }, (_, at) =>
    createHash('sha256').update(`${name} ${at}`).digest('base64url').slice(0, 22),
  )
}
