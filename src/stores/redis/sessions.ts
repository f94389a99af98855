import { createNonce, systemRandom } from '../../claims/ids.js'
import type { Rotation, SessionStore, StoredSession } from '../../revocation/session-store.js'
import type { Reply } from './client.js'
import type { Namespace } from './namespace.js'
import { LIST, OPEN, ROTATE } from './session-scripts.js'

const MOST_LISTED = 1000

/** Sessions in the keys of a namespace. */
export function createSessions(namespace: Namespace): SessionStore {
  return {
    async open({ user, nonce, expiresAt, until, ip, userAgent }) {
      const reply = await namespace.run(
        OPEN,
        [`u:${user}`, `r:u:${user}`, 'r:a:'],
        [user, nonce, String(expiresAt), String(until), mark(ip), mark(userAgent)],
      )
      return { sid: String(reply[0]), startedAt: Number(reply[1]) }
    },
    async rotate(sid, generation, { graceMs, idleMs, ip, userAgent }) {
      const reply = await namespace.run(
        ROTATE,
        ['log', 'past', 'marks', `s:${sid}`, `r:s:${sid}`],
        [
          createNonce(systemRandom),
          sid,
          ...[generation, graceMs, idleMs].map(String),
          mark(ip),
          mark(userAgent),
        ],
      )
      return toRotation(reply)
    },
    async list(user) {
      const names = [`u:${user}`, `r:u:${user}`, 'r:a:']
      const reply = await namespace.run(LIST, names, [user, String(MOST_LISTED)])
      return reply.map(toSession)
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

function toSession(reply: Reply): StoredSession {
  const [sid, startedAt, lastUsedAt, expiresAt, ip, userAgent] = reply as readonly (string | null)[]
  return {
    sid: String(sid),
    startedAt: Number(startedAt),
    lastUsedAt: Number(lastUsedAt),
    expiresAt: Number(expiresAt),
    ip: ip ?? null,
    userAgent: userAgent ?? null,
  }
}
