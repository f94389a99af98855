import { createNonce, systemRandom } from '../../tokens/ids.js'
import { MAX_ENDED_AT_ONCE } from '../../revocation/store-rules.js'
import { createScript, type Reply, type Run, type Script } from './client.js'
import { BEGIN } from './lua.js'

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
export async function revokeLate(run: Run, left: readonly Reply[]): Promise<readonly Reply[] | null> {
  let last: readonly Reply[] | null = null
  for (let at = 0; at < left.length; at += 3) {
    const place = left.slice(at, at + 3).map(String)
    do {
      const names = ['log', 'past', 'marks', `u:${place[0]}`]
      last = await run(LATE, names, [createNonce(systemRandom), ...place])
    } while (last[4] === 'more')
  }
  return last
}

/** How many keys of the server one script looks at, about. */
const SWEEP_STEPS = 1000

/**
 * Revokes sessions that started later than a watermark of all reaches, one by one: they were opened while the clock was
 * far ahead. There is no index of all sessions for such a rare case, so it goes through the keys of the server, a part
 * of them at a time. A cursor is worth nothing on another server, or on the same one after a restart.
 *
 * ARGV: the epoch, the time, a nonce, what `beginSweep` returned in two parts, a cursor, and the server it is of.
 * Answers with the position, the cursor to go on with, '0' at the end, and the server.
 */
export const SWEEP: Script = createScript(
  BEGIN,
  `
local moment, late, cursor = tonumber(ARGV[4]), ARGV[5], ARGV[6]
local before = tonumber(string.match(late, '%d+$'))
local info = redis.pcall('INFO', 'server')
local server = type(info) == 'string' and string.match(info, 'run_id:(%w+)') or 'unknown'
if server ~= ARGV[7] then cursor = '0' end

local found = redis.call('SCAN', cursor, 'MATCH', base .. 's:*', 'COUNT', ${SWEEP_STEPS})
local sids = {}
for at, key in ipairs(found[2]) do sids[at] = string.sub(key, #base + 3) end
local entries, users = revocable(sids, function(row)
  local opened = row[9] or 0
  return row[3] > moment and (opened < before or opened > changes)
end)
if #entries > 0 then append(entries, ARGV[3]) end
for sid, user in pairs(users) do removeSession(sid, user) end
if found[1] == '0' and state[8] == late then redis.call('HDEL', meta, 'late', 'lost') end
return { epoch, text(batches), state[5] or '', text(changes), found[1], server }
`,
)

/**
 * Revokes the sessions that started later than the watermark of all reaches, and returns the position after them.
 *
 * `late` is what the script that began it answered: the watermark, and what tells sessions from before and after it.
 */
type Sweep = (run: Run, epoch: string, late: string) => Promise<readonly Reply[]>

// No key has the name 'absent'. While a cluster moves the slot, a script that declares a missing key runs on neither
// node: each of them would walk through a part of the sessions only.
const NAMES = ['log', 'past', 'marks', 'absent']

/** Walks through the sessions, at most once at a time for each marker: a repeat waits for the walk under way. */
export function createSweep(): Sweep {
  const underWay = new Map<string, Promise<readonly Reply[]>>()

  return (run, epoch, late) => {
    const [moment = '', ...rest] = late.split(':')
    const marker = rest.join(':')
    const key = `${epoch}|${marker}`
    const walk = underWay.get(key) ?? walkAll(run, moment, marker).finally(() => underWay.delete(key))
    underWay.set(key, walk)
    return walk
  }
}

async function walkAll(run: Run, moment: string, marker: string): Promise<readonly Reply[]> {
  let cursor = '0'
  let server = ''
  for (;;) {
    const args = [createNonce(systemRandom), moment, marker, cursor, server]
    const reply = await run(SWEEP, NAMES, args)
    cursor = String(reply[4])
    server = String(reply[5])
    if (cursor === '0') return reply
  }
}
