import { randomUUID } from 'node:crypto'
import { startChild } from '../child.js'
import { alternate, createGroup } from '../figures.js'
import { openRedisStore } from '../replica/stores.js'
import {
  createIdBatches,
  createKeys,
  createManager,
  createTokenFactory,
  createTokens,
  readId,
  revokeIds,
  tamper,
} from '../tokens.js'
import { listGroups } from './contestants.js'

const SERVER = new URL('server.js', import.meta.url)
// Twice as many as our manager remembers by default.
const NEW_TOKENS = 20_000
// A turn takes so much CPU time. A warm-up ends after so many requests, with a slow contestant after so much CPU time:
// the compiler needs thousands of requests to finish.
const QUICK = { rounds: 3, turns: 2, turnMs: 60, warmUpRequests: 8000, warmUpMs: 1500 }
const FULL = { rounds: 12, turns: 3, turnMs: 100, warmUpRequests: 25_000, warmUpMs: 3000 }
const COPIES = 3
const MILLION = 1_000_000
// Servers that had been idle for a minute used twice the CPU time in their next turn. V8 may drop compiled code and
// shrink the heap of an idle process; these options keep it from doing so.
const NODE_OPTIONS = ['--expose-gc', '--no-flush-bytecode', '--no-memory-reducer']
const [FEWEST_REQUESTS, MOST_REQUESTS] = [250, 20_000]

/**
 * One guarded route, over HTTP, in every framework.
 *
 * @param {import('../run.js').Run} run
 */
export async function measureHttp(run) {
  const { quick, isWhole, isWanted, report, log, startRedis } = run
  const redis = await startRedis()
  const groups = listGroups({ quick, isWhole, hasRedis: redis !== null })
  const site = await createSite(run, redis?.url ?? null)
  for (const { title, contestants, hasNewTokens } of groups.filter(({ title }) => isWanted(title))) {
    if (contestants.some(({ revocation }) => revocation === 'replica')) await site.revokeMillion()
    const servers = await startServers(site, contestants, quick ? 1 : COPIES)
    try {
      const load = await (hasNewTokens ? site.createNewLoad() : site.createLoad())
      const samples = await measureServers(run, load, servers)
      report(createGroup(`http ${title}`, `${title}, over HTTP`, samples))
    } finally {
      await stopServers(servers)
    }
  }
  log(`Requests came from ${(await site.createLoad()).name}.`)
}

/**
 * The tokens that servers are sent, and what they need to know about them.
 *
 * @param {import('../run.js').Run} run
 * @param {string | null} redisUrl
 */
export async function createSite({ createLoad }, redisUrl) {
  const keys = createKeys('HS256')
  // On a busy machine a run takes longer than the 15 minutes that access tokens are valid by default.
  const manager = createManager(keys, { JWT_ACCESS_TOKEN_EXPIRES: '1d' })
  const tokens = createTokens(manager)
  const revoked = manager.createAccessToken({ uid: 'revoked' })
  const loads = {}
  const setUp = {
    secret: keys.privateText,
    revokedId: readId(revoked),
    redisUrl,
    namespace: `bench-${randomUUID()}`,
    replicaNamespace: `bench-${randomUUID()}`,
  }
  let revoking = null
  return {
    good: tokens[0],
    revoked,
    setUp,
    // Once for all groups: ids are random, so a second call would make it two million.
    revokeMillion: () => (revoking ??= revokeMillion(setUp)),
    createLoad: () => (loads.repeated ??= createLoad(tokens)),
    createNewLoad() {
      const createToken = createTokenFactory(manager, keys.privateText)
      return (loads.new ??= createLoad(
        Array.from({ length: NEW_TOKENS }, (_, number) => createToken(number)),
      ))
    },
  }
}

// For the replicas, which read them when they start.
async function revokeMillion({ redisUrl, replicaNamespace }) {
  const { store, close } = openRedisStore(redisUrl, replicaNamespace)
  await store.prepare({ longestLifetime: 3_600_000 })
  for (const ids of createIdBatches(MILLION)) await revokeIds(store, ids)
  await close()
}

/**
 * Starts the processes of each contestant, and checks that each answers as it should.
 *
 * Two processes that serve the same route differ by some percent, for as long as they live. So a contestant that a
 * target compares has several, which take turns in each round.
 *
 * @param {Awaited<ReturnType<typeof createSite>>} site
 * @param {readonly import('./contestants.js').HttpContestant[]} contestants
 * @param {number} copies
 */
export async function startServers(site, contestants, copies) {
  const servers = await Promise.all(
    contestants.map(async (contestant) => {
      const start = () => startChild(SERVER, { ...site.setUp, contestant }, NODE_OPTIONS)
      const children = Array.from({ length: contestant.seldom === true ? 1 : copies }, start)
      return { ...contestant, children: await Promise.all(children) }
    }),
  )
  let bare = null
  for (const server of servers) {
    for (const child of server.children) {
      const answer = await checkServer(server, child.ready, site, bare)
      if (server.kind === 'bare') bare = answer
    }
  }
  return servers
}

/**
 * Measures servers in turn, after a warm-up.
 *
 * @param {import('../run.js').Run} run
 * @param {import('../load.js').Load} load
 * @param {Awaited<ReturnType<typeof startServers>>} servers
 */
export async function measureServers({ quick, rounds }, load, servers) {
  const pace = { ...(quick ? QUICK : FULL), ...(rounds !== null && { rounds }) }
  const costs = new Map()

  // The CPU time of the whole process, so with the threads of the garbage collector and the compiler. Neither the load
  // counts nor anything else that runs on the machine.
  const sample = async (child, milliseconds) => {
    const wanted = (milliseconds * 1000) / (costs.get(child) ?? 100)
    const before = await child.ask('cpu')
    const { requests, perSecond } = await load.run(
      child.ready,
      Math.round(Math.min(MOST_REQUESTS, Math.max(FEWEST_REQUESTS, wanted))),
    )
    const used = (await child.ask('cpu')) - before
    costs.set(child, used / requests)
    return { used, calls: requests, perSecond }
  }
  const warmUp = async (child) => {
    let [used, requests] = [0, 0]
    while (requests < pace.warmUpRequests && used < pace.warmUpMs * 1000) {
      const taken = await sample(child, 300)
      used += taken.used
      requests += taken.calls
    }
  }
  // Two at a time: only here it does not matter that they are in each other's way.
  const all = servers.flatMap(({ children }) => children)
  for (let at = 0; at < all.length; at += 2) await Promise.all(all.slice(at, at + 2).map(warmUp))
  return alternate(servers, pace, ({ children }, turn) =>
    sample(children[turn % children.length], pace.turnMs),
  )
}

/** @param {Awaited<ReturnType<typeof startServers>>} servers */
export async function stopServers(servers) {
  await Promise.all(servers.flatMap(({ children }) => children.map((child) => child.stop())))
}

/**
 * Throws unless a server answers a good token as the bare one does, and refuses what its kind has to refuse.
 *
 * @typedef {{ status: number, type: string | null, body: string }} Answer
 * @param {Answer | null} bare What the bare server answered to the good token.
 * @returns {Promise<Answer>}
 */
async function checkServer({ name, framework, kind, revocation }, url, { good, revoked }, bare) {
  const who = `${framework}, ${name}`
  const answer = await send(url, good)
  if (answer.status !== 200) throw new Error(`${who}: a good token gets ${answer.status}`)
  if (bare !== null && JSON.stringify(answer) !== JSON.stringify(bare)) {
    throw new Error(`${who}: the answer is not that of the bare server: ${JSON.stringify(answer)}`)
  }
  if (kind === 'bare' || kind === 'empty') return answer
  const bad = {
    'a tampered token': tamper(good),
    'no token': null,
    ...(revocation !== 'none' && { 'a revoked token': revoked }),
  }
  for (const [what, token] of Object.entries(bad)) {
    const { status } = await send(url, token)
    if (status !== 401) throw new Error(`${who}: ${what} gets ${status}`)
  }
  return answer
}

async function send(url, token) {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` }
  const response = await fetch(url, { headers })
  const type = response.headers.get('content-type')
  return { status: response.status, type, body: await response.text() }
}
