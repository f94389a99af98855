import { HEAD, SAME_EPOCH } from './lua.js'
import { createScript, type Script } from './script.js'

/** What is known of a client begins with '=', or is '' where nothing is. */
const UNMARK = `
local function unmark(given, known)
  if given == '' then return known end
  return string.sub(given, 2)
end
`

/**
 * ARGV: the epoch, the time, the user, the nonce, the expiresAt, the until, the ip, the user agent.
 *
 * Of the user's other sessions a few are looked at, by chance, so that the list forgets what has ended.
 */
export const OPEN: Script = createScript(
  HEAD,
  UNMARK,
  SAME_EPOCH,
  `
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

local list, row, kept = base .. 'u:' .. ARGV[3], base .. 's:' .. sid, lifetime(tonumber(ARGV[6]))
local left, count, gone = redis.call('PTTL', list), redis.call('ZCARD', list), {}
if count > 0 then
  local one, two, three = string.byte(sid, -3, -1)
  local from = (one * 65536 + two * 256 + three) % count
  for _, other in ipairs(redis.call('ZRANGE', list, from, from + 3)) do
    if not exists(base .. 's:' .. other) or exists(base .. 'r:s:' .. other) then gone[#gone + 1] = other end
  end
end

redis.call('SET', row, cmsgpack.pack({ ARGV[3], 0, startedAt, startedAt, tonumber(ARGV[5]), tonumber(ARGV[6]),
  unmark(ARGV[7], false), unmark(ARGV[8], false) }))
redis.call('HSET', meta, 'newest', text(math.max(newest, startedAt)))
redis.call('ZADD', list, text(startedAt), sid)
remove(list, gone)
if kept then
  redis.call('PEXPIRE', row, text(kept))
  if left ~= -1 and left < kept then redis.call('PEXPIRE', list, text(kept)) end
else
  redis.call('PERSIST', list)
end
return { sid, text(startedAt) }
`,
)

/**
 * ARGV: the epoch, the time, a nonce, the sid, the generation, the grace, the longest time unused, the ip, the user
 * agent. The rules are those of \`judgeRotation\`.
 */
export const ROTATE: Script = createScript(
  HEAD,
  UNMARK,
  SAME_EPOCH,
  `
local sid, presented = ARGV[4], tonumber(ARGV[5])
local row = session(sid)
if not row then return refusal() or { 'ended' } end
local user, generation, startedAt, lastUsedAt, expiresAt, ends = unpack(row)
local unused = now - lastUsedAt
local isOver = now >= ends or unused > tonumber(ARGV[7])
for _, member in ipairs({ 's:' .. sid, 'u:' .. user, 'a:' }) do
  if startedAt <= notBeforeOf(member) then isOver = true end
end
if isOver then return refusal() or { 'ended' } end

if presented >= generation then
  row[2], row[4], row[7], row[8] = presented + 1, now, unmark(ARGV[8], row[7]), unmark(ARGV[9], row[8])
  redis.call('SET', base .. 's:' .. sid, cmsgpack.pack(row), 'KEEPTTL')
  return { 'rotated', text(presented + 1), text(expiresAt) }
end
if presented == generation - 1 and math.abs(unused) < tonumber(ARGV[6]) then
  return refusal() or { 'replayed', text(generation), text(expiresAt) }
end
append({ { member = 's:' .. sid, notBefore = FOREVER, ends = ends } }, ARGV[3])
return { 'reused', text(generation) }
`,
)

/** ARGV: the epoch, the time, the user, how many at most. */
export const LIST: Script = createScript(
  HEAD,
  SAME_EPOCH,
  `
local refused = refusal()
if refused then return refused end
local list, most = base .. 'u:' .. ARGV[3], tonumber(ARGV[4])
local revokedBefore = math.max(notBeforeOf('u:' .. ARGV[3]), notBeforeOf('a:'))
local sessions, gone, from = {}, {}, 0
repeat
  local part = redis.call('ZREVRANGEBYSCORE', list, '+inf', '(' .. text(revokedBefore), 'LIMIT', from, most)
  for _, sid in ipairs(part) do
    local row = exists(base .. 's:' .. sid) and session(sid)
    if not row or exists(base .. 'r:s:' .. sid) then
      gone[#gone + 1] = sid
    elseif now < row[6] and #sessions < most then
      sessions[#sessions + 1] = { sid, text(row[3]), text(row[4]), text(row[5]), row[7], row[8] }
    end
  end
  from = from + most
until #part < most or #sessions >= most
remove(list, gone)
return sessions
`,
)
