import type { Jwk, JwsHeader, KeyMaterial } from 'tokenlib/kit'
import {
  type BoundKey,
  isJsonObject,
  isJwk,
  type KeyLoader,
  parseJwkText,
  type SourceKeys,
  withDeadline,
} from 'tokenlib/kit'
import {
  bindKeySet,
  bindMaterial,
  listIds,
  type IssuerKeySet,
  type KeySetRules,
  notLookedFor,
  selectIssuerKeys,
} from './jwk-set.js'
import { createBackground, createKeyCache, type KeyCache, type KeyParts } from './key-cache.js'
import { createLookupBudget, type LookupBudget } from './lookup-budget.js'

/** The key for a header, several to select from by `kid`, or `null` if there is no key. */
export type KeyAnswer = Jwk | readonly Jwk[] | { readonly keys: readonly Jwk[] } | KeyMaterial | null

/** Finds the key of a token by its header, which is not verified yet, and the issuer it claims. */
export type KeyFunction = (header: JwsHeader, issuer: string) => KeyAnswer | Promise<KeyAnswer>

// How many headers are remembered, and how many keys one answer may have.
const MAX_ENTRIES = 100
const MAX_KEYS = 100
// How many calls for new headers requests may cause per cool-down: in all, and of those that find no key.
const MAX_CALLS = 100
const MAX_UNKNOWN_CALLS = 10
// How many calls there may be per second for callers that may not retry.
const MAX_CERTAIN_CALLS = 10
// How many headers with a key, and without one, are remembered.
const MAX_REMEMBERED = 1000

/** The keys that a function of the application finds; each answer is remembered for its algorithm and `kid`. */
export function createFunctionKeys(findKeys: KeyFunction, parts: KeyParts): SourceKeys {
  const { issuer, algorithms, timing, runtime } = parts
  // The least recently used first. Headers without a key are kept separately, so that they cannot displace the others.
  const entries = new Map<string, KeyCache>()
  const pending = new Map<string, KeyCache>()
  const owners = new WeakMap<BoundKey, string>()
  const { scheduler } = runtime
  const { monotonicNow: now } = scheduler
  const budgets = createBudgets(timing.cooldownMs, now)
  // Headers that had a key before are not guesses: strangers cannot block new lookups for them.
  const known = new Map<string, true>()
  const unknown = new Map<string, number>()
  const isUnknown = (id: string): boolean => now() - (unknown.get(id) ?? -Infinity) < timing.cooldownMs

  const createEntry = (header: JwsHeader): KeyCache =>
    createKeyCache({
      ...parts,
      load: async (previous) => {
        const answer = await withDeadline(
          scheduler,
          Promise.resolve(findKeys(header, issuer)),
          timing.timeoutMs,
          () => new Error(`The key function did not answer within ${timing.timeoutMs} ms`),
          true,
        )
        return toKeySet(answer, header, { algorithms, previous })
      },
    })

  const isAccepted = ({ alg, kid }: JwsHeader): boolean =>
    algorithms.some((algorithm) => algorithm === alg) && kid !== ''

  const find: SourceKeys['find'] = (header, isFinal = false) => {
    if (!isAccepted(header)) return []
    const id = toEntryId(header)
    const entry = entries.get(id)
    if (entry === undefined) return isFinal || isUnknown(id) ? [] : null
    setNewest(entries, id, entry, MAX_ENTRIES)
    const keys = entry.current()
    if (keys === null) return null
    const found = selectIssuerKeys(keys, header)
    for (const key of found) owners.set(key, id)
    if (found.length === 0) {
      entries.delete(id)
      setNewest(unknown, id, now(), MAX_REMEMBERED)
    }
    return found
  }

  // Takes a call for an unknown header from its budget. Returns what to do if the call finds a key.
  const takeCall = (id: string, mustBeCertain: boolean): (() => void) => {
    const { certain, all, guesses } = budgets
    const isGuess = !known.has(id)
    const isAllowed = mustBeCertain
      ? certain.take()
      : all.waitMs() === 0 && (!isGuess || guesses.take()) && all.take()
    if (!isAllowed) throw notLookedFor(issuer)
    return () => {
      setNewest(known, id, true, MAX_REMEMBERED)
      if (isGuess && !mustBeCertain) guesses.giveBack()
    }
  }

  const load: KeyLoader['load'] = async (header, mustBeCertain = false) => {
    const before = find(header)
    if (before !== null && (before.length > 0 || !mustBeCertain || !isAccepted(header))) return
    const id = toEntryId(header)
    const other = entries.get(id) ?? pending.get(id)
    const setFound = other === undefined ? takeCall(id, mustBeCertain) : null
    const entry = other ?? createEntry(header)
    // Stays if the call fails: the next one has to wait for longer each time.
    if (other === undefined) setNewest(pending, id, entry, MAX_UNKNOWN_CALLS)
    const isCertain = mustBeCertain ? await entry.loadAnew() : await entry.load().then(() => false)
    pending.delete(id)
    if (selectIssuerKeys(entry.current() ?? [], header).length > 0) {
      setFound?.()
      return setNewest(entries, id, entry, MAX_ENTRIES)
    }
    entries.delete(id)
    setNewest(unknown, id, now(), MAX_REMEMBERED)
    if (mustBeCertain && !isCertain) throw notLookedFor(issuer)
  }
  const background = createBackground(runtime)

  return {
    find,
    idsOf: (kid) => [...entries.values()].flatMap((entry) => listIds(entry.last(), kid)),
    isTrusted(key) {
      const id = owners.get(key)
      const entry = id === undefined ? undefined : entries.get(id)
      if (id === undefined || entry?.isTrusted(key) !== true) return false
      setNewest(entries, id, entry, MAX_ENTRIES)
      return true
    },
    loader: {
      load,
      prepare: (header) => background.start(() => load(header)),
      // There is nothing else to load before a token comes.
      ready: () => background.done(),
    },
  }
}

function setNewest<Value>(entries: Map<string, Value>, id: string, entry: Value, max: number): void {
  entries.delete(id)
  entries.set(id, entry)
  for (const oldest of entries.keys()) {
    if (entries.size <= max) return
    entries.delete(oldest)
  }
}

function toEntryId({ alg, kid }: JwsHeader): string {
  return JSON.stringify([alg, kid ?? null])
}

interface Budgets {
  /** Calls for callers that may not retry. */
  readonly certain: LookupBudget
  /** Calls for everybody else: all of them, and those that find no key. */
  readonly all: LookupBudget
  readonly guesses: LookupBudget
}

function createBudgets(cooldownMs: number, now: () => number): Budgets {
  return {
    certain: createLookupBudget(MAX_CERTAIN_CALLS, 1000, now),
    all: createLookupBudget(MAX_CALLS, cooldownMs, now),
    guesses: createLookupBudget(MAX_UNKNOWN_CALLS, cooldownMs, now),
  }
}

function toKeySet(answer: unknown, header: JwsHeader, rules: KeySetRules): IssuerKeySet | null {
  if (answer === null) return null
  const parsed = parseJwkText(answer)
  // A key without a `kid` is the one for the `kid` that was asked for.
  if (isJwk(parsed))
    return bindKeySet([{ ...parsed, kid: parsed.kid ?? header.kid }], forHeader(header, rules))
  const list = isJsonObject(parsed) && 'keys' in parsed ? parsed['keys'] : parsed
  if (Array.isArray(list)) {
    if (list.length > MAX_KEYS) throw new Error(`The key function returned more than ${MAX_KEYS} keys`)
    return list.length === 0 ? null : bindKeySet(list as readonly unknown[], rules)
  }
  if (typeof parsed === 'string' || (typeof parsed === 'object' && parsed !== null)) {
    return bindMaterial(parsed as KeyMaterial, header.kid ?? '', forHeader(header, rules))
  }
  throw new TypeError('The key function must return a key, a list of JWKs, a JWK set or null')
}

// The answer is for this header alone: a single key without `alg` uses the algorithm of the header, if the issuer allows it
// and the key fits.
function forHeader({ alg }: JwsHeader, rules: KeySetRules): KeySetRules {
  const first = rules.algorithms.filter((name) => name === alg)
  return { ...rules, algorithms: [...first, ...rules.algorithms.filter((name) => name !== alg)] }
}
