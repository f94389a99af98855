import {
  addDuration,
  isWatermark,
  raiseWatermark,
  type Revocation,
  type RevocationKey,
  toFirstStart,
} from '../revocation/revocation.js'

// How stores write that decide in this process: in memory, in SQLite and in Durable Objects. The statements of PostgreSQL and
// the scripts of Redis follow the same rules.

/** The data of a store while nobody else can change it. */
export interface WritableData {
  /** Epoch milliseconds. */
  readonly now: number
  /** In milliseconds. */
  readonly longestLifetime: number
  /** Merges an entry with what is there; one that raises nothing does not count as a change. */
  readonly merge: (entry: Revocation) => void
  /** The `notBefore` of a key, or `undefined`. */
  readonly find: (key: RevocationKey) => number | undefined
  /** When a session ends, in epoch milliseconds, or `undefined` for one that is not known. */
  readonly readUntil: (sid: string) => number | undefined
  /** Removes the row of a session if it is revoked. */
  readonly removeRevoked: (revocation: Revocation) => void
  /** The newest start of a user's sessions, or of all for `null`; 0 without any. */
  readonly readNewestStart: (user: string | null) => number
  /** Revokes some sessions, `MAX_ENDED_AT_ONCE` at most; returns whether there are more. */
  readonly revokeSome: (late: LateSessions) => boolean
}

/** Sessions of a user, or of all, that started after a moment and up to another: a clock was far ahead. */
export interface LateSessions {
  /** `null` for all users. */
  readonly user: string | null
  readonly after: number
  readonly upTo: number
}

/** What came of a batch. */
export interface WrittenBatch {
  /** When the store took it, or a watermark of it that is later; epoch milliseconds. */
  readonly now: number
  /** Sessions that a watermark does not reach, which are still to be revoked one by one. */
  readonly late: readonly LateSessions[]
}

/** Writes a batch of revocations, completed by what only the store knows. */
export function writeBatch(batch: readonly Revocation[], data: WritableData): WrittenBatch {
  let { now } = data
  const late: LateSessions[] = []
  for (const revocation of batch) {
    const { kind, id } = revocation
    if (isWatermark(kind)) {
      const raised = writeWatermark(revocation, data)
      now = Math.max(now, raised.notBefore)
      late.push(raised.late)
    } else if (kind === 'session') {
      const known = data.readUntil(id)
      const until = known ?? Math.max(revocation.until, addDuration(data.now, data.longestLifetime))
      data.merge({ ...revocation, until })
      if (known !== undefined) data.removeRevoked(revocation)
    } else data.merge(revocation)
  }
  return { now, late: late.filter(({ after, upTo }) => upTo > after) }
}

/** Raises a watermark; returns the moment it was raised to, and the sessions that started even later. */
export function writeWatermark(
  revocation: Revocation,
  data: WritableData,
): { readonly notBefore: number; readonly late: LateSessions } {
  const { now, longestLifetime } = data
  const user = revocation.kind === 'user' ? revocation.id : null
  const newest = data.readNewestStart(user)
  const notBefore = raiseWatermark(revocation.notBefore, newest, now)
  const until = Math.max(revocation.until, addDuration(notBefore, longestLifetime))
  data.merge({ ...revocation, notBefore, until })
  // An older one may be further ahead.
  const watermark = data.find(revocation) ?? notBefore
  const first = toFirstStart(watermark)
  // Now: what is opened from now on starts at this moment too.
  const atOnce = { user, after: watermark, upTo: Math.min(first, newest) }
  while (data.revokeSome(atOnce)) continue
  return { notBefore, late: { user, after: first, upTo: newest } }
}

/** Takes a batch if its first entry is not there yet; returns whether it did. */
export function writeClaim(batch: readonly Revocation[], { find, merge }: WritableData): boolean {
  const [first] = batch
  const isFirst = first !== undefined && find(first) === undefined
  if (isFirst) for (const entry of batch) merge(entry)
  return isFirst
}

/** Merges entries as they are. */
export function writeRestored(batch: readonly Revocation[], { merge, removeRevoked }: WritableData): void {
  for (const entry of batch) {
    merge(entry)
    if (entry.kind === 'session') removeRevoked(entry)
  }
}
