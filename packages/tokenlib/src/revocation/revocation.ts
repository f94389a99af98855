import { createHash } from 'node:crypto'
import { readCode } from '../encoding.js'
import type { TokenPayload } from '../tokens/payload.js'
import type { TokenSource } from '../tokens/token-source.js'

/** What can be revoked: one token, a session, a user's sessions up to a moment, a key, or all sessions up to a moment. */
export type RevocationKind = 'token' | 'session' | 'user' | 'key' | 'all'

/** What is revoked: a `jti`, a `sid`, a subject or a `kid`; the id of `all` is empty. */
export interface RevocationKey {
  readonly kind: RevocationKind
  /** At most 128 printable ASCII characters; a manager makes a digest of any other id. */
  readonly id: string
}

/**
 * One entry of the map of revocations. Two entries of one key merge into the larger of both numbers, so that
 * repeating, reordering and merging revocations never changes the outcome, and nothing is ever un-revoked.
 */
export interface Revocation extends RevocationKey {
  /** Tokens that started then or before are revoked; epoch milliseconds, or `FOREVER` for every token. */
  readonly notBefore: number
  /** From then on no token it concerns can verify, and it may be dropped; epoch milliseconds, or `FOREVER`. */
  readonly until: number
}

/** For each key asked for, in the same order: its `notBefore`, or `undefined` when nothing is revoked. */
export type LookupAnswer = readonly (number | undefined)[]

/** Later than any moment: the largest whole number that is exact in JavaScript, JSON, Lua and a 64-bit column. */
export const FOREVER: number = Number.MAX_SAFE_INTEGER

/** Whether a kind revokes what started up to a moment; the others revoke every token of their id. */
export function isWatermark(kind: RevocationKind): boolean {
  return kind === 'user' || kind === 'all'
}

/** How far ahead of a store's clock a watermark may lie that a process gives it, in milliseconds. */
export const MAX_WATERMARK_LEAD_MS = 60_000

/** How far ahead of a store's clock sessions are believed to have started, in milliseconds: a clock was set back. */
export const MAX_SESSION_LEAD_MS = 3_600_000

/**
 * The moment that a store with the clock `now` raises a watermark to. Sessions may have started later, if its clock was
 * far ahead: those are revoked one by one, because a watermark that covers them would lock everybody out.
 */
export function raiseWatermark(given: number, newestStart: number, now: number): number {
  return Math.max(
    now,
    Math.min(given, now + MAX_WATERMARK_LEAD_MS),
    Math.min(newestStart, now + MAX_SESSION_LEAD_MS),
  )
}

/** When a session starts that is opened next, as long as the clock of its store is behind the watermark. */
export function toFirstStart(watermark: number): number {
  return Math.floor(watermark + 1)
}

/** The moment `duration` milliseconds after another; whatever passes `FOREVER` is `FOREVER`. */
export function addDuration(at: number, duration: number): number {
  return Math.min(FOREVER, at + duration)
}

/**
 * The key of an id of any text: stores get short, printable ids, and never a name they cannot hold. `issuer` is the one who
 * gave the id; `null` is us.
 */
export function toRevocationKey(
  kind: RevocationKind,
  id: string,
  issuer: string | null = null,
): RevocationKey {
  return { kind, id: issuer === null ? toStoredId(id) : toIssuerId(issuer, id) }
}

// Another issuer may use the same ids as we do. The digests of our own ids are of an even number of bytes (UTF-16), and this
// one is of an odd number, so they never collide.
function toIssuerId(issuer: string, id: string): string {
  const hash = createHash('sha256').update(Buffer.of(1))
  hash.update(createHash('sha256').update(issuer, 'utf16le').digest())
  return DIGEST + hash.update(id, 'utf16le').digest('base64url')
}

/** The id as stores keep it: itself, or a digest of one that is long or not plain ASCII. */
export function toStoredId(id: string): string {
  if (isPlain(id) && !id.startsWith(DIGEST)) return id
  // By code units: in UTF-8, two different broken texts could come out as one.
  return DIGEST + createHash('sha256').update(id, 'utf16le').digest('base64url')
}

/** The id behind a stored one, or `null` where only its digest is kept. */
export function readStoredId(stored: string): string | null {
  return stored.startsWith(DIGEST) ? null : stored
}

// Not a regular expression, because every check of a new token calls this, for each of its ids.
function isPlain(id: string): boolean {
  if (id.length > MAX_ID_LENGTH) return false
  for (let at = 0; at < id.length; at++) {
    const code = readCode(id, at)
    if (code < 0x20 || code > 0x7e) return false
  }
  return true
}

const MAX_ID_LENGTH = 128
const DIGEST = 'sha256:'

const ALL: RevocationKey = { kind: 'all', id: '' }

/** The text, or `TypeError` for anything else and for an empty one. */
export function parseText(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new TypeError(`${name} must be a non-empty string`)
  return value
}

/** What the revocation of a token depends on. */
export interface RevocableToken {
  readonly payload: TokenPayload
  /**
   * The names that the source of the token has for its user. Not the `sub` of the payload: another service on the same
   * store may have another prefix for the source, or none.
   */
  readonly subjects: readonly string[]
  /** The ids of the key that verified it. */
  readonly kids: readonly string[]
  readonly source: Pick<TokenSource, 'revokedBy' | 'lifeOf'>
  /** What the store looks up. `null` for a remembered token, until its first check sets it. Other tokens have none. */
  lookup?: TokenLookup | null
}

/** What a store looks up for a token. */
export interface TokenLookup {
  readonly keys: readonly RevocationKey[]
  /** When its session began; epoch milliseconds. */
  readonly start: number
  /** From its start to the last moment it can verify, in milliseconds. */
  readonly lifetime: number
}

type RevocableIds = Pick<RevocableToken, 'payload' | 'subjects' | 'kids'> & {
  readonly source: Pick<TokenSource, 'revokedBy'>
}

/** Every key under which a token can be revoked. */
export function revocationKeys(token: RevocableIds): readonly RevocationKey[] {
  const { payload, subjects, source } = token
  const { sid, jti } = payload
  const keys = [...sharedKeys(token)]
  for (const issuer of source.revokedBy) {
    for (const sub of subjects) keys.push(toRevocationKey('user', sub, issuer))
    if (sid !== undefined) keys.push(toRevocationKey('session', sid, issuer))
    if (jti !== undefined) keys.push(toRevocationKey('token', jti, issuer))
  }
  return keys
}

const keysBySigner = new WeakMap<
  readonly string[],
  Pick<RevocableIds, 'source'> & { keys: RevocationKey[] }
>()

// The keys that all tokens of one source and signer share. They are remembered, because the ids of another issuer are
// digests, which are slow to compute.
function sharedKeys({ kids, source }: RevocableIds): readonly RevocationKey[] {
  const known = keysBySigner.get(kids)
  if (known?.source === source) return known.keys
  const keys = [ALL]
  for (const issuer of source.revokedBy) {
    if (issuer !== null) keys.push(toRevocationKey('user', EVERY_USER, issuer))
    for (const kid of kids) keys.push(toRevocationKey('key', kid, issuer))
  }
  keysBySigner.set(kids, { source, keys })
  return keys
}

/** Stands for every user of an issuer: no token has an empty `sub`. Every user of ours is everybody: `all`. */
export const EVERY_USER = ''

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
  throw new TypeError('lookup() must return an array with a number or undefined for each key')
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
