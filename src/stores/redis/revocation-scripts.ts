import { HEAD, SAME_EPOCH } from './lua.js'
import { createScript, type Script } from './script.js'

/**
 * Makes a namespace ready; after a loss of its data, everything from before is revoked.
 *
 * ARGV: the epoch that the caller knows or '', the time, the longest lifetime, a random text, KEYS[1] once more, the
 * count of batches that the caller has seen. A log without the epoch in it is not the log of this namespace's history,
 * and a history that is shorter than it was is an old copy.
 */
export const PREPARE: Script = createScript(
  HEAD,
  `
if KEYS[1] ~= ARGV[5] then return redis.error_reply('KEYPREFIX the client changes the names of keys') end
local isOldCopy = epoch == ARGV[1] and batches < tonumber(ARGV[6])
local isSound = epoch and not isOldCopy and redis.call('ZSCORE', log, epoch)
local isKnown = ARGV[1] == '' or ARGV[1] == epoch
if isSound and isKnown and longest >= tonumber(ARGV[3]) then return refusal() or epoch end
longest = math.max(longest, tonumber(ARGV[3]))
if not isSound then
  local newest = redis.call('ZREVRANGE', log, 0, 0, 'WITHSCORES')
  epoch, changes, batches = ARGV[4], math.max(changes, tonumber(newest[2]) or 0), 0
end
local all = fetch({ base .. 'r:a:' })[1]
redis.call('HSET', meta, 'longest', text(longest))
if not isSound then
  redis.call('HSET', meta, 'epoch', epoch, 'changes', text(changes), 'batches', '0', 'nonce', '')
  redis.call('SET', base .. 'epoch', epoch)
  redis.call('SET', base .. 'count', '0')
  redis.call('DEL', past)
  redis.call('ZREMRANGEBYSCORE', log, 0, 0)
  redis.call('ZADD', log, 0, epoch)
end
if ARGV[1] ~= '' and ARGV[1] ~= epoch then
  local notBefore, ends = parse(all)
  notBefore = math.max(notBefore, now, newest)
  ends = math.max(ends, math.min(FOREVER, notBefore + longest))
  append({ { member = 'a:', notBefore = notBefore, ends = ends } }, ARGV[4])
end
return epoch
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
  local kind = string.sub(member, 1, 1)
  if kind == 'u' or kind == 'a' then
    notBefore = math.max(notBefore, now, newest)
    ends = math.max(ends, math.min(FOREVER, notBefore + longest))
    taken = math.max(taken, notBefore)
  elseif kind == 's' then
    local row = session(string.sub(member, 3))
    if row then ends = row[6] end
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
if not redis.call('ZSCORE', log, epoch) then return false end
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
return { text(#gone), after }
`,
)
