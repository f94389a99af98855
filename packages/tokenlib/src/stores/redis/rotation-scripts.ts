import { createScript, type Script } from './client.js'
import { BEGIN } from './lua.js'
import { UNMARK } from './open-scripts.js'

/**
 * ARGV: the epoch, the time, a nonce, the sid, the id and the parent of the token, and five numbers in one string, because
 * each argument costs clients time: the token's generation and issuedAt, the grace, the idle limit, and how old
 * `lastUsedAt` may get.
 *
 * The rules are those of `decideRotation`. The code after this runs only for tokens that can be exchanged, with `outcome`
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
  append({ { member = 's:' .. sid, notBefore = FOREVER, ends = ends } }, ARGV[3])
  removeSession(sid, user)
  return { 'reused ' .. text(generation), ip, userAgent }
end
`

/**
 * ARGV: those of `DECIDE`, then the ip and the user agent.
 *
 * Returns the outcome, the time, and when and by which client the session had last advanced before this step.
 */
export const ROTATE: Script = createScript(
  BEGIN,
  UNMARK,
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

/** ARGV: those of `DECIDE`. */
export const PRESENT: Script = createScript(BEGIN, DECIDE, `return refusal() or { 'current' }`)
