import { ConfigurationError } from '../errors.js'
import type { Clock } from '../time.js'
import { type BoundKey, isHmac } from './algorithms.js'
import { type JwkSet, type KeyRing, toJwkSet } from './key-ring.js'
import { type ImportRules, importOwnKey, type OwnKey, type ScheduledKey } from './own-key.js'

/** What a list of keys is checked by. */
export interface ScheduleRules extends ImportRules {
  /** How long a token is accepted after it was made, in milliseconds; infinite where tokens never expire. */
  readonly longestLifetimeMs: number
}

/** A ring of keys that take turns by the clock, and can be replaced while it is in use. */
export interface ScheduledRing extends KeyRing {
  /** Replaces every key, or throws and changes nothing, as when `assertKeys` throws. */
  replace(list: readonly OwnKey[], now: number, assertKeys?: (keys: readonly BoundKey[]) => void): void
}

/** The ring of a list of keys, or `ConfigurationError`; `now` is in epoch milliseconds. */
export function createScheduledRing(
  list: readonly OwnKey[],
  rules: ScheduleRules,
  now: number,
): ScheduledRing {
  let current = createState(importList(list, rules, [], now))
  return {
    signingKey: (at) => findNewest(current.signers, at)?.signing ?? null,
    explainMissingKey: (at) => explainMissing(current.signers, at),
    get verifying() {
      return current.verifying
    },
    isTrusted: (key, at) => at < (current.retireAt.get(key) ?? Number.NEGATIVE_INFINITY),
    replace(next, at, assertKeys) {
      const state = createState(importList(next, rules, current.keys, at))
      assertKeys?.(state.verifying)
      if (state.signers.length === 0 && current.signers.length > 0) {
        throw new ConfigurationError('No key of the list can sign, so no token could be created any more')
      }
      current = state
    },
  }
}

interface RingState {
  readonly keys: readonly ScheduledKey[]
  readonly signers: readonly ScheduledKey[]
  readonly verifying: readonly BoundKey[]
  readonly retireAt: ReadonlyMap<BoundKey, number>
}

function createState(keys: readonly ScheduledKey[]): RingState {
  return {
    keys,
    signers: keys.filter(({ signing }) => signing !== null),
    verifying: keys.map(({ verifying }) => verifying),
    retireAt: new Map(keys.map(({ verifying, retireAt }) => [verifying, retireAt])),
  }
}

function importList(
  list: readonly OwnKey[],
  rules: ScheduleRules,
  known: readonly ScheduledKey[],
  now: number,
): readonly ScheduledKey[] {
  if (!Array.isArray(list) || list.length === 0) {
    throw new ConfigurationError('keys must be a list of at least one key')
  }
  const keys = list.map((given: OwnKey, index) => reuse(importOwnKey(`keys[${index}]`, given, rules), known))
  if (new Set(keys.map(({ verifying }) => isHmac(verifying.algorithm))).size > 1) {
    throw new ConfigurationError('keys mixes HMAC with public-key algorithms; build one manager for each')
  }
  assertDistinct(keys)
  for (const key of keys) assertRetirement(key, keys, rules.longestLifetimeMs, now)
  assertUsable(keys, now)
  return keys
}

// Remembered tokens name the key that verified them: a key that stays in the list stays the same object.
function reuse(key: ScheduledKey, known: readonly ScheduledKey[]): ScheduledKey {
  const { verifying: bound } = key
  const same = known.find(
    ({ verifying }) =>
      verifying.kid === bound.kid &&
      verifying.algorithm === bound.algorithm &&
      verifying.key.equals(bound.key),
  )
  return same === undefined ? key : { ...key, verifying: same.verifying }
}

function assertDistinct(keys: readonly ScheduledKey[]): void {
  const kids = keys.map(({ verifying }) => verifying.kid)
  const twice = kids.findIndex((kid, index) => kids.indexOf(kid) !== index)
  if (twice === -1) return
  const first = kids.indexOf(kids[twice] as string)
  throw new ConfigurationError(`keys[${first}] and keys[${twice}] have the same "kid" ${quote(keys[twice])}`)
}

// A key may retire once the last token that it signed has expired. Signer and verifier compare `exp`, `notBefore` and
// `retireAt` with their own clocks: a difference between the clocks makes no difference here.
function assertRetirement(
  key: ScheduledKey,
  keys: readonly ScheduledKey[],
  lifetimeMs: number,
  now: number,
): void {
  if (key.retireAt === Number.POSITIVE_INFINITY || key.retireAt <= now) return
  // How long tokens live is configured where they are made.
  if (keys.every(({ signing }) => signing === null)) return
  // The key of another process takes its turn among all keys; what this process signs with, among those that can sign.
  const others = key.signing === null ? keys : keys.filter(({ signing }) => signing !== null)
  const endOfUse = readEndOfUse(key, others)
  // Without a successor yet: the next list that is set has one.
  if (endOfUse === null || lifetimeMs === Number.POSITIVE_INFINITY) return
  if (endOfUse >= key.retireAt) {
    throw new ConfigurationError(
      `The key ${quote(key)} retires at ${toText(key.retireAt)}, when it still signs tokens: its successor retires ` +
        'before it does. Let the successor retire later',
    )
  }
  const earliest = endOfUse + lifetimeMs
  if (key.retireAt >= earliest) return
  throw new ConfigurationError(
    `The key ${quote(key)} retires at ${toText(key.retireAt)}, before its last tokens expire: it signs until ` +
      `${toText(endOfUse)}. Set its retireAt to ${toText(earliest)} or later`,
  )
}

// The end of the last period in which a key signs; `null` if no newer key follows it.
function readEndOfUse(key: ScheduledKey, keys: readonly ScheduledKey[]): number | null {
  if (!keys.some(({ notBefore }) => notBefore > key.notBefore && notBefore < key.retireAt)) return null
  const moments = [...new Set(keys.flatMap(({ notBefore, retireAt }) => [notBefore, retireAt]))]
  const sorted = moments.toSorted((a, b) => a - b)
  const last = sorted.findLastIndex((moment) => findNewest(keys, moment) === key)
  return last === -1 ? null : (sorted[last + 1] ?? Number.POSITIVE_INFINITY)
}

// The latest `notBefore` that has come, the first in the list among equals.
function findNewest(keys: readonly ScheduledKey[], now: number): ScheduledKey | null {
  let newest: ScheduledKey | null = null
  for (const key of keys) {
    if (key.notBefore > now || key.retireAt <= now) continue
    if (newest === null || key.notBefore > newest.notBefore) newest = key
  }
  return newest
}

function assertUsable(keys: readonly ScheduledKey[], now: number): void {
  // Workers have no time while a module is loaded.
  if (now === 0) return
  const signers = keys.filter(({ signing }) => signing !== null)
  if (signers.length > 0 && findNewest(signers, now) === null) {
    throw new ConfigurationError(explainMissing(signers, now))
  }
  if (keys.every(({ retireAt }) => retireAt <= now)) throw new ConfigurationError('All keys are retired')
}

function explainMissing(signers: readonly ScheduledKey[], now: number): string {
  if (signers.length === 0) {
    return 'This manager can only verify tokens; its keys need a secret, a privateKey or sign to create them'
  }
  const coming = signers.filter(({ notBefore }) => notBefore > now)
  const [next] = coming.toSorted((a, b) => a.notBefore - b.notBefore)
  return next === undefined
    ? `No key can sign at ${toText(now)}: all are retired. Add one with keys.set()`
    : `No key can sign at ${toText(now)}: the next one is ${quote(next)}, from ${toText(next.notBefore)} on`
}

function quote(key: ScheduledKey | undefined): string {
  return JSON.stringify(key?.verifying.kid)
}

// ECMA-262 §21.4.1.1: no Date is later.
const LAST_DATE = 8.64e15

function toText(moment: number): string {
  return Math.abs(moment) > LAST_DATE ? 'no date' : new Date(moment).toISOString()
}

/** The keys that sign and verify the tokens of a manager. */
export interface Keys {
  /** The `kid` of new tokens at this moment, or `null` for a manager that only verifies. */
  readonly current: string | null
  /** Replaces the keys of the option `keys`. A bad list throws, and changes nothing. */
  set(keys: readonly OwnKey[]): void
  /** The public keys that verify the tokens of this manager, as a JWK Set; those that sign later are in it already. */
  jwks(): JwkSet
}

/** `tokens.keys` of a manager; `setKeys` is `null` if the keys come from the configuration. */
export function createKeys(
  ring: KeyRing,
  setKeys: ((keys: readonly OwnKey[], now: number) => void) | null,
  now: Clock,
): Keys {
  return {
    get current() {
      return ring.signingKey(now())?.kid ?? null
    },
    set(keys) {
      if (setKeys === null) {
        throw new ConfigurationError('keys.set() needs the option keys: new TokenManager({ config, keys })')
      }
      setKeys(keys, now())
    },
    jwks: () => toJwkSet(ring, now()),
  }
}
