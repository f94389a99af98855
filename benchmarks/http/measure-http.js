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
    revokedCount: 1_000_000,
    redisUrl: redis?.url ?? null,
    namespace: `bench-${randomUUID()}`,
  }

  for (const framework of FRAMEWORKS) {
    // Nest on Fastify has no target of its own.
    if (quick && framework === 'Nest on Fastify') continue
    const contestants = listContestants(framework, { quick, hasRedis: redis !== null })
    const servers = await Promise.all(
      contestants.map(async (contestant) => ({
        ...contestant,
        child: await startChild(SERVER, { ...setUp, contestant }),
      })),
    )
    try {
      let bare = null
      for (const { child, ...contestant } of servers) {
        const answer = await checkServer(child.ready, contestant, { good: tokens[0], revoked }, bare)
        bare ??= answer
      }
      await warmUp(load, servers, quick ? 1 : 3)
      const samples = await alternate(servers, quick ? 1 : 5, ({ child }) => load.run(child.ready, 1))
      report(createGroup(`http ${framework}`, `${framework} over HTTP`, samples))
    } finally {
      await Promise.all(servers.map(({ child }) => child.stop()))
    }
  }
}

// Two at a time: only here it does not matter that they are in each other's way.
async function warmUp(load, servers, seconds) {
  for (let at = 0; at < servers.length; at += 2) {
    await Promise.all(servers.slice(at, at + 2).map(({ child }) => load.run(child.ready, seconds)))
  }
}
