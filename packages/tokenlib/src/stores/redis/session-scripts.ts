import { MAX_ENDED_AT_ONCE } from '../../revocation/session-store.js'
import { createScript, type Script } from './client.js'
import { BEGIN } from './lua.js'

// A known value of a client starts with '='; an unknown one is ''.
const UNMARK = `
local function unmark(value, known)
  if value == '' then return known end
  return string.sub(value, 2)
end
`

const LIVE = `
local function isLive(row, idle)
  return now < row[6] and now - row[4] <= idle
end
`

const REVOKED = `
local function isRevoked(sid, user, startedAt)
  local found = redis.call('MGET', meta, base .. 'r:s:' .. sid, base .. 'r:u:' .. user, base .. 'r:a:')
  for at = 2, 4 do
    if startedAt <= parse(found[at]) then return true end
  end
  return false
end
`

/** ARGV: the epoch, the time, a nonce, the user, the nonce of the sid, the expiresAt, the until, the ip, the user agent. */
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
  unmark(ARGV[8], false), unmark(ARGV[9], false), changes, '', false, startedAt }))
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
local max, idle = tonumber(ARGV[10]), tonumber(ARGV[12])
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
if excess > 0 and ARGV[11] == 'refuse' then
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

/**
 * ARGV: the epoch, the time, a nonce, the sid, the id and the parent of the token, and five numbers in one string, because
 * each argument costs clients time: the token's generation and issuedAt, the grace, the idle limit, and how old
 * `lastUsedAt` may get.
 *
 * Follows `decideRotation`. The code after this runs only for tokens that can be exchanged, with `outcome`
 * and the session's place. For a token ahead of the row, `current` is the token's parent.
 */
const DECIDE = `
local sid, id, parent = ARGV[4], ARGV[5], ARGV[6]
local presented, issuedAt, grace, idle, coarse = string.match(ARGV[7], '(%S+) (%S+) (%S+) (%S+) (%S+)')
presented, issuedAt, grace = tonumber(presented), tonumber(issuedAt), tonumber(grace)
local row = session(sid)
if not row then return refusal() or { 'ended' } end
local user, generation, startedAt, lastUsedAt, expiresAt, ends, ip, userAgent, opened, current, previous, movedAt = unpack(row)
local isOver = now >= ends or now - math.max(lastUsedAt, issuedAt) > tonumber(idle)
if isOver or isRevoked(sid, user, startedAt) then return refusal() or { 'ended' } end

local isAhead = presented > generation + 1
if isAhead then generation, current, previous, movedAt = presented - 1, parent, false, 0 end
local outcome
if parent == current and (parent == '' or math.abs(now - issuedAt) >= grace) then
  outcome = 'advanced'
elseif id == current then
  outcome = 'repeated'
elseif parent == current then
  outcome = 'kept'
elseif (id == previous or parent == previous) and math.abs(now - movedAt) < grace then
  return refusal() or { 'superseded' }
else
  write({ { member = 's:' .. sid, notBefore = FOREVER, ends = ends } }, ARGV[3], { [sid] = user })
  return { 'reused ' .. text(generation), ip, userAgent }
end
`

/**
 * ARGV: as for `DECIDE`, then the ip and the user agent.
 *
 * Returns the outcome, the time, and when and by which client the session had last advanced before this step.
 */
export const ROTATE: Script = createScript(
  BEGIN,
  UNMARK,
  REVOKED,
  DECIDE,
  `
if outcome == 'advanced' then
  generation, current, previous, movedAt = presented, id, parent, now
  ip, userAgent = unmark(ARGV[8], ip), unmark(ARGV[9], userAgent)
end
if outcome == 'advanced' or isAhead or now - lastUsedAt > tonumber(coarse) then
  redis.call('SET', base .. 's:' .. sid, cmsgpack.pack({ user, generation, startedAt, now, expiresAt, ends,
    ip, userAgent, opened, current, previous, movedAt }), 'KEEPTTL')
else
  local refused = refusal()
  if refused then return refused end
end
return { string.format('%s %.0f %.0f %.0f', outcome, now, row[12], expiresAt), row[7], row[8] }
`,
)

/** ARGV: as for `DECIDE`. */
export const PRESENT: Script = createScript(BEGIN, REVOKED, DECIDE, `return refusal() or { 'current' }`)

const REPLY = `
local function toReply(sid, row)
  return { sid, row[1], text(row[3]), text(row[4]), text(row[5]), text(row[2]), row[7], row[8] }
end
`

/** ARGV: the epoch, the time, the sid, the longest time unused. */
export const GET: Script = createScript(
  BEGIN,
  LIVE,
  REVOKED,
  REPLY,
  `
local refused = refusal()
if refused then return refused end
local sid = ARGV[3]
local row = session(sid)
if not row or not isLive(row, tonumber(ARGV[4])) then return {} end
if isRevoked(sid, row[1], row[3]) then return {} end
local reply = toReply(sid, row)
reply[9], reply[10], reply[11] = row[10], row[11], text(row[12])
return reply
`,
)

/**
 * ARGV: the epoch, the time, the user, the start and the sid to go on after, or twice '', how many sessions to look at,
 * the longest time unused.
 *
 * Answers with the start and the sid to go on after, or twice '' at the end, and the live sessions.
 */
export const LIST: Script = createScript(
  BEGIN,
  LIVE,
  REPLY,
  `
local refused = refusal()
if refused then return refused end
local list, size, idle = base .. 'u:' .. ARGV[3], tonumber(ARGV[6]), tonumber(ARGV[7])

-- By bytes, as Redis orders them: Lua compares texts as the language of the server does.
local function isGreater(one, other)
  for at = 1, math.min(#one, #other) do
    local left, right = string.byte(one, at), string.byte(other, at)
    if left ~= right then return left > right end
  end
  return #one > #other
end

-- How many come before those after a session, which need not be there any more.
local function countUpTo(start, sid)
  local rank = redis.call('ZREVRANK', list, sid)
  if rank then return rank + 1 end
  local from = redis.call('ZCOUNT', list, '(' .. start, '+inf')
  local to = from + redis.call('ZCOUNT', list, start, start)
  while from < to do
    local middle = math.floor((from + to) / 2)
    if isGreater(redis.call('ZREVRANGE', list, middle, middle)[1], sid) then from = middle + 1 else to = middle end
  end
  return from
end

local revokedBefore = watermarkOf(ARGV[3])
local from = ARGV[5] == '' and 0 or countUpTo(ARGV[4], ARGV[5])
local part = redis.call('ZREVRANGE', list, from, from + size - 1, 'WITHSCORES')
local sids, gone = {}, {}
for at = 1, #part, 2 do
  if tonumber(part[at + 1]) <= revokedBefore then break end
  sids[#sids + 1] = part[at]
end
local reply = { '', '' }
if #sids == size then reply = { part[2 * size], sids[size] } end
for at, row in ipairs(sessionsOf(sids)) do
  if not row then
    gone[#gone + 1] = sids[at]
  elseif isLive(row, idle) then
    reply[#reply + 1] = toReply(sids[at], row)
  end
end
callInParts('ZREM', list, gone)
return reply
`,
)
