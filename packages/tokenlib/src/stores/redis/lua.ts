import { MAX_SESSION_LEAD_MS } from '../../revocation/revocation.js'

// How long an entry outlives its `until`: processes that still accept the token may be behind the clock of the server.
const MARGIN_MS = 60_000

// How many batches of changes a reader may be behind before it has to read from the start again.
const MAX_PAST = 10_000

/**
 * The error of a server that must not answer, or nil. A replica refuses this write of nothing, and so does a primary that
 * lost the replicas it must have. A primary that cannot write to its disk still knows everything.
 */
export const REFUSAL = `
local function refusal()
  local answer = redis.pcall('PERSIST', KEYS[1])
  if type(answer) == 'table' and answer.err and not string.find(answer.err, 'MISCONF', 1, true) then return answer end
end
`

/**
 * What every script that works with the history begins with: names, numbers and the state of the namespace.
 *
 * ARGV[1] is the history that the caller knows, ARGV[2] the time, or '' for the server's own.
 * Numbers pass through `text`, because Lua writes large ones as 9.007e+15.
 */
export const HEAD: string = `
local FOREVER, MARGIN = 9007199254740991, ${MARGIN_MS}
local meta, base = KEYS[1], string.sub(KEYS[1], 1, -5)
local log, past, marks = base .. 'log', base .. 'past', base .. 'marks'
local state = redis.call('HMGET', meta, 'epoch', 'longest', 'changes', 'batches', 'nonce', 'swept', 'newest', 'late', 'lost')
local epoch = state[1] == redis.call('GET', base .. 'epoch') and state[1]
local longest, changes, batches = tonumber(state[2]) or 0, tonumber(state[3]) or 0, tonumber(state[4]) or 0
-- The nonce of the last batch.
local nonce = state[5] or ''
-- The start of the newest session: a clock that was set back must not make a watermark miss it. While sessions that
-- started later than a watermark reaches are being revoked one by one, theirs is in 'late'.
local newest = math.max(tonumber(state[7]) or 0, tonumber(string.match(state[8] or '', '^%d+')) or 0)
-- After a loss of 'meta' nobody knows it, until a walk through all sessions has ended.
local isNewestUnknown = string.sub(state[8] or '', 1, 1) == '-'

local now = tonumber(ARGV[2])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Not without bound: one login by a wrong clock would lock everybody out.
local newestBelieved = math.min(newest, now + ${MAX_SESSION_LEAD_MS})

local function text(number)
  return string.format('%.0f', number)
end

-- The end of whatever starts at a moment.
local function reach(moment)
  return math.min(FOREVER, moment + longest)
end

-- How long a key is kept, or nil for ever.
local function lifetime(ends)
  if ends < FOREVER then return math.max(1000, ends + MARGIN - now) end
end

-- How long a session is kept, given its end. If it has ended by this clock, the clock may be ahead of the processes,
-- which accept its tokens: it is kept for the longest lifetime.
local function keptUntil(ends)
  return ends > now and ends or reach(now)
end

${REFUSAL}
-- While a cluster moves a slot, a node answers for a single key as if it did not exist when it has not come yet;
-- of two keys it says so. Hence the first one.
local function fetch(keys)
  local found = {}
  for from = 1, #keys, 1000 do
    local part = redis.call('MGET', meta, unpack(keys, from, math.min(from + 999, #keys)))
    for at = 2, #part do found[from + at - 2] = part[at] end
  end
  return found
end

local function exists(key)
  return redis.call('EXISTS', meta, key) == 2
end

-- 'notBefore:until', or the until alone where the notBefore is FOREVER: Redis keeps a number in less space.
local function parse(value)
  if not value then return 0, 0 end
  local notBefore, ends = string.match(value, '^(%d+):(%d+)$')
  if notBefore then return tonumber(notBefore), tonumber(ends) end
  return FOREVER, tonumber(value)
end

-- A session is packed into one text, a third of the size of a hash: user, generation, startedAt, lastUsedAt,
-- expiresAt, until, ip, userAgent, the count of changes when it was opened, current, previous, movedAt and, if there is one,
-- the data. What is null is false: an array with a hole would be packed as a map.
local function session(sid)
  local packed = redis.call('GET', base .. 's:' .. sid)
  return packed and cmsgpack.unpack(packed)
end

local function isWatermark(member)
  local kind = string.sub(member, 1, 1)
  return kind == 'u' or kind == 'a'
end

-- Whether a batch that somebody has seen is in this history; of one that is too long ago nobody can tell.
local function isProven(count, proof)
  local behind = batches - count
  if count == 0 then return true end
  if behind < 0 then return false end
  if behind == 0 then return proof == nonce end
  local found = redis.call('LINDEX', past, -1 - behind)
  return not found or found == proof
end

local function isCounted()
  return redis.call('GET', base .. 'count') == text(batches) .. ':' .. nonce
end

-- Whether the log and the marks are those of this history.
local function isWhole()
  return redis.call('ZSCORE', log, epoch) and redis.call('ZSCORE', marks, epoch)
end

local function notBeforeOf(member)
  return (parse(fetch({ base .. 'r:' .. member })[1]))
end

-- The later of the user's watermark and the watermark for everybody.
local function watermarkOf(user)
  return math.max(notBeforeOf('u:' .. user), notBeforeOf('a:'))
end

-- Reads the entries in ARGV, three texts each (the member, notBefore, until), and the stored value of each. Those of one
-- member are one entry.
local function readGiven()
  local keys, given, known = {}, {}, {}
  for at = 4, #ARGV, 3 do
    local member, notBefore, ends = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    local entry = known[member]
    if entry then
      entry.notBefore, entry.ends = math.max(entry.notBefore, notBefore), math.max(entry.ends, ends)
    else
      known[member] = { member = member, notBefore = notBefore, ends = ends }
      given[#given + 1], keys[#keys + 1] = known[member], base .. 'r:' .. member
    end
  end
  for at, value in ipairs(fetch(keys)) do
    given[at].isKnown, given[at].knownBefore, given[at].knownEnds = value and true, parse(value)
  end
  return given
end

local function raises(entry)
  return not entry.isKnown or entry.notBefore > entry.knownBefore or entry.ends > entry.knownEnds
end

-- A command on a sorted set, a part of its arguments at a time: 'ZREM' takes members, 'ZADD' pairs of score and member.
local function callInParts(command, key, args)
  for from = 1, #args, 1000 do
    redis.call(command, key, unpack(args, from, math.min(from + 999, #args)))
  end
end

-- The marks are the watermarks of the log, by the longest lifetime that each reaches: those that a longer one concerns
-- are found without a walk through the log, and again where a raise was cut short.
local function mark(members)
  local scores = {}
  for at, member in ipairs(members) do scores[2 * at - 1], scores[2 * at] = text(longest), member end
  callInParts('ZADD', marks, scores)
end

-- A moment in 16 digits, so that texts are in the order of their moments.
local function sortable(moment)
  return string.format('%016.0f', moment)
end

-- A row of the log has all that its readers need: 'until member', or 'until:notBefore member'.
local function toRow(member, notBefore, ends)
  local start = notBefore < FOREVER and ':' .. text(notBefore) or ''
  return sortable(ends or FOREVER) .. start .. ' ' .. member
end

-- Of some rows, finds those whose entry the server has dropped, or replaced by one that ends later; and the members that
-- it has dropped. Only rows that have ended are looked up, and on request those with a notBefore ('some') or all of them
-- ('all'): a lookup takes longer than the rest. The entry decides, because the clock of the caller may be ahead.
local function obsolete(rows, others)
  local before = sortable(now - MARGIN)
  local found, members, keys, gone, dropped = {}, {}, {}, {}, {}
  for _, row in ipairs(rows) do
    if row < before or others == 'all' or others and string.sub(row, 17, 17) == ':' then
      local at = #found + 1
      found[at], members[at] = row, string.sub(row, (string.find(row, ' ', 1, true) or 0) + 1)
      keys[at] = base .. 'r:' .. members[at]
    end
  end
  for at, value in ipairs(fetch(keys)) do
    if not value then dropped[#dropped + 1] = members[at] end
    local isGone = not value or found[at] < before and toRow(members[at], parse(value)) ~= found[at]
    if isGone then gone[#gone + 1] = found[at] end
  end
  return gone, dropped
end

-- The obsolete ones among the next 'steps' rows of the log after a change. Also returns the change to continue after.
local function sweep(after, steps, others)
  local rows = redis.call('ZRANGEBYSCORE', log, '(' .. after, '+inf', 'LIMIT', 0, steps)
  local gone, dropped = obsolete(rows, others)
  return gone, dropped, #rows < steps and '0' or redis.call('ZSCORE', log, rows[#rows])
end

-- Everything is read before anything is written, and the first write is one that a full server refuses: then it
-- refuses all of them. The log forgets what has ended twice as fast as it grows.
local function append(entries, newNonce)
  redis.call('EXISTS', log, past, marks)
  local isSwept, gone, dropped, swept = pcall(sweep, state[6] or '0', 2 + 2 * #entries, 'some')
  if not isSwept then gone, dropped, swept = {}, {}, state[6] or '0' end
  redis.call('HSET', meta, 'changes', text(changes + #entries), 'batches', text(batches + 1), 'nonce', newNonce, 'swept', swept)
  redis.call('SET', base .. 'count', text(batches + 1) .. ':' .. newNonce)
  for _, entry in ipairs(entries) do
    if entry.isKnown then gone[#gone + 1] = toRow(entry.member, entry.knownBefore, entry.knownEnds) end
  end
  callInParts('ZREM', log, gone)
  callInParts('ZREM', marks, dropped)
  redis.call('RPUSH', past, newNonce)
  redis.call('LTRIM', past, -${MAX_PAST}, -1)
  local scores, watermarks = {}, {}
  for at, entry in ipairs(entries) do
    if isWatermark(entry.member) then
      entry.ends = math.max(entry.ends, reach(entry.notBefore))
      watermarks[#watermarks + 1] = entry.member
    end
    local key, value = base .. 'r:' .. entry.member, text(entry.ends)
    if entry.notBefore < FOREVER then value = text(entry.notBefore) .. ':' .. value end
    local kept = lifetime(entry.ends)
    if kept then redis.call('SET', key, value, 'PX', text(kept)) else redis.call('SET', key, value) end
    scores[2 * at - 1], scores[2 * at] = text(changes + at), toRow(entry.member, entry.notBefore, entry.ends)
  end
  callInParts('ZADD', log, scores)
  mark(watermarks)
  changes = changes + #entries
  batches, nonce = batches + 1, newNonce
  -- Only a hint for those who watch: a user without the right to publish revokes all the same.
  redis.pcall('PUBLISH', base .. 'news', '')
end

-- Removes the rows of revoked sessions, and their places in the lists. 'users' has the user of each sid.
local function removeSessions(users)
  for sid, user in pairs(users) do
    redis.call('DEL', base .. 's:' .. sid)
    redis.call('ZREM', base .. 'u:' .. user, sid)
  end
end

-- Appends entries, and removes the sessions that they revoke. Without entries, returns the error of
-- refusal(), if there is one.
local function write(entries, newNonce, users)
  if #entries == 0 then
    local refused = refusal()
    if refused then return refused end
  else
    append(entries, newNonce)
  end
  removeSessions(users)
end

-- The reply of a script: the position, then the given values.
local function answer(...)
  return { epoch, text(batches), nonce, text(changes), ... }
end

-- Unpacks the rows of sessions; false for a session without a row.
local function sessionsOf(sids)
  local keys, rows = {}, {}
  for at, sid in ipairs(sids) do keys[at] = base .. 's:' .. sid end
  for at, packed in ipairs(fetch(keys)) do rows[at] = packed and cmsgpack.unpack(packed) end
  return rows
end

-- Of the sessions with these ids, selects those that pass a test. Returns the entries to append, and the users.
local function revocable(sids, isMeant)
  local entries, users = {}, {}
  for at, row in ipairs(sessionsOf(sids)) do
    local sid = sids[at]
    if row and not users[sid] and isMeant(row, sid) then
      entries[#entries + 1] = { member = 's:' .. sid, notBefore = FOREVER, ends = keptUntil(row[6]) }
      users[sid] = row[1]
    end
  end
  return entries, users
end
`

/** The start of every script after PREPARE: does nothing if the epoch has changed. */
export const BEGIN: string = `${HEAD}
local knownEpoch, knownBatches, knownNonce = string.match(ARGV[1], '^([^|]*)|(%d+)|(.*)$')
if epoch ~= knownEpoch or not isProven(tonumber(knownBatches), knownNonce) then return false end
`
