import { FOREVER, type Revocation, type RevocationKind } from '../../revocation/revocation.js'
import { idWords, type RandomBytes, readIdHead, readIdTail, systemRandom } from '../../tokens/ids.js'
import {
  capacityOf,
  copyEntries,
  countEnded,
  createSegment,
  distanceOf,
  findSlot,
  hashWords,
  IMPLIED_BITS,
  NO_SEGMENT,
  readId,
  readUntil,
  releaseSegment,
  type Segment,
  toKeptUntil,
  writeEntry,
  writeUntil,
} from './table-segment.js'

/** Very many ids of 128 bits, each with the moment from which it may be dropped; about 30 bytes each. */
export interface RevocationTable {
  readonly size: number
  /** The size of its arrays. */
  readonly bytes: number
  has(id: string): boolean
  /** The `until` of an id, as it is kept, or `undefined`. */
  find(id: string): number | undefined
  /**
   * Adds an id, or raises its `until`; returns whether that changed anything, or `null` for an id that must be kept
   * elsewhere: it does not have 128 bits, or too many others are like it. `now` is for dropping expired entries if the
   * table is full.
   */
  put(id: string, until: number, now: number): boolean | null
  /** Looks at so many more slots, round and round, and drops what has ended if it is worth the work. */
  sweep(now: number, steps: number): void
  /** Drops what has ended from the next segment, at most so many entries; `SEGMENTS` calls go once around. */
  prune(now: number, most: number): number
  /** The entries of one of `PARTS`. However the table grows or shrinks, an entry stays in its part. */
  read(part: number, kind: RevocationKind): readonly Revocation[]
  /** The first part from `from` on that may have entries; `PARTS` if all of them are empty. */
  findPart(from: number): number
}

/** How many calls of `prune` see every entry; no call sees more than a thousandth of them, or so. */
export const SEGMENTS: number = IMPLIED_BITS + 1

const PARTS_OF_SEGMENT = 16

/** In how many parts a table is read. */
export const PARTS: number = SEGMENTS * PARTS_OF_SEGMENT

// A segment is filled to between 57 and 80 %: it becomes larger or smaller by a factor of 1.4. Not all of them do at the
// same number of entries, so that the table grows steadily: a slot has 20 bytes, and an entry takes 30 on average.
const MOST_FULL = 0.8
const GROWTH = 1.4
const LEAST_CAPACITY = 4
// Of the entries of a segment. Less is not worth moving all the others.
const WORTH_DROPPING = 1 / 8
// From where a search begins, in slots. Random ids never come so far, but ids that are alike would: a search among them
// would be as long as there are of them.
const FARTHEST = 1024

/** A table without entries. No single call takes longer than it takes to move a thousandth of them. */
export function createRevocationTable(random: RandomBytes = systemRandom): RevocationTable {
  // Our own ids are random in the half that is hashed. Other ids may be sequential, or chosen to collide.
  const multipliers = toMultipliers(random(8))
  const segments = Array<Segment>(SEGMENTS).fill(NO_SEGMENT)
  const counts = new Int32Array(SEGMENTS)
  // Before that moment no entry of a segment has ended, and nobody has to look.
  const firstEnds = new Float64Array(SEGMENTS).fill(FOREVER)
  // The same for all segments: in a small table, a sweep has nothing to do most of the time.
  let firstEnd = FOREVER
  let size = 0
  let nextPruned = 0
  const swept = { segment: 0, slot: 0, ended: 0 }
  let spare: Segment = NO_SEGMENT

  const refill = (at: number, now: number, dropped: number, capacity: number): void => {
    const old = segments[at] as Segment
    if (capacity === capacityOf(old)) {
      // The same array again, because arrays that are thrown away are work for the garbage collector.
      if (spare.length < old.length) spare = new Int32Array(old.length)
      spare.set(old)
      old.fill(0, 0, capacity)
      copyEntries(spare.subarray(0, old.length), old, multipliers, now, dropped)
    } else {
      const grown = createSegment(capacity)
      copyEntries(old, grown, multipliers, now, dropped)
      segments[at] = grown
      releaseSegment(old)
    }
    counts[at] = countOf(at) - dropped
    if (counts[at] === 0) firstEnds[at] = FOREVER
    size -= dropped
  }

  // The hash of the id in `idWords`.
  const hashId = (): number => hashWords(multipliers, idWords[2] as number, idWords[3] as number)

  const countOf = (at: number): number => counts[at] as number

  const makeRoom = (at: number, now: number): Segment => {
    const segment = segments[at] as Segment
    const ended = now < (firstEnds[at] as number) ? 0 : countEnded(segment, now, 0, capacityOf(segment))
    // If entries were dropped, the capacity may stay the same; leave room so that it is not full again immediately.
    const spare = ended === 0 ? 0 : WORTH_DROPPING
    refill(at, now, ended, toCapacity((countOf(at) - ended + 1) * (1 + spare), at))
    return segments[at] as Segment
  }

  const drop = (at: number, now: number, most: number): number => {
    const segment = segments[at] as Segment
    const dropped = Math.min(most, countEnded(segment, now, 0, capacityOf(segment)))
    if (dropped <= 0) return 0
    refill(at, now, dropped, toCapacity(countOf(at) - dropped, at))
    return dropped
  }

  const find = (id: string): number | undefined => {
    if (!isReadable(id)) return undefined
    const hash = hashId()
    const segment = segments[numberOf(hash)] as Segment
    const slot = findSlot(segment, hash, id)
    return slot < 0 ? undefined : readUntil(segment, slot)
  }

  return {
    get size() {
      return size
    },
    get bytes() {
      return segments.reduce((sum, segment) => sum + (segment === NO_SEGMENT ? 0 : segment.byteLength), 0)
    },
    has: (id) => find(id) !== undefined,
    find,
    put(id, until, now) {
      if (!isReadable(id) || !readIdHead(id)) return null
      const kept = toKeptUntil(until)
      const hash = hashId()
      const at = numberOf(hash)
      let segment = segments[at] as Segment
      const known = findSlot(segment, hash, id)
      if (known >= 0) {
        if (kept <= readUntil(segment, known)) return false
        writeUntil(segment, known, kept)
        return true
      }
      let slot = ~known
      if (countOf(at) + 1 > MOST_FULL * capacityOf(segment)) {
        segment = makeRoom(at, now)
        slot = ~findSlot(segment, hash, id)
      }
      if (distanceOf(segment, hash, slot) > FARTHEST) return null
      writeEntry(segment, slot, kept)
      if (kept < (firstEnds[at] as number)) firstEnds[at] = kept
      if (kept < firstEnd) firstEnd = kept
      counts[at] = countOf(at) + 1
      size++
      return true
    },
    sweep(now, steps) {
      if (now < firstEnd) return
      let earliest = FOREVER
      let left = steps
      // At most once around.
      for (let segmentsLeft = SEGMENTS; segmentsLeft > 0; segmentsLeft--) {
        if (left <= 0) return
        const segment = segments[swept.segment] as Segment
        const capacity = now < (firstEnds[swept.segment] as number) ? 0 : capacityOf(segment)
        const end = Math.min(swept.slot + left, capacity)
        swept.ended += countEnded(segment, now, swept.slot, end)
        left -= Math.max(1, end - swept.slot)
        swept.slot = end
        if (end < capacity) return
        const isWorthIt = swept.ended > 0 && swept.ended >= WORTH_DROPPING * countOf(swept.segment)
        if (isWorthIt) drop(swept.segment, now, Number.POSITIVE_INFINITY)
        earliest = Math.min(earliest, firstEnds[swept.segment] as number)
        swept.segment = (swept.segment + 1) % SEGMENTS
        swept.slot = 0
        swept.ended = 0
      }
      firstEnd = earliest
    },
    prune(now, most) {
      const dropped = drop(nextPruned, now, most)
      // Where there was more than that, there may be more still.
      if (dropped < most) nextPruned = (nextPruned + 1) % SEGMENTS
      return dropped
    },
    read(part, kind) {
      const at = Math.floor(part / PARTS_OF_SEGMENT)
      const segment = segments[at] as Segment
      const entries: Revocation[] = []
      const capacity = countOf(at) === 0 ? 0 : capacityOf(segment)
      for (let slot = 0; slot < capacity; slot++) {
        const w2 = segment[slot] as number
        if (w2 === 0 || w2 >>> 28 !== part % PARTS_OF_SEGMENT) continue
        entries.push({
          kind,
          id: readId(segment, slot, at, multipliers),
          notBefore: FOREVER,
          until: readUntil(segment, slot),
        })
      }
      return entries
    },
    findPart(from) {
      for (let at = Math.floor(from / PARTS_OF_SEGMENT); at < SEGMENTS; at++) {
        if (countOf(at) > 0) return Math.max(from, at * PARTS_OF_SEGMENT)
      }
      return PARTS
    },
  }
}

function isReadable(id: string): boolean {
  // A zero there would look like an empty slot. Of random ids, one in four billion has it.
  return readIdTail(id) && idWords[2] !== 0
}

// The segment of the id in `idWords`.
function numberOf(hash: number): number {
  return (hash ^ (idWords[3] as number)) & IMPLIED_BITS
}

// The smallest power of `GROWTH` with room for so many entries, times a factor of segment number `at`.
function toCapacity(entries: number, at: number): number {
  if (entries === 0) return 0
  const least = Math.max(LEAST_CAPACITY, entries / MOST_FULL)
  const factor = at / SEGMENTS
  return Math.ceil(GROWTH ** (Math.ceil(Math.log(least) / Math.log(GROWTH) - factor) + factor))
}

function toMultipliers(bytes: Uint8Array): Int32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  // Odd, because multiplying by an even number would lose a bit.
  return Int32Array.of(view.getInt32(0) | 1, view.getInt32(4) | 1)
}
