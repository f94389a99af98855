import { FOREVER } from '../../revocation/revocation.js'

/**
 * Some of the entries of a table: an open-addressed hash map in one array, which the garbage collector never scans.
 *
 * It starts with word 2 of every slot, sixteen to a cache line: a search runs along these, and 0 is an empty slot. Then
 * comes a row for each slot: words 3, 0 and 1, and the seconds of `until`. The low bits of word 3 follow from the
 * number of the segment, so the milliseconds of `until` are stored in their place.
 */
export type Segment = Int32Array

const ROW = 4
const SLOT = 1 + ROW
// In a row.
const WORD_3 = 0
const WORD_0 = 1
const WORD_1 = 2
const SECONDS = 3

/** The segment that has no entries and never gets one. */
export const NO_SEGMENT: Segment = new Int32Array(SLOT)

/** The bits of word 3 that are not in a segment. */
export const IMPLIED_BITS = 0x3ff

// 2106; an entry that lives longer is kept for ever.
const LAST_SECOND = 0xff_ff_ff_ff

/** A segment without entries. */
export function createSegment(capacity: number): Segment {
  return capacity === 0 ? NO_SEGMENT : new Int32Array(SLOT * capacity)
}

/** Frees the memory of a segment immediately, from Node 22 on. */
export function releaseSegment(segment: Segment): void {
  if (segment === NO_SEGMENT) return
  const buffer = segment.buffer as ArrayBufferLike & { transfer?(length: number): unknown }
  buffer.transfer?.(0)
}

/** For how many entries a segment has slots. */
export function capacityOf(segment: Segment): number {
  // An integer, so that V8 does not compute everything from it in floating point.
  return (segment.length / SLOT) | 0
}

/** The hash of the random half of an id, which determines its segment and its slot. */
export function hashWords(multipliers: Int32Array, w2: number, w3: number): number {
  const sum =
    Math.imul(w2, multipliers[0] as number) + Math.imul(w3 & ~IMPLIED_BITS, multipliers[1] as number)
  const mixed = Math.imul(sum ^ (sum >>> 15), 0x9e_37_79_b1)
  return mixed ^ (mixed >>> 14)
}

/** The slot of an id, or the complement of the slot where it belongs; `idWords` have its words 2 and 3. */
export function findSlot(segment: Segment, hash: number, id: string): number {
  const w2 = idWords[2] as number
  const w3 = idWords[3] as number
  const capacity = capacityOf(segment)
  let hasHead: boolean | null = null
  for (let slot = firstSlot(hash, capacity); ; slot = nextSlot(slot, capacity)) {
    const key = segment[slot]
    if (key === 0) return ~slot
    const row = rowOf(slot, capacity)
    if (key !== w2 || ((segment[row + WORD_3] as number) ^ w3) >>> 10 !== 0) continue
    // Read so late, because nearly all searches end before.
    hasHead ??= readIdHead(id)
    if (hasHead && segment[row + WORD_0] === idWords[0] && segment[row + WORD_1] === idWords[1]) return slot
  }
}

/** How far a slot is from where a search for it begins. */
export function distanceOf(segment: Segment, hash: number, slot: number): number {
  const capacity = capacityOf(segment)
  const distance = slot - firstSlot(hash, capacity)
  return distance < 0 ? distance + capacity : distance
}

/** Puts an id, the one in `idWords`, into an empty slot. */
export function writeEntry(segment: Segment, slot: number, until: number): void {
  const row = rowOf(slot, capacityOf(segment))
  segment[slot] = idWords[2] as number
  segment[row + WORD_3] = idWords[3] as number
  segment[row + WORD_0] = idWords[0] as number
  segment[row + WORD_1] = idWords[1] as number
  writeUntil(segment, slot, until)
}

/** The id of a slot of segment number `at`. */
export function readId(segment: Segment, slot: number, at: number, multipliers: Int32Array): string {
  const row = rowOf(slot, capacityOf(segment))
  const w2 = segment[slot] as number
  const high = (segment[row + WORD_3] as number) & ~IMPLIED_BITS
  const w3 = high | ((hashWords(multipliers, w2, high) ^ at) & IMPLIED_BITS)
  return toId(segment[row + WORD_0] as number, segment[row + WORD_1] as number, w2, w3)
}

/** The `until` that a segment has for a given one: no earlier, and exact up to 2106. */
export function toKeptUntil(until: number): number {
  // What is not a number must not end at all: no comparison with it would ever be true.
  if (Number.isNaN(until) || until >= LAST_SECOND * 1000) return FOREVER
  return Math.max(0, Math.ceil(until))
}

/** The `until` of a slot. */
export function readUntil(segment: Segment, slot: number): number {
  const row = rowOf(slot, capacityOf(segment))
  const seconds = (segment[row + SECONDS] as number) >>> 0
  if (seconds === LAST_SECOND) return FOREVER
  return seconds * 1000 + ((segment[row + WORD_3] as number) & IMPLIED_BITS)
}

/** Sets the `until` of a slot, one that `toKeptUntil` has made. */
export function writeUntil(segment: Segment, slot: number, until: number): void {
  const row = rowOf(slot, capacityOf(segment))
  const seconds = until === FOREVER ? LAST_SECOND : Math.floor(until / 1000)
  const milliseconds = until === FOREVER ? 0 : until - seconds * 1000
  segment[row + WORD_3] = ((segment[row + WORD_3] as number) & ~IMPLIED_BITS) | milliseconds
  segment[row + SECONDS] = seconds
}

/** How many entries between two slots have ended. */
export function countEnded(segment: Segment, now: number, from: number, to: number): number {
  let ended = 0
  for (let slot = from; slot < to; slot++) {
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
    const source = rowOf(slot, width)
    let target = firstSlot(hashWords(multipliers, w2, from[source + WORD_3] as number), capacity)
    while (to[target] !== 0) target = nextSlot(target, capacity)
    to[target] = w2
    const row = rowOf(target, capacity)
    for (let at = 0; at < ROW; at++) to[row + at] = from[source + at] as number
  }
}

function rowOf(slot: number, capacity: number): number {
  return capacity + ROW * slot
}

// By the high bits of the hash, for any capacity: a division would be slower, and only powers of two would waste half.
function firstSlot(hash: number, capacity: number): number {
  return (((hash >>> 0) * capacity) / 0x1_00_00_00_00) | 0
}

function nextSlot(slot: number, capacity: number): number {
  return slot + 1 === capacity ? 0 : slot + 1
}

function isEnded(segment: Segment, slot: number, now: number): boolean {
  const until = readUntil(segment, slot)
  return until !== FOREVER && until <= now
}

const LENGTH = 22
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

// For every code unit there is, so that none needs to be checked before. Reading ids is most of what a look-up costs.
const DIGITS = new Int8Array(0x1_00_00).fill(-1)
for (let digit = 0; digit < ALPHABET.length; digit++) DIGITS[ALPHABET.charCodeAt(digit)] = digit

// Not as a method: once a class extends `String`, as one of ioredis 6 does, V8 looks up methods of texts at every call, and
// reading an id takes five times as long.
// oxlint-disable-next-line typescript/unbound-method -- `call` is bound to it, and passes the text as `this`
const charCodeAt = Function.prototype.call.bind(String.prototype.charCodeAt) as (
  text: string,
  at: number,
) => number

/** The words that were read last, big-endian: one array for all, valid until the next call. */
export const idWords: Int32Array = new Int32Array(4)

const bytes = Buffer.alloc(16)

/** Reads words 0 and 1 of an id of 128 bits in base64url; `false` for any other text. */
export function readIdHead(id: string): boolean {
  if (id.length !== LENGTH) return false
  const first = readFive(id, 0)
  const second = readFive(id, 5)
  const shared = readDigit(id, 10)
  idWords[0] = (first << 2) | (second >> 28)
  idWords[1] = (second << 4) | (shared >> 2)
  return (first | second | shared) >= 0
}

/** Reads words 2 and 3, which are enough to tell that an id is not there; `false` for any other text. */
export function readIdTail(id: string): boolean {
  if (id.length !== LENGTH) return false
  const shared = readDigit(id, 10)
  const third = readFive(id, 11)
  const fourth = readFive(id, 16)
  const last = readDigit(id, 21)
  idWords[2] = (shared << 30) | third
  idWords[3] = (fourth << 2) | (last >> 4)
  // RFC 4648 §3.5: of the last digit four bits are too much, and must be zero.
  return (shared | third | fourth | last) >= 0 && (last & 15) === 0
}

/** The id of four words. */
export function toId(w0: number, w1: number, w2: number, w3: number): string {
  bytes.writeInt32BE(w0, 0)
  bytes.writeInt32BE(w1, 4)
  bytes.writeInt32BE(w2, 8)
  bytes.writeInt32BE(w3, 12)
  return bytes.toString('base64url')
}

// 30 bits, or a negative number.
function readFive(id: string, at: number): number {
  const a = readDigit(id, at)
  const b = readDigit(id, at + 1)
  const c = readDigit(id, at + 2)
  const d = readDigit(id, at + 3)
  const e = readDigit(id, at + 4)
  return (a | b | c | d | e) < 0 ? -1 : (a << 24) | (b << 18) | (c << 12) | (d << 6) | e
}

function readDigit(id: string, at: number): number {
  return DIGITS[charCodeAt(id, at)] as number
}
