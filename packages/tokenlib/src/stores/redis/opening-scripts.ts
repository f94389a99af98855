import { MAX_ENDED_AT_ONCE } from '../../revocation/session-store.js'
import { createScript, type Script } from './client.js'
import { BEGIN } from './lua.js'
import { LIVE, UNMARK } from './session-scripts.js'

/** ARGV: the epoch, the time, a nonce, the user, the nonce of the sid, the expiresAt, the until, the ip, the user agent, the data. */
const START = `
local ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
local startedAt = now
for _, member in ipairs({ 'u:' .. ARGV[4], 'a:' }) do
  local notBefore = notBeforeOf(member)
  -- What lies beyond 48 bits is no moment, but FOREVER.
  if notBefore < 281474976710655 then startedAt = math.max(startedAt, notBefore + 1) end
end
local moment, sid = startedAt, ARGV[5]
for _ = 1, 8 do
  local digit = moment % 64
  sid = string.sub(ALPHABET, digit + 1, digit + 1) .. sid
  moment = (moment - digit) / 64
end

local list, row, kept = base .. 'u:' .. ARGV[4], base .. 's:' .. sid, lifetime(keptUntil(tonumber(ARGV[7])))
local left, gone = redis.call('PTTL', list), {}
`

const WRITE = `
redis.call('SET', row, cmsgpack.pack({ ARGV[4], 0, startedAt, startedAt, tonumber(ARGV[6]), tonumber(ARGV[7]),
  unmark(ARGV[8], false), unmark(ARGV[9], false), changes, '', false, startedAt, unmark(ARGV[10], nil) }))
redis.call('HSET', meta, 'newest', text(math.max(tonumber(state[7]) or 0, startedAt)))
redis.call('ZADD', list, text(startedAt), sid)
local forgotten = {}
for other in pairs(gone) do forgotten[#forgotten + 1] = other end
callInParts('ZREM', list, forgotten)
if kept then
  redis.call('PEXPIRE', row, text(kept))
  if left ~= -1 and left < kept then redis.call('PEXPIRE', list, text(kept)) end
else
  redis.call('PERSIST', list)
end
`

/** ARGV: as for `START`. Also drops ended sessions from the user's list, a few at a time. */
export const OPEN: Script = createScript(
  BEGIN,
  UNMARK,
  START,
  `
local count = redis.call('ZCARD', list)
if count > 0 then
  local one, two, three = string.byte(sid, -3, -1)
  local from = (one * 65536 + two * 256 + three) % count
  for _, other in ipairs(redis.call('ZRANGE', list, from, from + 3)) do
    if not exists(base .. 's:' .. other) then gone[other] = true end
  end
end
`,
  WRITE,
  `
return { sid, text(startedAt) }
`,
)

/**
 * ARGV: as for `START`, then how many sessions the user may have, 'endOldest' or 'refuse', and the longest time unused.
 * Follows `decideOpening`.
 *
 * Returns 'opened', 'ending' or 'full'; the sid and the start, or '' for both; and the sessions that it revoked, oldest
 * first.
 */
export const OPEN_LIMITED: Script = createScript(
  BEGIN,
  UNMARK,
  LIVE,
  START,
  `
local max, idle = tonumber(ARGV[11]), tonumber(ARGV[13])
local revokedBefore = watermarkOf(ARGV[4])
-- Live sessions from one end of the list, at most so many. What is not after the watermark is revoked.
local function readLive(command, first, last, limit)
  local found, from, size = {}, 0, 1000
  while #found < limit and size == 1000 do
    local sids = redis.call(command, list, first, last, 'LIMIT', from, 1000)
    for at, known in ipairs(sessionsOf(sids)) do
      if not known then
        gone[sids[at]] = true
      elseif #found < limit and isLive(known, idle) then
        found[#found + 1] = sids[at]
      end
    end
    from, size = from + 1000, #sids
  end
  return found
end

local after = '(' .. text(revokedBefore)
local live = #readLive('ZREVRANGEBYSCORE', '+inf', after, max + ${MAX_ENDED_AT_ONCE})
local excess = live + 1 - max
if excess > 0 and ARGV[12] == 'refuse' then
  return refusal() or answer('full', '', '')
end
local isEnding, ended = excess > ${MAX_ENDED_AT_ONCE}, {}
if excess > 0 then ended = readLive('ZRANGEBYSCORE', after, '+inf', math.min(excess, ${MAX_ENDED_AT_ONCE})) end
local revoked, users = revocable(ended, function() return true end)
if #revoked > 0 then append(revoked, ARGV[3]) end
-- Before the others go: a list that is empty for a moment loses its end.
if not isEnding then
`,
  WRITE,
  `
end
removeSessions(users)
local reply = isEnding and answer('ending', '', '') or answer('opened', sid, text(startedAt))
for _, other in ipairs(ended) do reply[#reply + 1] = other end
return reply
`,
)
