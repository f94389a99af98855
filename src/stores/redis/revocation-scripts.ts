import { MOST_AHEAD } from '../../revocation/revocation.js'
import { HEAD, SAME_EPOCH } from './lua.js'
import { createScript, type Script } from './script.js'

/** How many watermarks one script makes longer. */
const RAISE_STEPS = 1000

/**
 * Makes a namespace ready; after a loss of its data, everything from before is revoked.
 *
 * ARGV: the epoch that the caller knows or '', the time, the longest lifetime, a random text, KEYS[1] once more, the
 * count of batches that the caller has seen and the nonce of the last. A log without the epoch in it is not the log of
 * this namespace's history, and a history without that batch is an old copy, or one that went on from one.
 *
 * A longer lifetime makes the watermarks longer that are there, a part of them at a time: it counts once nothing is left.
 */
export const PREPARE: Script = createScript(
  HEAD,
  `
if KEYS[1] ~= ARGV[5] then return redis.error_reply('KEYPREFIX the client changes the names of keys') end
local isOldCopy = epoch == ARGV[1] and not isProven(tonumber(ARGV[6]), ARGV[7])
local isCounted = redis.call('GET', base .. 'count') == text(batches) .. ':' .. (state[5] or '')
local isSound = epoch and not isOldCopy and isCounted and isWhole()
local isKnown = ARGV[1] == '' or ARGV[1] == epoch
local isRaised = longest < tonumber(ARGV[3])
longest = math.max(longest, tonumber(ARGV[3]))
local short = redis.call('ZRANGEBYSCORE', marks, '-inf', '(' .. text(longest), 'LIMIT', 0, ${RAISE_STEPS})
local progress = #short < ${RAISE_STEPS} and 'end' or 'more'
if isSound and isKnown and not isRaised and #short == 0 then return refusal() or { epoch, text(batches), state[5] or '', progress } end
if not isSound then
  local newest = redis.call('ZREVRANGE', log, 0, 0, 'WITHSCORES')
  epoch, changes, batches = ARGV[4], math.max(changes, tonumber(newest[2]) or 0), 0
end
local isLost = ARGV[1] ~= '' and ARGV[1] ~= epoch
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
if isLost then
  local notBefore, ends = parse(all)
  raised[#raised + 1] = { member = 'a:', notBefore = math.max(notBefore, now, newestBelieved), ends = ends }
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
remove(marks, gone)
mark(same)
if #raised > 0 then append(raised, ARGV[4]) end
return { epoch, text(batches), state[5] or '', progress }
`,
)

/** ARGV: the epoch, the time, a nonce; then the member of the log, the notBefore and the until of each entry. */
export const REVOKE: Script = createScript(
  HEAD,
  SAME_EPOCH,
  `
local keys, known, merged, raised, taken = {}, {}, {}, {}, now
for at = 4, #ARGV, 3 do keys[#keys + 1] = base .. 'r:' .. ARGV[at] end
for at, value in ipairs(fetch(keys)) do known[keys[at]] = value end
for at = 4, #ARGV, 3 do
  local member, notBefore, ends = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  if isWatermark(member) then
    notBefore = math.max(math.min(notBefore, now + ${MOST_AHEAD}), now, newestBelieved)
    ends = math.max(ends, reach(notBefore))
    taken = math.max(taken, notBefore)
  elseif string.sub(member, 1, 1) == 's' then
    local row = session(string.sub(member, 3))
    ends = row and row[6] or math.max(ends, reach(now))
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
    if not entry.isRaised then raised[#raised + 1] = entry end
    entry.isRaised = true
  end
end
if #raised > 0 then
  append(raised, ARGV[3])
else
  local refused = refusal()
  if refused then return refused end
end
return { epoch, text(batches), state[5] or '', text(changes), text(taken) }
`,
)

/**
 * ARGV: the epoch, the time, the size of a page; then the epoch, the count of batches, the nonce and the count of
 * changes of a position, or four times '' for the start.
 *
 * A position proves by its nonce that it was made by this history, and not by one that a failover threw away.
 */
export const FEED: Script = createScript(
  HEAD,
  SAME_EPOCH,
  `
local refused = refusal()
if refused then return refused end
if not isWhole() then return false end
local nonce, after, size = state[5] or '', ARGV[7], tonumber(ARGV[3])
if ARGV[4] == '' then
  after = '0'
else
  local behind = batches - tonumber(ARGV[5])
  local proof = nonce
  if ARGV[5] == '0' then proof = '' elseif behind ~= 0 then proof = redis.call('LINDEX', past, -1 - behind) end
  if ARGV[4] ~= epoch or behind < 0 or proof ~= ARGV[6] then
    return { epoch, text(batches), nonce, '0', 'reset' }
  end
end
local members, keys = redis.call('ZRANGEBYSCORE', log, '(' .. after, '+inf', 'LIMIT', 0, size + 1), {}
for at = 1, math.min(#members, size) do keys[at] = base .. 'r:' .. members[at] end
local page = { epoch, text(batches), nonce, text(changes), #members > size and 'more' or 'end' }
if #members > size then page[4] = redis.call('ZSCORE', log, members[size]) end
for at, value in ipairs(fetch(keys)) do
  if value then
    page[#page + 1] = members[at]
    page[#page + 1] = value
  end
end
return page
`,
)

/** ARGV: the epoch, the time, the change to go on from, how many entries to look at, how many to drop. */
export const PRUNE: Script = createScript(
  HEAD,
  SAME_EPOCH,
  `
local gone, after = ended(ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]))
remove(log, gone)
remove(marks, gone)
return { text(#gone), after }
`,
)
