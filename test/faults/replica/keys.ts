import { createHash } from 'node:crypto'
import {
  FOREVER,
  type Revocation,
  type RevocationKey,
  type RevocationKind,
} from '../../../packages/tokenlib/src/kit.js'

const HOUR = 3_600_000
const KINDS = ['token', 'session', 'user', 'token'] as const

/** The longest lifetime of the tokens of a run. */
export const LONGEST_LIFETIME = HOUR

/** The key that a revoker revokes as its n-th, as it stands in the log. */
export function toKeyName(revoker: string, at: number): string {
  return `${KINDS[at % KINDS.length] as string}:${revoker}/${at}`
}

/** What a store keeps for a key of the log: ids of 128 bits, as those of real tokens. */
export function toKey(name: string): RevocationKey {
  const digest = createHash('sha256').update(name).digest().subarray(0, 16)
  return { kind: name.slice(0, name.indexOf(':')) as RevocationKind, id: digest.toString('base64url') }
}

/** Everything that a token of this key can be revoked by. */
export function toKeys(name: string): readonly RevocationKey[] {
  return [{ kind: 'all', id: '' }, toKey(name)]
}

/** A revocation of a key of the log. */
export function toRevocation(name: string): Revocation {
  const key = toKey(name)
  const now = Date.now()
  return { ...key, notBefore: key.kind === 'user' ? now : FOREVER, until: now + HOUR }
}
