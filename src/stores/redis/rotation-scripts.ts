import { createScript, type Script } from './client.js'
import { BEGIN } from './lua.js'
import { UNMARK } from './open-scripts.js'

/**
 * ARGV: the epoch, the time, a nonce, the sid; the id, the parent, the generation and the issuedAt of the token; the
 * grace, the longest time unused.
 *
 * The rules are those of `decideRotation`. What comes after this is for tokens that can be refreshed: the outcome, and
 * where the session stands, which is the parent of a token that is further ahead than the session can be.
 */
const DECIDE = `
local sid, id, parent, presented, issuedAt = ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])
local row = session(sid)
if not row then return refusal() or { 'ended' } end
local user, generation, startedAt, lastUsedAt, expiresAt, ends, ip, userAgent, opened, current, previous, movedAt = unpack(row)
local isOver = now >= ends or now - math.max(lastUsedAt, issuedAt) > tonumber(ARGV[10])
if isOver or isRevoked(sid, user, startedAt) then return refusal() or { 'ended' } end

local function isWithinGrace(moment) return math.abs(now - moment) < tonumber(ARGV[9]) end
local isAhead = presented > generation + 1
if isAhead then generation, current, previous, movedAt = presented - 1, parent, false, 0 end
local outcome
if parent == current and not isWithinGrace(issuedAt) then
  outcome = 'advanced'
elseif id == current then
  outcome = 'repeated'
elseif parent == current then
  outcome = 'kept'
elseif (id == previous or parent == previous) and isWithinGrace(movedAt) then
  return refusal() or { 'superseded' }
else
  append({ { member = 's:' .. sid, notBefore = FOREVER, ends = ends } }, ARGV[3])
  removeSession(sid, user)
  return { 'reused', text(generation), ip, userAgent }
end
`

/**
 * ARGV: those of `DECIDE`, then how old a time of use may get, the ip and the user agent.
 *
 * Answers with the outcome, the time, and when and from where the session had moved on before this step.
 */
export const ROTATE: Script = createScript(
  BEGIN,
  UNMARK,
  DECIDE,
  `
if outcome == 'advanced' then
  generation, current, previous, movedAt = presented, id, parent, now
  ip, userAgent = unmark(ARGV[12], ip), unmark(ARGV[13], userAgent)
end
if outcome == 'advanced' or isAhead or now - lastUsedAt > tonumber(ARGV[11]) then
  redis.call('SET', base .. 's:' .. sid, cmsgpack.pack({ user, generation, startedAt, now, expiresAt, ends,
    ip, userAgent, opened, current, previous, movedAt }), 'KEEPTTL')
else
  local refused = refusal()
  if refused then return refused end
end
return { outcome, text(now), text(row[12]), text(expiresAt), row[7], row[8] }
`,
)

/** ARGV: those of `DECIDE`. */
export const PRESENT: Script = createScript(BEGIN, DECIDE, `return refusal() or { 'current' }`)
