import { createScript, type Script } from './client.js'
import { BEGIN } from './lua.js'

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
