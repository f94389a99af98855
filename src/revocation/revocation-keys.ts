import { createHash } from 'node:crypto'
import type { TokenPayload } from '../claims/payload.js'
import type { RevocationKey, RevocationKind } from './revocation.js'
import type { LookupAnswer } from './store.js'

/** The key of an id of any text: stores get short, printable ids, and never a name they cannot hold. */
export function toRevocationKey(kind: RevocationKind, id: string): RevocationKey {
  return { kind, id: toStoredId(id) }
}

/** The id as stores keep it: itself, or a digest of one that is long or not plain ASCII. */
export function toStoredId(id: string): string {
  if (PLAIN.test(id) && !id.startsWith(DIGEST)) return id
  // By code units: in UTF-8, two different broken texts could come out as one.
  return DIGEST + createHash('sha256').update(id, 'utf16le').digest('base64url')
}

/** The id behind a stored one, or `null` where only its digest is kept. */
export function readStoredId(stored: string): string | null {
  return stored.startsWith(DIGEST) ? null : stored
}

const PLAIN = /^[\x20-\x7e]{0,128}$/
const DIGEST = 'sha256:'

const ALL: RevocationKey = { kind: 'all', id: '' }

/** Every key under which a token can be revoked; `kids` name the key that verified it. */
export function revocationKeys(payload: TokenPayload, kids: readonly string[]): readonly RevocationKey[] {
  const keys = [ALL, toRevocationKey('user', payload.sub)]
  for (const kid of kids) keys.push(toRevocationKey('key', kid))
  if (payload.sid !== undefined) keys.push(toRevocationKey('session', payload.sid))
  if (payload.jti !== undefined) keys.push(toRevocationKey('token', payload.jti))
  return keys
}

/** Whether one of the answers to its keys revokes a token that started at `start`; a tie counts as revoked. */
export function isRevokedBy(answers: LookupAnswer, start: number): boolean {
  for (const notBefore of answers) if (notBefore !== undefined && start <= notBefore) return true
  return false
}

/** The answers of a store, or `TypeError` unless there is a usable one for each key. */
export function parseAnswers(answers: unknown, keys: readonly RevocationKey[]): LookupAnswer {
  if (Array.isArray(answers) && answers.length === keys.length && areUsable(answers)) {
    return answers as LookupAnswer
  }
  throw new TypeError('The store answered something else than a number or undefined for each key')
}

function areUsable(answers: readonly unknown[]): boolean {
  for (let at = 0; at < answers.length; at++) {
    const answer = answers[at]
    // A hole in a list that was never filled is not the answer `undefined`.
    const isUsable = answer === undefined ? Object.hasOwn(answers, at) : Number.isFinite(answer)
    if (!isUsable) return false
  }
  return true
}
