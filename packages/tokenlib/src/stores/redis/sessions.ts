import { createNonce, systemRandom } from '../../tokens/ids.js'
import {
  type PresentedToken,
  type Rotation,
  type RotationRules,
  toCoarseMs,
  toPresentation,
} from '../../revocation/rotation.js'
import { assertSessionLimit, parseListOptions } from '../../revocation/store-rules.js'
import type {
  FoundSession,
  LimitedOpening,
  NewSession,
  SessionStore,
  StoredSession,
} from '../../revocation/session-store.js'
import { type Reply, type Script, createScript } from './client.js'
import type { Namespace } from './namespace.js'
import { BEGIN } from './lua.js'
import { LIVE, OPEN, OPEN_LIMITED } from './open-scripts.js'
import { PRESENT, ROTATE } from './rotation-scripts.js'

/** How many sessions one script looks at, at most. */
const MAX_STEPS = 1000

/** A script's reply without nested lists. */
type Texts = readonly (string | null)[]

/** Sessions in the keys of a namespace. */
export function createRedisSessions(namespace: Namespace): Required<SessionStore> {
  const present = (
    script: Script,
    sid: string,
    { id, parent, generation, issuedAt }: PresentedToken,
    rules: RotationRules,
    rest: readonly string[],
  ): Promise<readonly Reply[]> => {
    const names = ['log', 'past', 'marks', `s:${sid}`, `r:s:${sid}`]
    const numbers = `${generation} ${issuedAt} ${rules.graceMs} ${rules.idleMs} ${toCoarseMs(rules)}`
    const args = [createNonce(systemRandom), sid, id, parent, numbers, ...rest]
    return namespace.run(script, names, args)
  }
  const runForUser = (
    script: Script,
    user: string,
    args: readonly string[],
    names: readonly string[] = [],
  ): Promise<readonly Reply[]> =>
    namespace.run(script, [`u:${user}`, `r:u:${user}`, 'r:a:', ...names], [user, ...args])

  return {
    async open(session) {
      const [sid, startedAt] = await runForUser(OPEN, session.user, toArguments(session))
      return { sid: String(sid), startedAt: Number(startedAt) }
    },
    async openLimited(session, limit) {
      assertSessionLimit(limit)
      const { max, whenFull, idleMs } = limit
      const args = [...toArguments(session), createNonce(systemRandom), String(max), whenFull, String(idleMs)]
      const reply = await runForUser(OPEN_LIMITED, session.user, args, ['log', 'past', 'marks'])
      namespace.recordProgress(reply)
      return toOpening(reply.slice(3))
    },
    async rotate(sid, token, options) {
      const client = [mark(options.ip), mark(options.userAgent)]
      return toRotation(await present(ROTATE, sid, token, options, client))
    },
    async present(sid, token, rules) {
      const reply = await present(PRESENT, sid, token, rules, [])
      return reply[0] === 'current' ? { outcome: 'current' } : toPresentation(toRotation(reply))
    },
    async list(user, options) {
      const { limit, before, idleMs } = parseListOptions(options)
      const live: StoredSession[] = []
      let after = [String(before?.startedAt ?? ''), before?.sid ?? '']
      // A script looks at a bounded number of sessions, however many of them are idle.
      for (let size = limit; live.length < limit; size = Math.min(MAX_STEPS, 2 * size)) {
        const args = [...after, String(size), String(idleMs)]
        const [start, sid, ...found] = await runForUser(LIST, user, args)
        live.push(...found.map((reply) => toSession(reply as readonly Reply[])))
        if (sid === '') break
        after = [String(start), String(sid)]
      }
      return live.slice(0, limit)
    },
    async get(sid, { idleMs }) {
      const reply = await namespace.run(GET, [`s:${sid}`, `r:s:${sid}`], [sid, String(idleMs)])
      return reply.length === 0 ? null : toFound(reply)
    },
  }
}

/** An argument of a command is never null, and an empty text is not the same as none. */
function mark(value: string | null): string {
  return value === null ? '' : `=${value}`
}

function toArguments({ nonce, expiresAt, until, ip, userAgent }: NewSession): string[] {
  return [nonce, String(expiresAt), String(until), mark(ip), mark(userAgent)]
}

function toOpening([outcome, sid, startedAt, ...rest]: readonly Reply[]): LimitedOpening {
  const ended = rest.map(String)
  if (outcome === 'opened') return { outcome, sid: String(sid), startedAt: Number(startedAt), ended }
  return outcome === 'ending' ? { outcome, ended } : { outcome: 'full' }
}

function toRotation(reply: readonly Reply[]): Rotation {
  const [first, ip = null, userAgent = null] = reply as Texts
  const [outcome, ...numbers] = String(first).split(' ')
  const client = { ip, userAgent }
  if (outcome === 'repeated' || outcome === 'kept' || outcome === 'advanced') {
    const [now = 0, movedAt = 0, expiresAt = 0] = numbers.map(Number)
    return { outcome, now, movedAt, expiresAt, client }
  }
  if (outcome === 'reused') return { outcome, generation: Number(numbers[0]), client }
  return { outcome: outcome === 'superseded' ? outcome : 'ended' }
}

function toSession(reply: readonly Reply[]): StoredSession {
  const [sid, user, startedAt, lastUsedAt, expiresAt, generation, ip, userAgent] = reply as Texts
  return {
    sid: String(sid),
    user: String(user),
    startedAt: Number(startedAt),
    lastUsedAt: Number(lastUsedAt),
    expiresAt: Number(expiresAt),
    generation: Number(generation),
    ip: ip ?? null,
    userAgent: userAgent ?? null,
  }
}

function toFound(reply: readonly Reply[]): FoundSession {
  const [current, previous, movedAt] = reply.slice(8) as Texts
  return {
    ...toSession(reply),
    current: String(current),
    previous: previous ?? null,
    movedAt: Number(movedAt),
  }
}

const REPLY = `
local function toReply(sid, row)
  return { sid, row[1], text(row[3]), text(row[4]), text(row[5]), text(row[2]), row[7], row[8] }
end
`

/** ARGV: the epoch, the time, the sid, the longest time unused. */
export const GET: Script = createScript(
  BEGIN,
  LIVE,
  REPLY,
  `
local refused = refusal()
if refused then return refused end
local sid = ARGV[3]
local row = session(sid)
if not row or not isLive(row, tonumber(ARGV[4])) then return {} end
if isRevoked(sid, row[1], row[3]) then return {} end
local reply = toReply(sid, row)
reply[9], reply[10], reply[11] = row[10], row[11], text(row[12])
return reply
`,
)

/**
 * ARGV: the epoch, the time, the user, the start and the sid to go on after, or twice '', how many sessions to look at,
 * the longest time unused.
 *
 * Answers with the start and the sid to go on after, or twice '' at the end, and those of the sessions that are live.
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

local revokedBefore = math.max(notBeforeOf('u:' .. ARGV[3]), notBeforeOf('a:'))
local from = ARGV[5] == '' and 0 or countUpTo(ARGV[4], ARGV[5])
local part = redis.call('ZREVRANGE', list, from, from + size - 1, 'WITHSCORES')
local sids, rows, entries, gone = {}, {}, {}, {}
for at = 1, #part, 2 do
  if tonumber(part[at + 1]) <= revokedBefore then break end
  sids[#sids + 1] = part[at]
  rows[#rows + 1] = base .. 's:' .. part[at]
  entries[#entries + 1] = base .. 'r:s:' .. part[at]
end
rows, entries = fetch(rows), fetch(entries)
local reply = { '', '' }
if #sids == size then reply = { part[2 * size], sids[size] } end
for at, sid in ipairs(sids) do
  local row = rows[at] and not entries[at] and cmsgpack.unpack(rows[at])
  if not row then
    gone[#gone + 1] = sid
  elseif isLive(row, idle) then
    reply[#reply + 1] = toReply(sid, row)
  end
end
callInParts('ZREM', list, gone)
return reply
`,
)
