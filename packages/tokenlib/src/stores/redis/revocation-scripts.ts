import { MAX_WATERMARK_LEAD_MS } from '../../revocation/revocation.js'
import { createScript, type Script } from './client.js'
import { BEGIN, HEAD } from './lua.js'

/** The version of the keys and their values. Data without one, as this release makes it, has version 1. */
export const LAYOUT_VERSION = 1

const LATE_SESSIONS = `
local function mayStartLater(moment)
  return isNewestUnknown or newest > moment
end

-- Sessions started later than a watermark of all reaches: whoever sees to them goes by what this returns. What is
-- opened from now on is told apart by its count of changes, which is no less than the one in 'late'. A walk that has
-- begun and not ended is enough, if the watermark reaches all sessions that were opened since.
local function beginSweep(moment)
  if state[8] and (tonumber(state[7]) or 0) <= moment then return text(moment) .. ':' .. state[8] end
  local late = (isNewestUnknown and '-' or text(newest)) .. ':' .. text(changes)
  redis.call('HSET', meta, 'newest', text(moment), 'late', late)
  return text(moment) .. ':' .. late
end
`

/** How many watermarks one script makes longer. */
const RAISE_STEPS = 1000

/**
 * Prepares a namespace. If its data was lost, revokes everything from before.
 *
 * ARGV: the epoch that the caller knows or '', the time, the longest lifetime, a random text, KEYS[1] once more, the
 * count of batches that the caller has seen, the nonce of the last one, and '1' if the caller restores lost data. A log
 * without the epoch does not belong to this history, and a history without that batch is an old copy.
 *
 * A longer lifetime extends the watermarks, some of them in each call. A loss is kept in 'lost' until SWEEP has ended: if
 * SWEEP is interrupted, the next process continues it.
 *
 * Returns 'more' or 'end', the moment up to which a loss revoked everything or '', and the argument of SWEEP or ''.
 */
export const PREPARE: Script = createScript(
  HEAD,
  LATE_SESSIONS,
  `
if KEYS[1] ~= ARGV[5] then return redis.error_reply('KEYPREFIX the client changes the names of keys') end
-- A later release may write the version of its data.
local version = redis.call('HMGET', meta, 'version')[1]
if tonumber(version or ${LAYOUT_VERSION}) > ${LAYOUT_VERSION} then return redis.error_reply('LAYOUT ' .. version) end
local isOldCopy = epoch == ARGV[1] and not isProven(tonumber(ARGV[6]), ARGV[7])
local isSound = epoch and not isOldCopy and isCounted() and isWhole()
-- What is there is not whole, so something is missing, also for a caller that knows nothing yet.
local isDamaged = not isSound and (state[1] or redis.call('EXISTS', base .. 'epoch', log, marks) > 0)
local isKnown = ARGV[1] == '' or ARGV[1] == epoch
-- Another call found a loss and began to walk through the sessions, and the walk has not ended. A caller that knows
-- this history has done its part.
local lost = isSound and ARGV[1] ~= epoch and state[8] and state[9]
local isRaised = longest < tonumber(ARGV[3])
longest = math.max(longest, tonumber(ARGV[3]))
local short = redis.call('ZRANGEBYSCORE', marks, '-inf', '(' .. text(longest), 'LIMIT', 0, ${RAISE_STEPS})
local progress = #short < ${RAISE_STEPS} and 'end' or 'more'
if isSound and isKnown and not lost and not isRaised and #short == 0 then return refusal() or answer(progress, '', '') end
if not isSound then
  local newest = redis.call('ZREVRANGE', log, 0, 0, 'WITHSCORES')
  epoch, changes, batches = ARGV[4], math.max(changes, tonumber(newest[2]) or 0), 0
  if not state[7] then isNewestUnknown = true end
  -- A walk that began before the loss goes by counts that may be lost.
  state[8] = false
end
local isLost = (isDamaged or (ARGV[1] ~= '' and ARGV[1] ~= epoch)) and ARGV[8] ~= '1'
-- The count is lost: one that is larger than any before tells sessions from before the loss from those after it.
if isLost and not state[3] then changes = math.max(changes, now) end
local all = fetch({ base .. 'r:a:' })[1]
local keys, raised, same, gone = {}, {}, {}, {}
for at, member in ipairs(short) do keys[at] = base .. 'r:' .. member end
for at, value in ipairs(fetch(keys)) do
  local member, notBefore, ends = short[at], parse(value)
  if not value then
    gone[#gone + 1] = member
  elseif ends >= reach(notBefore) then
    same[#same + 1] = member
  elseif not (isLost and member == 'a:') then
    raised[#raised + 1] = { member = member, notBefore = notBefore, ends = ends, isKnown = true, knownBefore = notBefore, knownEnds = ends }
  end
end
local revokedBefore, late = '', ''
if isLost then
  local knownBefore, ends = parse(all)
  local notBefore = math.max(knownBefore, now, newestBelieved)
  revokedBefore = text(notBefore)
  raised[#raised + 1] = { member = 'a:', notBefore = notBefore, ends = ends, isKnown = all and true, knownBefore = knownBefore, knownEnds = ends }
end
redis.call('HSET', meta, 'longest', text(longest))
if not isSound then
  redis.call('HSET', meta, 'epoch', epoch, 'changes', text(changes), 'batches', '0', 'nonce', '')
  redis.call('SET', base .. 'epoch', epoch)
  redis.call('SET', base .. 'count', '0:')
  nonce = ''
  redis.call('DEL', past)
  redis.call('ZREMRANGEBYSCORE', log, 0, 0)
  redis.call('ZADD', log, 0, epoch)
  redis.call('ZREMRANGEBYSCORE', marks, '+inf', '+inf')
  redis.call('ZADD', marks, '+inf', epoch)
end
callInParts('ZREM', marks, gone)
mark(same)
if #raised > 0 then append(raised, ARGV[4]) end
if isLost and mayStartLater(tonumber(revokedBefore)) then
  late = beginSweep(tonumber(revokedBefore))
  redis.call('HSET', meta, 'lost', revokedBefore)
elseif lost and not isLost then
  revokedBefore, late = lost, lost .. ':' .. state[8]
end
return answer(progress, revokedBefore, late)
`,
)

/**
 * ARGV: the epoch, the time, a nonce; then the entries.
 *
 * Returns the time of the revocation, and the argument of SWEEP or ''. Three texts follow for each user whose sessions
 * LATE has to continue with.
 */
export const REVOKE: Script = createScript(
  BEGIN,
  LATE_SESSIONS,
  `
local merged, raised, taken, removed = {}, {}, now, {}
local function raise(entry)
  if not entry.isRaised then raised[#raised + 1] = entry end
  entry.isRaised = true
end
for _, entry in ipairs(readGiven()) do
  local member = entry.member
  if isWatermark(member) then
    entry.notBefore = math.max(math.min(entry.notBefore, now + ${MAX_WATERMARK_LEAD_MS}), now, newestBelieved)
    entry.ends = math.max(entry.ends, reach(entry.notBefore))
    taken = math.max(taken, entry.notBefore)
  elseif string.sub(member, 1, 1) == 's' then
    local row = session(string.sub(member, 3))
    entry.ends = row and keptUntil(row[6]) or math.max(entry.ends, reach(now))
    if row then removed[string.sub(member, 3)] = row[1] end
  end
  if raises(entry) then raise(entry) end
  entry.notBefore, entry.ends = math.max(entry.notBefore, entry.knownBefore), math.max(entry.ends, entry.knownEnds)
  merged[member] = entry
end

-- Sessions that started later than a watermark reaches: those of a user by LATE, and those of all by SWEEP. At once only
-- those that start where the next one starts that is opened.
local all, late, lateUsers = merged['a:'], '', {}
for member, entry in pairs(merged) do
  if string.sub(member, 1, 1) == 'u' then
    local list, first = base .. member, text(entry.notBefore + 1)
    local newest = redis.call('ZREVRANGE', list, 0, 0, 'WITHSCORES')[2]
    if newest and tonumber(newest) > entry.notBefore + 1 then
      for _, value in ipairs({ string.sub(member, 3), first, newest }) do lateUsers[#lateUsers + 1] = value end
    end
    local after = redis.call('ZRANGEBYSCORE', list, '(' .. text(entry.notBefore), first)
    local entries, users = revocable(after, function(_, sid) return not merged['s:' .. sid] end)
    for _, found in ipairs(entries) do raise(found) end
    for sid, user in pairs(users) do removed[sid] = user end
  end
end
local isSwept = all and mayStartLater(all.notBefore)
-- A change of its own, by which sessions from before it are told from those after it.
if isSwept then raise(all) end

-- An empty batch tests whether the server accepts writes: this write changes nothing, but a full server refuses it.
if #ARGV == 3 then redis.call('HSETNX', meta, 'epoch', epoch) end
local refused = write(raised, ARGV[3], removed)
if refused then return refused end
if isSwept then late = beginSweep(all.notBefore) end
local reply = answer(text(taken), late)
for _, value in ipairs(lateUsers) do reply[#reply + 1] = value end
return reply
`,
)

/** Merges the entries that a replica still knows, unchanged. ARGV as for REVOKE. */
export const RESTORE: Script = createScript(
  BEGIN,
  `
local raised, removed = {}, {}
for _, entry in ipairs(readGiven()) do
  -- The log may be all that is lost: nobody who follows it learns of an entry that is not there.
  if raises(entry) or not redis.call('ZSCORE', log, toRow(entry.member, entry.knownBefore, entry.knownEnds)) then
    entry.notBefore, entry.ends = math.max(entry.notBefore, entry.knownBefore), math.max(entry.ends, entry.knownEnds)
    raised[#raised + 1] = entry
  end
  local sid = string.match(entry.member, '^s:(.*)')
  local row = sid and session(sid)
  if row then removed[sid] = row[1] end
end
return write(raised, ARGV[3], removed) or answer()
`,
)

/** Writes entries of kind `token` if the first one is new, and returns '1' in that case. ARGV as for REVOKE. */
export const CLAIM: Script = createScript(
  BEGIN,
  `
local entries = readGiven()
local isFirst = #entries > 0 and not entries[1].isKnown
for _, entry in ipairs(entries) do
  entry.notBefore, entry.ends = math.max(entry.notBefore, entry.knownBefore), math.max(entry.ends, entry.knownEnds)
end
return write(isFirst and entries or {}, ARGV[3], {}) or answer(isFirst and '1' or '0')
`,
)

/** How many keys of the server one script looks at, about. */
const SWEEP_STEPS = 1000

/**
 * Revokes sessions that started later than a watermark of all reaches, one by one: they were opened while the clock was
 * far ahead. This is too rare to index all sessions for, so it scans the keys of the server in parts. A cursor is invalid
 * on another server, and on the same one after a restart.
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
local refused = write(entries, ARGV[3], users)
if refused then return refused end
if found[1] == '0' and state[8] == late then redis.call('HDEL', meta, 'late', 'lost') end
return answer(found[1], server)
`,
)
