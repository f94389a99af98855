import { isJsonObject } from '../json.js'
import type { BoundKey } from '../jws/algorithms.js'
import { isJwk, type Jwk, type JwsHeader, type KeyMaterial } from '../jws/jose.js'
import { parseJwkText } from '../jws/jwk.js'
import { withDeadline } from '../promises.js'
import type { IssuerKeys, KeySourceContext } from './issuer-keys.js'
import {
  bindKeySet,
  bindMaterial,
  listIds,
  type IssuerKeySet,
  type KeySetRules,
  notLookedFor,
  selectIssuerKeys,
} from './jwk-set.js'
import {
  createBackground,
  createKeyCache,
  type KeyCache,
  type KeyRuntime,
  type KeyTiming,
} from './key-cache.js'

/** The key for a header: one, several of which the `kid` selects, or `null` for none. */
export type KeyAnswer = Jwk | readonly Jwk[] | { readonly keys: readonly Jwk[] } | KeyMaterial | null

/** Finds the key of a token by its header, which is not verified yet, and the issuer it claims. */
export type KeyFunction = (header: JwsHeader, issuer: string) => KeyAnswer | Promise<KeyAnswer>

// How many headers are remembered, and how many keys one answer may have.
const MAX_ENTRIES = 100
const MAX_KEYS = 100
// How many calls for new headers there may be per cool-down: in all, and of those that find no key.
const MAX_CALLS = 100
const MAX_UNKNOWN_CALLS = 10

/** The keys that a function of the application finds; each answer is remembered for its algorithm and `kid`. */
export function createFunctionKeys(
  findKeys: KeyFunction,
  context: KeySourceContext,
  timing: KeyTiming,
  runtime: KeyRuntime,
): IssuerKeys {
  const { issuer, algorithms, emit } = context
  // The least recently used first. Those without a key are apart: they must not take the place of one that has.
  const entries = new Map<string, KeyCache>()
  const pending = new Map<string, KeyCache>()
  const owners = new WeakMap<BoundKey, string>()
  const limit = createCallLimit(timing.cooldownMs, runtime.now)

  const createEntry = (header: JwsHeader): KeyCache =>
    createKeyCache({
      issuer,
      timing,
      emit,
      runtime,
      load: async (previous) => {
        const answer = await withDeadline(
          Promise.resolve(findKeys(header, issuer)),
          timing.timeoutMs,
          () => new Error(`The key function did not answer within ${timing.timeoutMs} ms`),
        )
        return toKeySet(answer, header, { algorithms, previous })
      },
    })

  const isAccepted = ({ alg, kid }: JwsHeader): boolean =>
    algorithms.some((algorithm) => algorithm === alg) && kid !== ''

  const find = (header: JwsHeader): readonly BoundKey[] | null => {
    if (!isAccepted(header)) return []
    const id = toEntryId(header)
    const entry = entries.get(id)
    if (entry === undefined) return limit.isUnknown(id) ? [] : null
    setNewest(entries, id, entry, MAX_ENTRIES)
    const keys = entry.current()
    if (keys === null) return null
    const found = selectIssuerKeys(keys, header)
    for (const key of found) owners.set(key, id)
    if (found.length === 0) {
      entries.delete(id)
      limit.setUnknown(id)
    }
    return found
  }

  const load = async (header: JwsHeader, mustBeCertain = false): Promise<void> => {
    const known = find(header)
    if (known !== null && (known.length > 0 || !mustBeCertain || !isAccepted(header))) return
    // It was looked for within the cool-down, or too many others were.
    const id = toEntryId(header)
    const other = entries.get(id) ?? pending.get(id)
    if (known !== null || (other === undefined && limit.isReached())) throw notLookedFor(issuer)
    const entry = other ?? createEntry(header)
    const setFound = other === undefined ? limit.take() : null
    // Stays if the call fails: the next one has to wait for longer each time.
    if (other === undefined) setNewest(pending, id, entry, MAX_UNKNOWN_CALLS)
    const isCertain = await entry.load(true)
    pending.delete(id)
    if (selectIssuerKeys(entry.current() ?? [], header).length > 0) {
      setFound?.()
      return setNewest(entries, id, entry, MAX_ENTRIES)
    }
    entries.delete(id)
    limit.setUnknown(id)
    if (mustBeCertain && !isCertain) throw notLookedFor(issuer)
  }
  const background = createBackground(runtime)

  return {
    find,
    load,
    prepare: (header) => background.start(() => load(header)),
    idsOf: (kid) => [...entries.values()].flatMap((entry) => listIds(entry.last(), kid)),
    isTrusted(key) {
      const id = owners.get(key)
      const entry = id === undefined ? undefined : entries.get(id)
      if (id === undefined || entry?.isTrusted(key) !== true) return false
      setNewest(entries, id, entry, MAX_ENTRIES)
      return true
    },
    // There is nothing else to load before a token comes.
    ready: () => background.done(),
  }
}

function setNewest(entries: Map<string, KeyCache>, id: string, entry: KeyCache, max: number): void {
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

interface CallLimit {
  /** Whether no further header may be looked for within this cool-down. */
  isReached(): boolean
  /** Counts a call; the function that is returned says that the call has found a key. */
  take(): () => void
  /** Whether a header was looked for within this cool-down, and has no key. */
  isUnknown(id: string): boolean
  setUnknown(id: string): void
}

function createCallLimit(cooldownMs: number, now: () => number): CallLimit {
  let period = { endsAt: Number.NEGATIVE_INFINITY, calls: 0, found: 0, unknown: new Set<string>() }
  const readPeriod = (): typeof period => {
    const time = now()
    if (time >= period.endsAt) period = { endsAt: time + cooldownMs, calls: 0, found: 0, unknown: new Set() }
    return period
  }
  return {
    isReached() {
      const { calls, found } = readPeriod()
      return calls >= MAX_CALLS || calls - found >= MAX_UNKNOWN_CALLS
    },
    take() {
      const counted = readPeriod()
      counted.calls++
      return () => void counted.found++
    },
    isUnknown: (id) => readPeriod().unknown.has(id),
    setUnknown(id) {
      readPeriod().unknown.add(id)
    },
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

// The answer is for this header alone: a single key that does not name its algorithm is for that of the header, if that is
// one of the issuer's and fits.
function forHeader({ alg }: JwsHeader, rules: KeySetRules): KeySetRules {
  const first = rules.algorithms.filter((name) => name === alg)
  return { ...rules, algorithms: [...first, ...rules.algorithms.filter((name) => name !== alg)] }
}
