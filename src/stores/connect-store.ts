import { readTokenStart } from '../claims/ids.js'
import type { RevocationUnavailableError } from '../errors.js'
import { isPromise } from '../promises.js'
import { readNote, writeNote } from '../request/notes.js'
import type { RevocableToken } from '../revocation/check.js'
import { addTime, FOREVER, type RevocationKey } from '../revocation/revocation.js'
import { isRevokedBy, revocationKeys } from '../revocation/revocation-keys.js'
import { createRevoker } from '../revocation/revoker.js'
import { createStoreGuard, type StoreGuard } from '../revocation/store-guard.js'
import { resolveRules } from '../sessions/connection-options.js'
import { createSessions } from '../sessions/sessions.js'
import { assertMethods, type ConnectStore } from '../sessions/token-store.js'
import { monotonicNow } from '../time.js'

/** The `connect` of every store: deadlines, revoking and sessions on top of what the store itself can do. */
export const connectStore: ConnectStore = (store, options) => {
  assertMethods(store, ['prepare', 'revoke', 'lookup', 'feed', 'prune', 'close'])
  if (store.sessions !== undefined) {
    assertMethods(store.sessions, ['open', 'rotate', 'present', 'list', 'get'], 'sessions.')
  }
  const rules = resolveRules(options)
  const { now, retentionMs } = rules
  const guard = createStoreGuard(store, rules)
  const revocation = {
    isRevoked(token: RevocableToken): boolean | Promise<boolean> {
      const { keys, start, lifetime } = toQuestion(token, retentionMs)
      const answers = guard.lookup(keys, lifetime)
      return isPromise(answers)
        ? answers.then((later) => isRevokedBy(later, start))
        : isRevokedBy(answers, start)
    },
    revoker: createRevoker(guard, rules),
  }
  return {
    ...revocation,
    sessions: store.sessions === undefined ? null : createSessions(guard, rules, revocation),
    ready: () => guard.ready(),
    async health() {
      const startedAt = monotonicNow()
      const error = await findFault(guard)
      return { status: error === null ? 'up' : 'down', responseTimeMs: monotonicNow() - startedAt, error }
    },
    expect: (expiresAt) =>
      guard.expect(expiresAt === null ? FOREVER : addTime(expiresAt * 1000 - now(), retentionMs)),
  }
}

// Any lookup will do: it shows that the server answers, and that it has the history that this process knows.
async function findFault(guard: StoreGuard): Promise<Error | null> {
  try {
    await guard.lookup([{ kind: 'all', id: '' }], 0)
    return null
  } catch (error) {
    const unavailable = error as RevocationUnavailableError
    return unavailable.cause instanceof Error ? unavailable.cause : unavailable
  }
}

/** What a store is asked about a token. */
interface Question {
  readonly keys: readonly RevocationKey[]
  /** When its session began; epoch milliseconds. */
  readonly start: number
  /** From its start to the last moment it can verify, in milliseconds. */
  readonly lifetime: number
  readonly retentionMs: number
}

// Worked out once, however often the same token comes.
function toQuestion(token: RevocableToken, retentionMs: number): Question {
  const known = readNote(token, toQuestion) as Question | undefined
  if (known?.retentionMs === retentionMs) return known
  const { payload, kids } = token
  const start = readTokenStart(payload)
  const isEndless = payload.exp === undefined || payload.iat === undefined
  const lifetime = isEndless ? FOREVER : addTime(payload.exp * 1000 - start, retentionMs)
  const question = { keys: revocationKeys(payload, kids), start, lifetime, retentionMs }
  writeNote(token, toQuestion, question)
  return question
}
