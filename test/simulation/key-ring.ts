import type { OwnKey } from '../../packages/tokenlib/src/tokens/own-key.js'
import { WORLD_STARTS_AT } from './machine.js'
import type { Random } from './random.js'

/** The keys of all applications: each signs for a while, and verifies as long as its tokens live. */
export interface KeyRing {
  list(): readonly OwnKey[]
  rotate(nowMs: number): void
  /** The one before the last, which signs nothing any more. */
  readonly previous: string | null
}

/** One key, which signs from the beginning. */
export function createKeyRing(random: Random): KeyRing {
  const create = (number: number, startsAt: number | null): OwnKey => ({
    kid: `key-${number}`,
    algorithm: 'HS256',
    secret: Buffer.from(random.bytes(32)),
    ...(startsAt !== null && { notBefore: new Date(startsAt) }),
  })
  let keys = [create(0, null)]
  return {
    list: () => keys,
    rotate(nowMs) {
      keys = [...keys, create(keys.length, WORLD_STARTS_AT + nowMs + 30_000)]
    },
    get previous() {
      return keys.at(-3)?.kid ?? null
    },
  }
}
