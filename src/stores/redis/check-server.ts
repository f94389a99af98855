import { ConfigurationError } from '../../errors.js'
import type { Send } from './client.js'
import { createScript, runScript } from './script.js'

/** A script, so that in a cluster the primary of the key answers; a section each, because Redis 6 takes one at a time. */
const INFO = createScript(`
local texts = {}
for at, section in ipairs({ 'replication', 'persistence', 'memory' }) do
  local answer = redis.pcall('INFO', section)
  if type(answer) == 'table' then return { 'unknown' } end
  texts[at] = answer
end
return { 'known', table.concat(texts, '\\n') }
`)

/** Rejects when the server is a replica, or one that forgets revocations; warns when it does not say. */
export async function checkServer(
  send: Send,
  key: string,
  allowVolatile: boolean,
  warn: (message: string) => void,
): Promise<void> {
  const [outcome, text] = (await runScript(send, INFO, [key], [])) as readonly string[]
  if (outcome !== 'known') {
    return warn(
      'The Redis store may not run INFO, so nobody checked that the server keeps revocations: ' +
        'it needs appendonly yes and maxmemory-policy noeviction',
    )
  }
  const facts = new Map(text?.split(/\r?\n/).map((line) => line.split(':', 2) as [string, string]))
  if (facts.get('role') === 'slave') {
    throw new ConfigurationError(
      'The Redis store needs the primary, and its client is connected to a replica',
    )
  }
  if (allowVolatile) return
  const problems = [
    facts.get('aof_enabled') === '0' && 'a restart would forget revocations: set appendonly yes',
    Number(facts.get('maxmemory')) > 0 &&
      facts.get('maxmemory_policy') !== 'noeviction' &&
      `a full server would drop revocations (maxmemory-policy ${facts.get('maxmemory_policy')}): set maxmemory-policy noeviction`,
  ].filter((problem) => problem !== false)
  if (problems.length === 0) return
  throw new ConfigurationError(
    `The Redis server does not keep revocations. ${problems.join('; ')}. ` +
      'To accept that revoked tokens may work again: createRedisStore(client, { allowVolatile: true })',
  )
}
