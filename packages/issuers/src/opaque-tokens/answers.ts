import { createHash } from 'node:crypto'
import { KeysUnavailableError, TokenDecodeError } from 'tokenlib/errors'
import type { OpaqueTokens, OpenedToken, SourceContext } from 'tokenlib/kit'
import { createLookupBudget, type LookupBudget } from '../keys/lookup-budget.js'
import type { Answer } from './endpoint.js'

/** How answers are asked for and kept. */
export interface AnswerRules {
  readonly issuer: string
  /** How long an active token is not asked about again, in milliseconds. */
  readonly cacheMs: number
  readonly maxCached: number
  /** How many tokens may turn out not to be active, per `PERIOD_MS`. */
  readonly maxUnknown: number
  readonly ask: (token: string) => Promise<Answer>
  /** Turns an answer about an active token into a payload, or throws `TokenDecodeError`. */
  readonly open: (claims: Readonly<Record<string, unknown>>) => OpenedToken
  /** Whether what a request has started ends with it. */
  readonly isWorkerd: boolean
}

/** Within which `maxUnknown` look-ups may find no active token. */
export const PERIOD_MS = 10_000
/** How long a token that is not active is not asked about again. */
export const REFUSED_MS = 10_000
const MAX_REFUSED = 1000
// How many requests to an endpoint wait for their answers at the same time.
const MAX_PENDING = 500
// How many look-ups per second may find no active token, for callers that may not retry.
const MAX_CERTAIN = 10

interface Kept {
  /** When the request was sent: what the answer says was true then. By a clock that cannot be set back. */
  readonly askedAt: number
  readonly claims: Readonly<Record<string, unknown>>
  /** `null` until the claims have been opened. */
  opened: OpenedToken | null
}

/**
 * The answers of an issuer about its tokens. Tokens are kept as their digests.
 *
 * Tokens that were active before do not count towards the look-ups that strangers may cause.
 */
export function createAnswers(
  rules: AnswerRules,
  { emit, scheduler, now: clock }: Pick<SourceContext, 'emit' | 'scheduler' | 'now'>,
): OpaqueTokens {
  const { issuer, cacheMs, maxCached } = rules
  const { monotonicNow: now } = scheduler
  // The least recently used first, in each map.
  const kept = new Map<string, Kept>()
  const known = new Map<string, true>()
  const refused = new Map<string, number>()
  const pending = new Map<string, Promise<Kept | null>>()
  let waiting = 0
  const guesses = createLookupBudget(rules.maxUnknown, PERIOD_MS, now)
  const certain = createLookupBudget(MAX_CERTAIN, 1000, now)

  const recallEntry = (id: string): Kept | null => {
    const refusedAt = refused.get(id)
    if (refusedAt !== undefined && now() - refusedAt < REFUSED_MS) throw notActive()
    const entry = kept.get(id)
    if (entry === undefined) return null
    if (now() - entry.askedAt >= cacheMs || isOver(entry.claims, clock())) {
      kept.delete(id)
      return null
    }
    setNewest(kept, id, entry, maxCached)
    return entry
  }

  const open = (entry: Kept): OpenedToken => (entry.opened ??= rules.open(entry.claims))

  const keep = (id: string, askedAt: number, answer: Answer): Kept | null => {
    kept.delete(id)
    if (answer === null) {
      known.delete(id)
      setNewest(refused, id, now(), MAX_REFUSED)
      return null
    }
    refused.delete(id)
    setNewest(known, id, true, maxCached)
    const entry = { askedAt, claims: answer, opened: null }
    if (cacheMs > 0) setNewest(kept, id, entry, maxCached)
    return entry
  }

  const ask = async (id: string, token: string, budget: LookupBudget | null): Promise<Kept | null> => {
    const askedAt = now()
    waiting++
    try {
      const entry = keep(id, askedAt, await rules.ask(token))
      if (entry !== null) budget?.giveBack()
      return entry
    } catch (cause) {
      emit('keysFailed', () => ({ issuer, cause }))
      throw cause
    } finally {
      waiting--
      pending.delete(id)
    }
  }

  // Starts a look-up within its budget.
  const start = (id: string, token: string, mustBeCertain: boolean): Promise<Kept | null> => {
    const budget = known.has(id) ? null : mustBeCertain ? certain : guesses
    if (waiting >= MAX_PENDING || budget?.take() === false) {
      throw unavailable(issuer, new Error('Too many tokens have to be looked up at this moment'))
    }
    const asked = ask(id, token, budget)
    // In a Worker, a request must not wait for what another one has started.
    if (!rules.isWorkerd) pending.set(id, asked)
    return asked
  }

  return {
    recall(token) {
      const entry = recallEntry(toId(token))
      return entry && open(entry)
    },
    async load(token, mustBeCertain = false) {
      const id = toId(token)
      const entry =
        recallEntry(id) ?? (await settle(pending.get(id) ?? start(id, token, mustBeCertain), issuer))
      if (entry === null) throw notActive()
      return open(entry)
    },
  }
}

// Neither the cache nor a heap dump has the tokens themselves.
function toId(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}

// An answer is not kept beyond the life of its token, whatever the leeway.
function isOver({ exp }: Readonly<Record<string, unknown>>, now: number): boolean {
  return typeof exp !== 'number' || now >= exp * 1000
}

function setNewest<Value>(entries: Map<string, Value>, id: string, entry: Value, max: number): void {
  entries.delete(id)
  entries.set(id, entry)
  for (const oldest of entries.keys()) {
    if (entries.size <= max) return
    entries.delete(oldest)
  }
}

async function settle<Value>(asked: Promise<Value>, issuer: string): Promise<Value> {
  try {
    return await asked
  } catch (cause) {
    throw unavailable(issuer, cause)
  }
}

// A new error each time, also for those that wait for one answer: dependencies add what they know to it.
function notActive(): TokenDecodeError {
  return new TokenDecodeError('Token is not active')
}

function unavailable(issuer: string, cause: unknown): KeysUnavailableError {
  return new KeysUnavailableError(cause, 'Introspection unavailable', issuer)
}
