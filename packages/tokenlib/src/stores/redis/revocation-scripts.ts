import { MAX_WATERMARK_LEAD_MS } from '../../revocation/revocation.js'
import { createScript, type Script } from './client.js'
import { BEGIN, HEAD } from './lua.js'

/** The version of the keys and their values. Data without one, as this release makes it, has version 1. */
export const LAYOUT_VERSION = 1

/** How many watermarks one script makes longer. */
const RAISE_STEPS = 1000

/**
 * Makes a namespace ready; after a loss of its data, everything from before is revoked.
 *
 * ARGV: the epoch that the caller knows or '', the time, the longest lifetime, a random text, KEYS[1] once more, the
 * count of batches that the caller has seen and the nonce of the last, and '1' where the caller restores what is lost,
 * so that nothing else is revoked. A log without the epoch in it is not the log of this namespace's history, and a
 * history without that batch is an old copy, or one that went on from one.
 *
 * A longer lifetime makes the watermarks longer that are there, a part of them at a time: it counts once nothing is left.
 *
 * A loss is kept in 'lost' until the walk of SWEEP has ended: where it was cut short, the next process goes on with it.
 *
 * Answers with the epoch, the count of batches, the last nonce, 'more' or 'end'; after a loss with the moment that
 * everything is revoked up to, else ''; and what SWEEP has to go by, or '' where it has nothing to do.
 */
export const PREPARE: Script = createScript(
  HEAD,
  `
if KEYS[1] ~= ARGV[5] then return redis.error_reply('KEYPREFIX the client changes the names of keys') end
-- A later release may write the version of its data.
local version = redis.call('HMGET', meta, 'version')[1]
if tonumber(version or ${LAYOUT_VERSION}) > ${LAYOUT_VERSION} then return redis.error_reply('LAYOUT ' .. version) end
local isOldCopy = epoch == ARGV[1] and not isProven(tonumber(ARGV[6]), ARGV[7])
local isCounted = redis.call('GET', base .. 'count') == text(batches) .. ':' .. (state[5] or '')
local isSound = epoch and not isOldCopy and isCounted and isWhole()
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
if isSound and isKnown and not lost and not isRaised and #short == 0 then return refusal() or { epoch, text(batches), state[5] or '', progress, '', '' } end
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
    raised[#raised + 1] = { member = member, notBefore = notBefore, ends = ends }
  end
end
local revokedBefore, late = '', ''
if isLost then
  local notBefore, ends = parse(all)
  notBefore = math.max(notBefore, now, newestBelieved)
  revokedBefore = text(notBefore)
  raised[#raised + 1] = { member = 'a:', notBefore = notBefore, ends = ends }
end
redis.call('HSET', meta, 'longest', text(longest))
if not isSound then
  redis.call('HSET', meta, 'epoch', epoch, 'changes', text(changes), 'batches', '0', 'nonce', '')
  redis.call('SET', base .. 'epoch', epoch)
  redis.call('SET', base .. 'count', '0:')
  state[5] = ''
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
return { epoch, text(batches), state[5] or '', progress, revokedBefore, late }
`,
)

/**
 * ARGV: the epoch, the time, a nonce; then the member of the log, the notBefore and the until of each entry.
 *
 * Answers with the position, the moment it was taken, and what SWEEP has to go by, or '' where it has nothing to do; then
 * three texts for each user whose sessions LATE has to go on with.
 */
export const REVOKE: Script = createScript(
  BEGIN,
  `
local keys, known, merged, raised, taken, removed = {}, {}, {}, {}, now, {}
local function raise(entry)
  if not entry.isRaised then raised[#raised + 1] = entry end
  entry.isRaised = true
end
for at = 4, #ARGV, 3 do keys[#keys + 1] = base .. 'r:' .. ARGV[at] end
for at, value in ipairs(fetch(keys)) do known[keys[at]] = value end
for at = 4, #ARGV, 3 do
  local member, notBefore, ends = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  if isWatermark(member) then
    notBefore = math.max(math.min(notBefore, now + ${MAX_WATERMARK_LEAD_MS}), now, newestBelieved)
    ends = math.max(ends, reach(notBefore))
    taken = math.max(taken, notBefore)
  elseif string.sub(member, 1, 1) == 's' then
    local sid = string.sub(member, 3)
    local row = session(sid)
    ends = row and keptUntil(row[6]) or math.max(ends, reach(now))
    if row then removed[sid] = row[1] end
  end
  local entry = merged[member]
  if not entry then
    local value = known[base .. 'r:' .. member]
    entry = { member = member, isNew = not value }
    entry.notBefore, entry.ends = parse(value)
    merged[member] = entry
  end
  if entry.isNew or notBefore > entry.notBefore or ends > entry.ends then
    entry.notBefore, entry.ends = math.max(notBefore, entry.notBefore), math.max(ends, entry.ends)
    entry.isNew = false
    raise(entry)
  end
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

if #raised > 0 then
  append(raised, ARGV[3])
elseif #ARGV == 3 then
  -- A batch of nothing asks whether the server takes writes: this one changes nothing, and a full server refuses it too.
  redis.call('HSETNX', meta, 'epoch', epoch)
else
  local refused = refusal()
  if refused then return refused end
end
for sid, user in pairs(removed) do removeSession(sid, user) end
if isSwept then late = beginSweep(all.notBefore) end
local reply = { epoch, text(batches), state[5] or '', text(changes), text(taken), late }
for _, value in ipairs(lateUsers) do reply[#reply + 1] = value end
return reply
`,
)

/**
 * Merges entries as they are: what a replica still knows. ARGV as for REVOKE.
 *
 * Answers with the position.
 */
export const RESTORE: Script = createScript(
  BEGIN,
  `
local keys, raised, removed = {}, {}, {}
for at = 4, #ARGV, 3 do keys[#keys + 1] = base .. 'r:' .. ARGV[at] end
for at, value in ipairs(fetch(keys)) do
  local member, notBefore, ends = ARGV[1 + 3 * at], tonumber(ARGV[2 + 3 * at]), tonumber(ARGV[3 + 3 * at])
  local knownBefore, knownEnds = parse(value)
  -- The log may be all that is lost: nobody who follows it learns of an entry that is not there.
  if notBefore > knownBefore or ends > knownEnds or not redis.call('ZSCORE', log, member) then
    raised[#raised + 1] = {
      member = member,
      notBefore = math.max(notBefore, knownBefore),
      ends = math.max(ends, knownEnds),
    }
  end
  if string.sub(member, 1, 1) == 's' then
    local sid = string.sub(member, 3)
    local row = session(sid)
    if row then removed[sid] = row[1] end
  end
end
if #raised > 0 then
  append(raised, ARGV[3])
else
  local refused = refusal()
  if refused then return refused end
end
for sid, user in pairs(removed) do removeSession(sid, user) end
return { epoch, text(batches), state[5] or '', text(changes) }
`,
)

/**
 * Takes entries of tokens if the first of them is not there. ARGV as for REVOKE.
 *
 * Answers with the position, and '1' where it took them.
 */
export const CLAIM: Script = createScript(
  BEGIN,
  `
local keys, entries = {}, {}
for at = 4, #ARGV, 3 do keys[#keys + 1] = base .. 'r:' .. ARGV[at] end
local found = fetch(keys)
local isFirst = #keys > 0 and not found[1]
if isFirst then
  for at = 1, #keys do
    local knownBefore, knownEnds = parse(found[at])
    entries[at] = {
      member = ARGV[1 + 3 * at],
      notBefore = math.max(tonumber(ARGV[2 + 3 * at]), knownBefore),
      ends = math.max(tonumber(ARGV[3 + 3 * at]), knownEnds),
    }
  end
  append(entries, ARGV[3])
else
  local refused = refusal()
  if refused then return refused end
end
return { epoch, text(batches), state[5] or '', text(changes), isFirst and '1' or '0' }
`,
)
