import { randomUUID } from 'node:crypto'
import { startChild } from '../child.js'
import { alternate, createGroup } from '../figures.js'
import { createKeys, createManager, createTokenFactory, createTokens, readId, tamper } from '../tokens.js'
import { listGroups } from './contestants.js'

const SERVER = new URL('server.js', import.meta.url)
// Twice as many as our manager remembers by default.
const NEW_TOKENS = 20_000
const REQUESTS = 2500
const WARM_UP = { quick: 10_000, full: 30_000 }

/**
 * One guarded route, over HTTP, in every framework.
 *
 * @param {import('../run.js').Run} run
 */
export async function measureHttp(run) {
  const { quick, isWhole, isWanted, report, log, startRedis } = run
  const rounds = run.rounds ?? (quick ? 1 : 11)
  const redis = await startRedis()
  const groups = listGroups({ hasExtra: isWhole, hasRedis: redis !== null })
  const site = await createSite(run, redis?.url ?? null)
  for (const { title, contestants, hasNewTokens } of groups.filter(({ title }) => isWanted(title))) {
    const servers = await startServers(site, contestants)
    try {
      const load = await (hasNewTokens ? site.createNewLoad() : site.createLoad())
      await warmUp(load, servers, quick)
      const samples = await alternate(servers, { rounds, turns: 4 }, ({ child }) => sampleServer(load, child))
      report(createGroup(`http ${title}`, `${title}, over HTTP`, samples))
    } finally {
      await Promise.all(servers.map(({ child }) => child.stop()))
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
  const manager = createManager(keys)
  const tokens = createTokens(manager)
  const revoked = manager.createAccessToken({ uid: 'revoked' })
  const loads = {}
  return {
    good: tokens[0],
    revoked,
    createLoad: () => (loads.repeated ??= createLoad(tokens)),
    createNewLoad() {
      const createToken = createTokenFactory(manager, keys.privateText)
      return (loads.new ??= createLoad(
        Array.from({ length: NEW_TOKENS }, (_, number) => createToken(number)),
      ))
    },
    setUp: {
      secret: keys.privateText,
      revokedId: readId(revoked),
      redisUrl,
      namespace: `bench-${randomUUID()}`,
    },
  }
}

/**
 * Starts a process for each contestant, and checks that each answers as it should.
 *
 * @param {Awaited<ReturnType<typeof createSite>>} site
 * @param {readonly import('./contestants.js').HttpContestant[]} contestants
 */
export async function startServers(site, contestants) {
  const servers = await Promise.all(
    contestants.map(async (contestant) => ({
      ...contestant,
      child: await startChild(SERVER, { ...site.setUp, contestant }, ['--expose-gc']),
    })),
  )
  let bare = null
  for (const server of servers) {
    const answer = await checkServer(server, site, bare)
    if (server.kind === 'bare') bare = answer
  }
  return servers
}

/**
 * The CPU time of a turn: of the whole process, so with the threads of the garbage collector and the compiler. Nothing
 * else that runs on the machine counts, nor does the load.
 *
 * @param {import('../load.js').Load} load
 * @param {import('../child.js').Child} child
 * @returns {Promise<import('../figures.js').Sample>}
 */
export async function sampleServer(load, child) {
  const before = await child.ask('cpu')
  const { requests, perSecond } = await load.run(child.ready, REQUESTS)
  return { used: (await child.ask('cpu')) - before, calls: requests, perSecond }
}

// Two at a time: only here it does not matter that they are in each other's way.
export async function warmUp(load, servers, quick) {
  const requests = quick ? WARM_UP.quick : WARM_UP.full
  for (let at = 0; at < servers.length; at += 2) {
    await Promise.all(servers.slice(at, at + 2).map(({ child }) => load.run(child.ready, requests)))
  }
}

/**
 * Throws unless a server answers a good token as the bare one does, and refuses what its kind has to refuse.
 *
 * @typedef {{ status: number, type: string | null, body: string }} Answer
 * @param {Answer | null} bare What the bare server answered to the good token.
 * @returns {Promise<Answer>}
 */
async function checkServer({ name, framework, kind, revocation, child }, { good, revoked }, bare) {
  const who = `${framework}, ${name}`
  const answer = await send(child.ready, good)
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
    const { status } = await send(child.ready, token)
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
