import { randomUUID } from 'node:crypto'
import { alternate } from '../alternate.js'
import { startChild } from '../child.js'
import { createGroup } from '../group.js'
import { createKeys, createManager, createTokens, readId } from '../tokens.js'
import { checkServer } from './check-server.js'
import { FRAMEWORKS, listContestants } from './contestants.js'

const SERVER = new URL('server.js', import.meta.url)

/**
 * Part 3: one guarded route, over HTTP, in every framework.
 *
 * @param {import('../run.js').Run} run
 */
export async function measureHttp({ quick, report, log, createLoad, startRedis }) {
  const keys = createKeys('HS256')
  const manager = createManager(keys)
  const tokens = createTokens(manager)
  const revoked = manager.createAccessToken({ uid: 'revoked' })
  const load = await createLoad(tokens)
  log(`Requests come from ${load.name}.`)
  const redis = await startRedis()
  const setUp = {
    secret: keys.privateText,
    revokedId: readId(revoked),
    redisUrl: redis?.url ?? null,
    namespace: `bench-${randomUUID()}`,
  }
  // Nest on Fastify has no target of its own.
  for (const framework of FRAMEWORKS.filter((name) => !quick || name !== 'Nest on Fastify')) {
    const contestants = listContestants(framework, { quick, hasRedis: redis !== null })
    // A million takes a while in every process.
    const revokedCount = framework === 'Fastify' ? 1_000_000 : 100_000
    const servers = await startServers(contestants, { ...setUp, revokedCount })
    try {
      await checkServers(servers, { good: tokens[0], revoked })
      await warmUp(load, servers, quick ? 1 : framework === 'Fastify' ? 3 : 2)
      const samples = await alternate(servers, quick ? 1 : 5, ({ child }) => load.run(child.ready, 1))
      report(createGroup(`http ${framework}`, `${framework} over HTTP`, samples))
    } finally {
      await Promise.all(servers.map(({ child }) => child.stop()))
    }
  }
}

function startServers(contestants, setUp) {
  return Promise.all(
    contestants.map(async (contestant) => ({
      ...contestant,
      child: await startChild(SERVER, { ...setUp, contestant }),
    })),
  )
}

async function checkServers([bare, ...others], tokens) {
  const answer = await checkServer(bare.child.ready, bare, tokens, null)
  for (const contestant of others) await checkServer(contestant.child.ready, contestant, tokens, answer)
}

// Two at a time: only here it does not matter that they are in each other's way.
async function warmUp(load, servers, seconds) {
  for (let at = 0; at < servers.length; at += 2) {
    await Promise.all(servers.slice(at, at + 2).map(({ child }) => load.run(child.ready, seconds)))
  }
}
