import { TokenConfig, TokenManager } from '../../dist/index.js'
import { createMemoryStore } from '../../dist/stores/memory.js'
import { serveParent } from '../child.js'
import { createViews } from '../header-view.js'
import { fastify } from '../http/frameworks/fastify.js'
import { createIdBatches, revokeIds } from '../revoked-ids.js'
import { sampleInTurn, sampleLatency } from '../sample.js'
import { readMemory } from './read-memory.js'

/**
 * @typedef {object} RevokedSetUp
 * @property {string} secret
 * @property {readonly string[]} tokens Those of the requests.
 * @property {string} revokedId One that is revoked, whatever the count.
 * @property {'none' | 'callback' | 'memory store'} revocation
 * @property {number} count How many others are revoked.
 */

/**
 * @typedef {object} RevokedServer
 * @property {string} url
 * @property {number} loadSeconds
 * @property {import('./read-memory.js').Memory} memory
 */

// A manager with so many revocations, which can be asked in process and over HTTP.
serveParent(async (/** @type {RevokedSetUp} */ setUp) => {
  const start = performance.now()
  const manager = await createManager(setUp)
  const loadSeconds = (performance.now() - start) / 1000
  const memory = readMemory()
  const server = await fastify.ours(manager)
  const views = () => createViews(setUp.tokens)
  return {
    ready: { url: `http://127.0.0.1:${server.address().port}/me`, loadSeconds, memory },
    answer: async (/** @type {number} */ milliseconds) => ({
      ...(await sampleInTurn(manager.accessTokenRequired, views, milliseconds)),
      ...(await sampleLatency(manager.accessTokenRequired, views, 5000)),
    }),
  }
})

async function createManager({ secret, revokedId, revocation, count }) {
  const config = new TokenConfig({ JWT_SECRET_KEY: secret })
  if (revocation !== 'memory store') {
    const manager = new TokenManager({ config })
    const revoked = new Set([revokedId])
    for (const ids of createIdBatches(count)) for (const id of ids) revoked.add(id)
    if (revocation === 'callback') {
      manager.setCallbackTokenBlocklist((_token, { payload }) => revoked.has(payload.jti))
    }
    return manager
  }
  const store = createMemoryStore({ allowInProduction: true })
  const manager = new TokenManager({ config, revocation: store })
  await manager.ready()
  await revokeIds(store, [revokedId])
  for (const ids of createIdBatches(count)) await revokeIds(store, ids)
  return manager
}
