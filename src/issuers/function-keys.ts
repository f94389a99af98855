import { isJsonObject } from '../json.js'
import type { BoundKey } from '../jws/algorithms.js'
import { isJwk, type Jwk, type JwsHeader, type KeyMaterial } from '../jws/jose.js'
import { parseJwkText } from '../jws/jwk.js'
import { withDeadline } from '../promises.js'
import type { IssuerKeys, KeySourceContext } from './issuer-keys.js'
import {
  bindKeySet,
  bindMaterial,
  type IssuerKeySet,
  type KeySetRules,
  notLookedFor,
  selectIssuerKeys,
} from './jwk-set.js'
import { createKeyCache, type KeyCache, type KeyRuntime, type KeyTiming } from './key-cache.js'

/** The key for a header: one, several of which the `kid` selects, or `null` for none. */
export type KeyAnswer = Jwk | readonly Jwk[] | { readonly keys: readonly Jwk[] } | KeyMaterial | null

/** Finds the key of a token by its header, which is not verified yet, and the issuer it claims. */
export type KeyFunction = (header: JwsHeader, issuer: string) => KeyAnswer | Promise<KeyAnswer>

// How many headers are remembered, and how many keys one answer may have.
const MAX_ENTRIES = 100
const MAX_KEYS = 100
// How many calls per cool-down may be for headers without a key.
const MAX_UNKNOWN_CALLS = 10

/** The keys that a function of the application finds; each answer is remembered for its algorithm and `kid`. */
export function createFunctionKeys(
  findKeys: KeyFunction,
  context: KeySourceContext,
  timing: KeyTiming,
  runtime: KeyRuntime,
): IssuerKeys {
  const { issuer, algorithms, emit } = context
  // The least recently used first.
  const entries = new Map<string, KeyCache>()
  const owners = new WeakMap<BoundKey, string>()
  const unknown = createUnknownLimit(timing.cooldownMs, runtime.now)

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
    if (entry === undefined) return unknown.isRefused(id) ? [] : null
    // Now the most recently used.
    entries.delete(id)
    entries.set(id, entry)
    const keys = entry.current()
    if (keys === null) return null
    const found = selectIssuerKeys(keys, header)
    for (const key of found) owners.set(key, id)
    return found
  }

  return {
    find,
    async load(header, mustBeCertain = false) {
      const known = find(header)
      if (known !== null) {
        if (mustBeCertain && known.length === 0 && isAccepted(header)) throw notLookedFor()
        return
      }
      const id = toEntryId(header)
      let entry = entries.get(id)
      if (entry !== undefined) return void (await entry.load(true))
      entry = createEntry(header)
      entries.set(id, entry)
      for (const oldest of entries.keys()) {
        if (entries.size <= MAX_ENTRIES) break
        entries.delete(oldest)
      }
      const giveBack = unknown.take()
      await entry.load(true)
      if (selectIssuerKeys(entry.current() ?? [], header).length > 0) return giveBack()
      entries.delete(id)
      unknown.add(id)
    },
    isTrusted(key) {
      const id = owners.get(key)
      return id !== undefined && entries.get(id)?.isTrusted(key) === true
    },
    // There is nothing to load before a token comes.
    async ready() {},
  }
}

function toEntryId({ alg, kid }: JwsHeader): string {
  return JSON.stringify([alg, kid ?? null])
}

interface UnknownLimit {
  /** Whether a header is known to have no key, or may not be looked for within this cool-down. */
  isRefused(id: string): boolean
  /** Counts a call; the function that is returned takes that back, once the call has found a key. */
  take(): () => void
  /** Remembers a header without a key until the cool-down ends. */
  add(id: string): void
}

function createUnknownLimit(cooldownMs: number, now: () => number): UnknownLimit {
  let period = { endsAt: Number.NEGATIVE_INFINITY, calls: 0, ids: new Set<string>() }
  const readPeriod = (): typeof period => {
    const time = now()
    if (time >= period.endsAt) period = { endsAt: time + cooldownMs, calls: 0, ids: new Set() }
    return period
  }
  return {
    isRefused(id) {
      const { calls, ids } = readPeriod()
      return ids.has(id) || calls >= MAX_UNKNOWN_CALLS
    },
    take() {
      const counted = readPeriod()
      counted.calls++
      return () => void counted.calls--
    },
    add(id) {
      readPeriod().ids.add(id)
    },
  }
}

function toKeySet(answer: unknown, header: JwsHeader, rules: KeySetRules): IssuerKeySet | null {
  if (answer === null) return null
  const parsed = parseJwkText(answer)
  // A key without a `kid` is the one for the `kid` that was asked for.
  if (isJwk(parsed)) return bindKeySet([{ ...parsed, kid: parsed.kid ?? header.kid }], rules)
  const list = isJsonObject(parsed) && 'keys' in parsed ? parsed['keys'] : parsed
  if (Array.isArray(list)) {
    if (list.length > MAX_KEYS) throw new Error(`The key function returned more than ${MAX_KEYS} keys`)
    return list.length === 0 ? null : bindKeySet(list as readonly unknown[], rules)
  }
  if (typeof parsed === 'string' || (typeof parsed === 'object' && parsed !== null)) {
    return bindMaterial(parsed as KeyMaterial, header.kid ?? '', rules)
  }
  throw new TypeError('The key function must return a key, a list of JWKs, a JWK set or null')
}
