import { MAX_ENDED_AT_ONCE } from '../../revocation/store-rules.js'
import { createScript, type Script } from './client.js'
import { BEGIN } from './lua.js'

/** What is known of a client begins with '=', or is '' where nothing is. */
export const UNMARK = `
local function unmark(value, known)
  if value == '' then return known end
  return string.sub(value, 2)
end
`

/** Whether a session is neither over nor unused for too long. */
export const LIVE = `
local function isLive(row, idle)
  return now < row[6] and now - row[4] <= idle
end
`

/** ARGV: the epoch, the time, the user, the nonce, the expiresAt, the until, the ip, the user agent. */
const START = `
local ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
local startedAt = now
for _, member in ipairs({ 'u:' .. ARGV[3], 'a:' }) do
  local notBefore = notBeforeOf(member)
  -- What lies beyond 48 bits is no moment, but FOREVER.
  if notBefore < 281474976710655 then startedAt = math.max(startedAt, notBefore + 1) end
end
local moment, sid = startedAt, ARGV[4]
for _ = 1, 8 do
  local digit = moment % 64
  sid = string.sub(ALPHABET, digit + 1, digit + 1) .. sid
  moment = (moment - digit) / 64
end

local list, row, kept = base .. 'u:' .. ARGV[3], base .. 's:' .. sid, lifetime(keptUntil(tonumber(ARGV[6])))
local left, gone = redis.call('PTTL', list), {}
`

const WRITE = `
redis.call('SET', row, cmsgpack.pack({ ARGV[3], 0, startedAt, startedAt, tonumber(ARGV[5]), tonumber(ARGV[6]),
  unmark(ARGV[7], false), unmark(ARGV[8], false), changes, '', false, startedAt }))
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

/**
 * ARGV: those of `START`.
 *
 * Of the user's other sessions a few are looked at, by chance, so that the list forgets what has ended.
 */
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
    if not exists(base .. 's:' .. other) or exists(base .. 'r:s:' .. other) then gone[other] = true end
  end
end
`,
  WRITE,
  `
return { sid, text(startedAt) }
`,
)

/**
 * ARGV: those of `START`, then a nonce, how many sessions the user may have, 'endOldest' or 'refuse', and the longest
 * time unused.
 *
 * The rules are those of `decideOpening`. It looks at no more sessions than it has to, apart from those
 * that are over or idle.
 *
 * Answers with the epoch, the count of batches and the last nonce; 'opened', 'ending' or 'full'; the sid and the start,
 * or twice ''; and the sessions that it has revoked, oldest first.
 */
export const OPEN_LIMITED: Script = createScript(
  BEGIN,
  UNMARK,
  LIVE,
  START,
  `
local max, idle = tonumber(ARGV[10]), tonumber(ARGV[12])
local revokedBefore = math.max(notBeforeOf('u:' .. ARGV[3]), notBeforeOf('a:'))
-- Live sessions from one end of the list, at most so many. What is not after the watermark is revoked.
local function readLive(command, first, last, limit)
  local found, from, size = {}, 0, 1000
  while #found < limit and size == 1000 do
    local sids, rows, entries = redis.call(command, list, first, last, 'LIMIT', from, 1000), {}, {}
    for at, other in ipairs(sids) do rows[at], entries[at] = base .. 's:' .. other, base .. 'r:s:' .. other end
    rows, entries = fetch(rows), fetch(entries)
    for at, other in ipairs(sids) do
      local known = rows[at] and not entries[at] and cmsgpack.unpack(rows[at])
      if not known then
        gone[other] = true
      elseif #found < limit and isLive(known, idle) then
        found[#found + 1] = other
      end
    end
    from, size = from + 1000, #sids
  end
  return found
end

local after = '(' .. text(revokedBefore)
local live = #readLive('ZREVRANGEBYSCORE', '+inf', after, max + ${MAX_ENDED_AT_ONCE})
local excess = live + 1 - max
if excess > 0 and ARGV[11] == 'refuse' then
  return refusal() or { epoch, text(batches), state[5] or '', 'full', '', '' }
end
local isEnding, ended = excess > ${MAX_ENDED_AT_ONCE}, {}
if excess > 0 then ended = readLive('ZRANGEBYSCORE', after, '+inf', math.min(excess, ${MAX_ENDED_AT_ONCE})) end
local revoked, users = revocable(ended, function() return true end)
if #revoked > 0 then append(revoked, ARGV[9]) end
-- Before the others go: a list that is empty for a moment loses its end.
if not isEnding then
`,
  WRITE,
  `
end
for other, user in pairs(users) do removeSession(other, user) end
local reply = { epoch, text(batches), state[5] or '', 'opened', sid, text(startedAt) }
if isEnding then reply = { epoch, text(batches), state[5] or '', 'ending', '', '' } end
for at, other in ipairs(ended) do reply[6 + at] = other end
return reply
`,
)
