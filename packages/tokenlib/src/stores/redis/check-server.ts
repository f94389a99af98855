import { ConfigurationError } from '../../errors.js'
import { createScript, type Reply, runScript, type Send } from './client.js'

/** What an application accepts from its server. */
export interface AcceptedServer {
  /** The server may lose revocations. */
  readonly allowVolatile: boolean
  /** It is durable, although INFO does not show it. */
  readonly assumeDurable: boolean
}

/** Rejects when the server is a replica, or one that loses revocations; warns when it does not say. */
export async function checkServer(
  send: Send,
  key: string,
  { allowVolatile, assumeDurable }: AcceptedServer,
  warn: (message: string) => void,
): Promise<void> {
  const facts = toFacts(await runScript(send, INFO, [key], []))
  if (facts.get('role') === 'slave') {
    throw new ConfigurationError(
      'The Redis store needs the primary, and its client is connected to a replica',
    )
  }
  const log = facts.get('aof_enabled')
  const policy = facts.get('maxmemory_policy')
  // A limit that is not shown is a limit.
  const isEvicting = policy !== undefined && policy !== 'noeviction' && facts.get('maxmemory') !== '0'
  const eviction = `A full server would drop revocations (maxmemory-policy ${policy})`

  if (allowVolatile) {
    // Warn: servers without an append-only file often evict keys by default, and few people intend that.
    if (isEvicting) warn(`${eviction}, which allowVolatile accepts`)
    return
  }
  const problems = [
    log === '0' &&
      !assumeDurable &&
      'A restart would forget revocations: set appendonly yes, ' +
        'or pass assumeDurable: true where the provider keeps acknowledged writes in another way',
    isEvicting && `${eviction}: set maxmemory-policy noeviction`,
  ].filter((problem) => problem !== false)
  if (problems.length > 0) {
    throw new ConfigurationError(
      `The Redis server does not keep revocations. ${problems.join('. ')}. ` +
        'To accept that revoked tokens may work again: createRedisStore(client, { allowVolatile: true })',
    )
  }
  const unseen = [log === undefined && 'appendonly', policy === undefined && 'maxmemory-policy'].filter(
    (name) => name !== false,
  )
  if (unseen.length === 0 || assumeDurable) return
  warn(
    `The Redis server does not show ${unseen.join(' and ')} in INFO, so the store could not check that it keeps ` +
      'revocations: it needs appendonly yes and maxmemory-policy noeviction. If your provider guarantees the same, ' +
      'pass assumeDurable: true. To accept that revoked tokens may work again: allowVolatile: true',
  )
}

/**
 * A script, so that in a cluster the primary of the key answers; a section each, because Redis 6 takes one at a time, and
 * because a user may be allowed to see only some of them.
 */
const INFO = createScript(`
local texts = {}
for _, section in ipairs({ 'replication', 'persistence', 'memory' }) do
  local answer = redis.pcall('INFO', section)
  if type(answer) == 'string' then texts[#texts + 1] = answer end
end
return table.concat(texts, '\\n')
`)

/** The fields of INFO that have a value: Redis Enterprise, for example, leaves `maxmemory_policy` empty. */
function toFacts(info: Reply): ReadonlyMap<string, string> {
  const facts = new Map<string, string>()
  for (const line of typeof info === 'string' ? info.split(/\r?\n/) : []) {
    const [name = '', value = ''] = line.split(':', 2)
    if (value !== '') facts.set(name, value)
  }
  return facts
}
