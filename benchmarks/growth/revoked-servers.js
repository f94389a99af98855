import { startChild } from '../child.js'
import { toCount } from '../group.js'
import { checkServer } from '../http/check-server.js'
import { createKeys, createManager, createTokens, readId } from '../tokens.js'

const SCRIPT = new URL('revoked-server.js', import.meta.url)

/**
 * @typedef {object} RevokedServers Servers with revocations, each started when it is first wanted.
 * @property {readonly string[]} tokens Those that all of them are asked with.
 * @property {(revocation: 'none' | 'callback' | 'memory store', count?: number) => Promise<import('../child.js').Child>} get
 * @property {() => Promise<void>} stop
 */

/**
 * Parts 2 and 4 share their servers: it takes longer to revoke ten million tokens than to measure what comes of it.
 *
 * @param {(line: string) => void} log
 * @returns {RevokedServers}
 */
export function createRevokedServers(log) {
  const keys = createKeys('HS256')
  const manager = createManager(keys)
  const tokens = createTokens(manager)
  const revoked = manager.createAccessToken({ uid: 'revoked' })
  /** @type {Map<string, Promise<import('../child.js').Child>>} */
  const running = new Map()

  const start = async (revocation, count) => {
    const setUp = { secret: keys.privateText, tokens, revokedId: readId(revoked), revocation, count }
    const child = await startChild(SCRIPT, setUp, ['--expose-gc', '--max-old-space-size=16000'])
    const { url, loadSeconds } = child.ready
    const contestant = { name: `${revocation} ${count}`, framework: 'Fastify', kind: 'ours', revocation }
    await checkServer(url, contestant, { good: tokens[0], revoked }, null)
    if (count >= 100_000) log(`${toCount(count)} tokens revoked in ${loadSeconds.toFixed(1)} s`)
    return child
  }

  return {
    tokens,
    get(revocation, count = 0) {
      const name = `${revocation} ${count}`
      const child = running.get(name) ?? start(revocation, count)
      running.set(name, child)
      return child
    },
    async stop() {
      const started = await Promise.allSettled(running.values())
      for (const { value } of started) await value?.stop()
    },
  }
}
