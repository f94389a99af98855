import { createNonce, systemRandom } from '../../claims/ids.js'
import { parseListOptions } from '../../revocation/store-rules.js'
import type {
  Presentation,
  Rotation,
  RotationOptions,
  SessionStore,
  StoredSession,
} from '../../revocation/store.js'
import type { Reply, Script } from './client.js'
import type { Namespace } from './namespace.js'
import { GET, LIST, OPEN, PRESENT, ROTATE } from './session-scripts.js'

/** How many sessions one script looks at, at most. */
const MAX_STEPS = 1000

/** Sessions in the keys of a namespace. */
export function createRedisSessions(namespace: Namespace): SessionStore {
  const present = (
    script: Script,
    sid: string,
    generation: number,
    { graceMs, idleMs }: Pick<RotationOptions, 'graceMs' | 'idleMs'>,
    rest: readonly string[],
  ): Promise<readonly Reply[]> => {
    const names = ['log', 'past', 'marks', `s:${sid}`, `r:s:${sid}`]
    const args = [createNonce(systemRandom), sid, ...[generation, graceMs, idleMs].map(String), ...rest]
    return namespace.run(script, names, args)
  }

  return {
    async open({ user, nonce, expiresAt, until, ip, userAgent }) {
      const reply = await namespace.run(
        OPEN,
        [`u:${user}`, `r:u:${user}`, 'r:a:'],
        [user, nonce, String(expiresAt), String(until), mark(ip), mark(userAgent)],
      )
      return { sid: String(reply[0]), startedAt: Number(reply[1]) }
    },
    async rotate(sid, generation, rules) {
      const client = [mark(rules.ip), mark(rules.userAgent)]
      return toRotation(await present(ROTATE, sid, generation, rules, client))
    },
    async present(sid, generation, rules) {
      return toPresentation(await present(PRESENT, sid, generation, rules, []))
    },
    async list(user, options) {
      const { limit, before, idleMs } = parseListOptions(options)
      const live: StoredSession[] = []
      let after = [String(before?.startedAt ?? ''), before?.sid ?? '']
      // A script looks at a bounded number of sessions, however many of them are idle.
      for (let size = limit; live.length < limit; size = Math.min(MAX_STEPS, 2 * size)) {
        const args = [user, ...after, String(size), String(idleMs)]
        const [start, sid, ...found] = await namespace.run(LIST, [`u:${user}`, `r:u:${user}`, 'r:a:'], args)
        live.push(...found.map((reply) => toSession(reply as readonly Reply[])))
        if (sid === '') break
        after = [String(start), String(sid)]
      }
      return live.slice(0, limit)
    },
    async get(sid, { idleMs }) {
      const reply = await namespace.run(GET, [`s:${sid}`, `r:s:${sid}`], [sid, String(idleMs)])
      return reply.length === 0 ? null : toSession(reply)
    },
  }
}

/** An argument of a command is never null, and an empty text is not the same as none. */
function mark(value: string | null): string {
  return value === null ? '' : `=${value}`
}

function toRotation([outcome, generation, expiresAt]: readonly Reply[]): Rotation {
  if (outcome === 'rotated' || outcome === 'replayed') {
    return { outcome, generation: Number(generation), expiresAt: Number(expiresAt) }
  }
  return outcome === 'reused' ? { outcome, generation: Number(generation) } : { outcome: 'ended' }
}

function toPresentation([outcome, generation]: readonly Reply[]): Presentation {
  if (outcome === 'current') return { outcome }
  return outcome === 'reused' ? { outcome, generation: Number(generation) } : { outcome: 'ended' }
}

function toSession(reply: readonly Reply[]): StoredSession {
  const [sid, user, startedAt, lastUsedAt, expiresAt, ip, userAgent] = reply as readonly (string | null)[]
  return {
    sid: String(sid),
    user: String(user),
    startedAt: Number(startedAt),
    lastUsedAt: Number(lastUsedAt),
    expiresAt: Number(expiresAt),
    ip: ip ?? null,
    userAgent: userAgent ?? null,
  }
}
