import { createScript, type Script } from './client.js'
import { BEGIN } from './lua.js'

/** A known value starts with '='; an unknown one is ''. */
export const UNMARK = `
local function unmark(value, known)
  if value == '' then return known end
  return string.sub(value, 2)
end
`

/** Whether a session has not expired and was used recently enough. */
export const LIVE = `
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
    ip, userAgent, opened, current, previous, movedAt, row[13] }), 'KEEPTTL')
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
  return { sid, row[1], text(row[3]), text(row[4]), text(row[5]), text(row[2]), row[7], row[8],
    row[13] or false }
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
reply[10], reply[11], reply[12] = row[10], row[11], text(row[12])
return reply
`,
)

/** ARGV: the epoch, the time, the sid, the new data and the data that must be there, both marked. */
export const WRITE_DATA: Script = createScript(
  BEGIN,
  UNMARK,
  REVOKED,
  `
local sid = ARGV[3]
local row = session(sid)
if not row or now >= row[6] or isRevoked(sid, row[1], row[3]) or row[13] ~= unmark(ARGV[5], nil) then
  return refusal() or { 'kept' }
end
row[13] = unmark(ARGV[4], nil)
redis.call('SET', base .. 's:' .. sid, cmsgpack.pack(row), 'KEEPTTL')
return { 'written' }
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
