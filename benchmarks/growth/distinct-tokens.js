import { createHmac, createSecretKey } from 'node:crypto'
import { TokenConfig, TokenManager } from '../../dist/index.js'
import { serveParent } from '../child.js'
import { createViews } from '../header-view.js'
import { sampleLatency } from '../sample.js'
import { createSecret, toSubject } from '../tokens.js'
import { readMemory } from './read-memory.js'

const BATCH = 1000
const LATENCIES = 10_000
// All of the tokens that can be remembered, once.
const WARM_UP = 10_000

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
  const check = manager.accessTokenRequired
  const nextBatch = createBatches(createFactory(manager, secret), count)
  // With more tokens than are remembered, none is found again: then the first time is like every other.
  const warmUp = await checkBatches(
    check,
    nextBatch,
    ({ checks, elapsed }) => checks < WARM_UP || elapsed < leastMs / 4,
  )
  const measured = await checkBatches(
    check,
    nextBatch,
    ({ checks, elapsed }) => elapsed < leastMs || (warmUp.checks + checks < count && elapsed < mostMs),
  )
  const { p99 } = await sampleLatency(check, nextBatch, LATENCIES)
  const seen = Math.min(count, warmUp.checks + measured.checks + LATENCIES)
  const perSecond = (measured.checks / measured.elapsed) * 1000
  return { ready: { count, seen, perSecond, p99, memory: readMemory() } }
})

/** Checks whole batches for as long as there is a reason to go on, so that no token is made and then left out. */
async function checkBatches(check, nextBatch, goesOn) {
  let checks = 0
  let elapsed = 0
  while (goesOn({ checks, elapsed })) {
    const views = nextBatch()
    const start = performance.now()
    for (const view of views) await check(view)
    elapsed += performance.now() - start
    checks += views.length
  }
  return { checks, elapsed }
}

/** Requests with one token after the other. Nothing is kept of them, so that only what the manager keeps is measured. */
function createBatches(createToken, count) {
  let sent = 0
  return () => {
    const tokens = Array.from({ length: Math.min(BATCH, count) }, (_, at) => createToken((sent + at) % count))
    sent += BATCH
    // A single token is sent a thousand times, lest the clock is read more often than a token.
    return createViews(Array.from({ length: BATCH }, (_, at) => tokens[at % tokens.length]))
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
