import { createNonce, systemRandom } from '../../tokens/ids.js'
import {
  type PresentedToken,
  type Rotation,
  type RotationRules,
  toCoarseMs,
  toPresentation,
} from '../../revocation/rotation.js'
import {
  assertSessionLimit,
  type FoundSession,
  type LimitedOpening,
  type NewSession,
  type SessionStore,
  type StoredSession,
} from '../../revocation/session-store.js'
import { listLive } from '../store-parts.js'
import type { Reply, Script } from './client.js'
import type { Namespace } from './namespace.js'
import { OPEN, OPEN_LIMITED } from './opening-scripts.js'
import { GET, LIST, PRESENT, ROTATE, WRITE_DATA } from './session-scripts.js'

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
    return namespace.run(script, names, [createNonce(systemRandom), sid, id, parent, numbers, ...rest])
  }
  return {
    async open(session) {
      const [sid, startedAt] = await namespace.run(OPEN, namesOf(session.user), ['', ...toArguments(session)])
      return { sid: String(sid), startedAt: Number(startedAt) }
    },
    async openLimited(session, limit) {
      assertSessionLimit(limit)
      const { max, whenFull, idleMs } = limit
      const args = [...toArguments(session), String(max), whenFull, String(idleMs)]
      const reply = await namespace.write(OPEN_LIMITED, namesOf(session.user), args)
      return toOpening(reply.slice(4))
    },
    async rotate(sid, token, options) {
      const client = [mark(options.ip), mark(options.userAgent)]
      return toRotation(await present(ROTATE, sid, token, options, client))
    },
    async present(sid, token, rules) {
      const reply = await present(PRESENT, sid, token, rules, [])
      return reply[0] === 'current' ? { outcome: 'current' } : toPresentation(toRotation(reply))
    },
    list: (user, options) =>
      listLive(options, async (from, size, idleMs) => {
        const args = [String(from?.startedAt ?? ''), from?.sid ?? '', String(size), String(idleMs)]
        const [start, sid, ...found] = await namespace.run(LIST, namesOf(user), [user, ...args])
        return {
          live: found.map((reply) => toSession(reply as readonly Reply[])),
          next: sid === '' ? null : { startedAt: Number(start), sid: String(sid) },
        }
      }),
    async get(sid, { idleMs }) {
      const reply = await namespace.run(GET, [`s:${sid}`, `r:s:${sid}`], [sid, String(idleMs)])
      return reply.length === 0 ? null : toFound(reply)
    },
    async writeData(sid, data, before) {
      const [answer] = await namespace.run(
        WRITE_DATA,
        [`s:${sid}`, `r:s:${sid}`],
        [sid, mark(data), mark(before)],
      )
      return answer === 'written'
    },
  }
}

function namesOf(user: string): string[] {
  return [`u:${user}`, `r:u:${user}`, 'r:a:']
}

/** An argument of a command is never null, and an empty text is not the same as none. */
function mark(value: string | null): string {
  return value === null ? '' : `=${value}`
}

function toArguments({ user, nonce, expiresAt, until, ip, userAgent, data = null }: NewSession): string[] {
  return [user, nonce, String(expiresAt), String(until), mark(ip), mark(userAgent), mark(data)]
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
  const [sid, user, startedAt, lastUsedAt, expiresAt, generation, ip, userAgent, data] = reply as Texts
  return {
    sid: String(sid),
    user: String(user),
    startedAt: Number(startedAt),
    lastUsedAt: Number(lastUsedAt),
    expiresAt: Number(expiresAt),
    generation: Number(generation),
    ip: ip ?? null,
    userAgent: userAgent ?? null,
    data: data ?? null,
  }
}

function toFound(reply: readonly Reply[]): FoundSession {
  const [current, previous, movedAt] = reply.slice(9) as Texts
  return {
    ...toSession(reply),
    current: String(current),
    previous: previous ?? null,
    movedAt: Number(movedAt),
  }
}
