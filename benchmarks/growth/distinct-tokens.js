import { createHmac, createSecretKey } from 'node:crypto'
import { TokenConfig, TokenManager } from '../../dist/index.js'
import { serveParent } from '../child.js'
import { createViews } from '../header-view.js'
import { sampleInTurn, sampleLatency } from '../sample.js'
import { createSecret, toSubject } from '../tokens.js'
import { readMemory } from './read-memory.js'

const BATCH = 10_000
const LATENCIES = 10_000

/**
 * @typedef {object} DistinctSetUp
 * @property {number} count How many different tokens there are.
 * @property {number} leastMs How long to measure, at least.
 * @property {number} mostMs And at most, when there was no time yet for every token.
 */

/**
 * @typedef {object} DistinctFigures
 * @property {number} count
 * @property {number} seen How many of the tokens there was time for.
 * @property {number} perSecond
 * @property {number} p99 Milliseconds.
 * @property {import('./read-memory.js').Memory} memory
 */

// A manager as it is by default, which is sent so many different tokens, over and over.
serveParent(async (/** @type {DistinctSetUp} */ { count, leastMs, mostMs }) => {
  const secret = createSecret()
  const manager = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: secret }) })
  const batches = createBatches(manager, secret, count)
  const sample = (milliseconds) => sampleInTurn(manager.accessTokenRequired, batches.next, milliseconds)
  // With more tokens than are remembered, none is found again: then the first time is like every other.
  await sample(leastMs / 4)
  const { perSecond } = await sample(leastMs)
  for (let left = mostMs - leastMs; batches.seen() < count && left > 0; left -= 100) await sample(100)
  const { p99 } = await sampleLatency(manager.accessTokenRequired, batches.next, LATENCIES)
  return { ready: { count, seen: batches.seen(), perSecond, p99, memory: readMemory() } }
})

/** Requests with one token after the other. Nothing is kept of them, so that only what the manager keeps is measured. */
function createBatches(manager, secret, count) {
  const createToken = createFactory(manager, secret)
  let sent = 0
  return {
    seen: () => Math.min(sent, count),
    next() {
      // One token is sent a thousand times, lest the clock is read more often than a token.
      const length = Math.min(Math.max(count, 1000), BATCH)
      const tokens = Array.from({ length: Math.min(length, count) }, (_, at) =>
        createToken((sent + at) % count),
      )
      sent += length
      return createViews(Array.from({ length }, (_, at) => tokens[at % tokens.length]))
    },
  }
}

/** Makes tokens by number, the same one each time, faster than a manager does. */
function createFactory(manager, secret) {
  const sample = manager.createAccessToken({ uid: toSubject(0) })
  const [header, payload] = sample.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const key = createSecretKey(Buffer.from(secret))
  const id = Buffer.from(claims.jti, 'base64url')
  return (number) => {
    id.writeUInt32BE(number, 8)
    const own = { ...claims, sub: toSubject(number), jti: id.toString('base64url') }
    const input = `${header}.${Buffer.from(JSON.stringify(own)).toString('base64url')}`
    return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`
  }
}
