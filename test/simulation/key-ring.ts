import type { OwnKey } from '../../packages/tokenlib/src/tokens/own-key.js'
import { WORLD_STARTS_AT } from './machine.js'
import type { Random } from './random.js'

// More than a clock is ever set back.
const MAX_LATE_MS = 30_000

/** The keys of all applications: each signs for a while, and verifies as long as its tokens live. */
export interface KeyRing {
  list(): readonly OwnKey[]
  rotate(nowMs: number): void
  /** The newest that signs nothing any more, also where the clock is late. */
  findRetired(nowMs: number): string | null
}

/** One key, which signs from the beginning. */
export function createKeyRing(random: Random, longestLifetimeMs: number): KeyRing {
  const create = (number: number, startsAt: number | null): OwnKey => ({
    kid: `key-${number}`,
    algorithm: 'HS256',
    secret: Buffer.from(random.bytes(32)),
    ...(startsAt !== null && { notBefore: new Date(startsAt) }),
  })
  let created = 1
  let keys = [{ key: create(0, null), replacedAt: Infinity }]
  return {
    list: () => keys.map(({ key }) => key),
    rotate(nowMs) {
      const startsAt = nowMs + 30_000
      const last = keys.at(-1)
      if (last !== undefined) last.replacedAt = startsAt
      // The tokens of the others have expired.
      keys = keys.filter(({ replacedAt }) => replacedAt + longestLifetimeMs > nowMs)
      keys.push({ key: create(created++, WORLD_STARTS_AT + startsAt), replacedAt: Infinity })
    },
    findRetired: (nowMs) =>
      keys.findLast(({ replacedAt }) => replacedAt + MAX_LATE_MS < nowMs)?.key.kid ?? null,
  }
}
