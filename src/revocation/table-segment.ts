import { FOREVER } from './revocation.js'

/**
 * Some of the entries of a table: an open-addressed hash map in one array, which a garbage collector never looks into.
 *
 * It has five columns, one after the other, each as long as its capacity: words 2, 3, 0 and 1 of the ids, and the
 * seconds of `until`. A search runs along the first column, sixteen slots to a cache line; there, 0 is an empty slot.
 * The low bits of word 1 follow from the number of the segment, so that the milliseconds of `until` are in their place.
 */
export type Segment = Int32Array

const COLUMNS = 5

/** The segment that has no entries and never gets one. */
export const NO_SEGMENT: Segment = new Int32Array(COLUMNS)

/** The bits of word 1 that are not in a segment. */
export const IMPLIED_BITS = 0x3ff

// 2106; an entry that lives longer is kept for ever.
const LAST_SECOND = 0xff_ff_ff_ff

/** An empty segment. */
export function createSegment(capacity: number): Segment {
  return new Int32Array(COLUMNS * capacity)
}

/** For how many entries a segment has slots. */
export function capacityOf(segment: Segment): number {
  return segment.length / COLUMNS
}

/** A number from an id; from it follow its segment and its place there. No use to anybody who does not know the multipliers. */
export function hashWords(multipliers: Int32Array, w0: number, w1: number, w2: number, w3: number): number {
  const sum =
    Math.imul(w0, multipliers[0] as number) +
    Math.imul(w1 & ~IMPLIED_BITS, multipliers[1] as number) +
    Math.imul(w2, multipliers[2] as number) +
    Math.imul(w3, multipliers[3] as number)
  const mixed = Math.imul(sum ^ (sum >>> 15), 0x9e_37_79_b1)
  return mixed ^ (mixed >>> 14)
}

/** The slot of an id, or the complement of the slot where it belongs. */
export function findSlot(
  segment: Segment,
  hash: number,
  w0: number,
  w1: number,
  w2: number,
  w3: number,
): number {
  const capacity = capacityOf(segment)
  for (let slot = firstSlot(hash, capacity); ; slot = slot + 1 === capacity ? 0 : slot + 1) {
    const key = segment[slot]
    if (key === 0) return ~slot
    if (
      key === w2 &&
      segment[slot + capacity] === w3 &&
      segment[slot + 2 * capacity] === w0 &&
      ((segment[slot + 3 * capacity] as number) ^ w1) >>> 10 === 0
    ) {
      return slot
    }
  }
}

/** Puts an id into an empty slot, without its `until`. */
export function writeId(
  segment: Segment,
  slot: number,
  w0: number,
  w1: number,
  w2: number,
  w3: number,
): void {
  const capacity = capacityOf(segment)
  segment[slot] = w2
  segment[slot + capacity] = w3
  segment[slot + 2 * capacity] = w0
  segment[slot + 3 * capacity] = w1 & ~IMPLIED_BITS
}

/** The `until` that a segment has for a given one: no earlier, and the same where that is a moment up to 2106. */
export function toKeptUntil(until: number): number {
  // What is not a number must not end at all: no comparison with it would ever be true.
  if (Number.isNaN(until) || until >= LAST_SECOND * 1000) return FOREVER
  return Math.max(0, Math.ceil(until))
}

/** The `until` of a slot. */
export function readUntil(segment: Segment, slot: number): number {
  const capacity = capacityOf(segment)
  const seconds = (segment[slot + 4 * capacity] as number) >>> 0
  return seconds === LAST_SECOND
    ? FOREVER
    : seconds * 1000 + ((segment[slot + 3 * capacity] as number) & IMPLIED_BITS)
}

/** Sets the `until` of a slot, one that `toKeptUntil` has made. */
export function writeUntil(segment: Segment, slot: number, until: number): void {
  const capacity = capacityOf(segment)
  const seconds = until === FOREVER ? LAST_SECOND : Math.floor(until / 1000)
  const milliseconds = until === FOREVER ? 0 : until - seconds * 1000
  const high = (segment[slot + 3 * capacity] as number) & ~IMPLIED_BITS
  segment[slot + 3 * capacity] = high | milliseconds
  segment[slot + 4 * capacity] = seconds
}

/** How many entries between two slots have ended. */
export function countEnded(segment: Segment, now: number, from: number, to: number): number {
  const capacity = capacityOf(segment)
  const second = Math.floor(now / 1000)
  let ended = 0
  for (let slot = from; slot < to; slot++) {
    if ((segment[slot + 4 * capacity] as number) >>> 0 > second) continue
    if (segment[slot] !== 0 && isEnded(segment, slot, now)) ended++
  }
  return ended
}

/** Copies entries into an empty segment, except for the first so many that have ended. */
export function copyEntries(
  from: Segment,
  to: Segment,
  multipliers: Int32Array,
  now: number,
  dropped: number,
): void {
  const [width, capacity] = [capacityOf(from), capacityOf(to)]
  let left = dropped
  for (let slot = 0; slot < width; slot++) {
    const w2 = from[slot] as number
    if (w2 === 0) continue
    if (left > 0 && isEnded(from, slot, now)) {
      left--
      continue
    }
    const w3 = from[slot + width] as number
    const w0 = from[slot + 2 * width] as number
    const w1 = from[slot + 3 * width] as number
    let target = firstSlot(hashWords(multipliers, w0, w1, w2, w3), capacity)
    while (to[target] !== 0) target = target + 1 === capacity ? 0 : target + 1
    to[target] = w2
    to[target + capacity] = w3
    to[target + 2 * capacity] = w0
    to[target + 3 * capacity] = w1
    to[target + 4 * capacity] = from[slot + 4 * width] as number
  }
}

// By the high bits of the hash, for any capacity: a division would be slower, and only powers of two would waste half.
function firstSlot(hash: number, capacity: number): number {
  return Math.floor(((hash >>> 0) * capacity) / 0x1_00_00_00_00)
}

function isEnded(segment: Segment, slot: number, now: number): boolean {
  const until = readUntil(segment, slot)
  return until !== FOREVER && until <= now
}
