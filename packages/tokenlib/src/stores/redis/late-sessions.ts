import { createNonce, systemRandom } from '../../tokens/ids.js'
import { MAX_ENDED_AT_ONCE } from '../../revocation/store-rules.js'
import { createScript, type Reply, type Script } from './client.js'
import { BEGIN } from './lua.js'
import type { Namespace } from './namespace.js'

/**
 * Revokes sessions of a user that started later than a watermark reaches, because the clock was far ahead. There may be
 * thousands, and the server does nothing else while a script runs, so each does a few.
 *
 * ARGV: the epoch, the time, a nonce, the user, the start to go on after, the last start.
 * Answers with the position, and 'more' or 'end'.
 */
const LATE: Script = createScript(
  BEGIN,
  `
local list = base .. 'u:' .. ARGV[4]
local sids = redis.call('ZRANGEBYSCORE', list, '(' .. ARGV[5], ARGV[6], 'LIMIT', 0, ${MAX_ENDED_AT_ONCE})
local entries, users = revocable(sids, function() return true end)
if #entries > 0 then
  append(entries, ARGV[3])
else
  local refused = refusal()
  if refused then return refused end
end
for sid, user in pairs(users) do removeSession(sid, user) end
-- Those whose rows have ended are still in the list.
callInParts('ZREM', list, sids)
local progress = #sids == ${MAX_ENDED_AT_ONCE} and 'more' or 'end'
return { epoch, text(batches), state[5] or '', text(changes), progress }
`,
)

/** Goes on with what REVOKE has left: three texts for each user. Returns the reply with the last position, or `null`. */
export async function revokeLate(
  namespace: Namespace,
  left: readonly Reply[],
): Promise<readonly Reply[] | null> {
  let last: readonly Reply[] | null = null
  for (let at = 0; at < left.length; at += 3) {
    const place = left.slice(at, at + 3).map(String)
    do {
      const names = ['log', 'past', 'marks', `u:${place[0]}`]
      last = await namespace.run(LATE, names, [createNonce(systemRandom), ...place])
    } while (last[4] === 'more')
  }
  return last
}
