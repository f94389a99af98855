/** How many characters in a row give a secret away. */
export const WINDOW = 8

/** Something a log, a client or a person could get to see. */
export interface ShownText {
  /** What kind of text it is. */
  readonly origin: string
  readonly text: string
}

/** Where eight characters were first seen. */
export interface Sighting extends ShownText {
  readonly offset: number
}

/** Every eight characters in a row that were ever shown. */
export interface ShownWindows {
  /** How many different texts there are. */
  readonly size: number
  /** Adds a text. Returns `false` if the same text was added before. */
  add(shown: ShownText): boolean
  /** Calls back for every window of a secret that was shown, in order. */
  search(secret: string, found: (at: number, sighting: Sighting) => void): void
}

// What is longer is the fault of a test, and no table could hold it.
const LONGEST = 200_000
const HALF = WINDOW / 2
const BITS = 7
const MASK = 2 ** (HALF * BITS) - 1
const LAST_ASCII = 0x7f

/** A text as it is compared: an inspected list breaks its lines and fills them up as it likes. */
export function toComparable(text: string): string {
  // Most texts have no white space to collapse, and replacing every single space with itself is slow.
  return /[^\S ]| {2}/.test(text) ? text.replaceAll(/\s+/g, ' ') : text
}

/**
 * An exact set of windows.
 *
 * Eight ASCII characters are two numbers of 28 bits, kept in an open hash table: a set of strings would need ten
 * times the memory and time, and a filter that may err would cry wolf. The few windows beyond ASCII are strings.
 */
export function createShownWindows(): ShownWindows {
  const shown: ShownText[] = []
  const known = new Set<string>()
  const others = new Map<string, Sighting>()
  let table = createTable(2 ** 14)

  return {
    get size() {
      return shown.length
    },
    add({ origin, text: whole }) {
      if (known.has(whole)) return false
      known.add(whole)
      const text = toComparable(whole.slice(0, LONGEST))
      const number = shown.push({ origin, text })
      slide(
        text,
        (left, right, offset) => {
          if (table.count * 2 > table.capacity) table = grow(table)
          insert(table, left, right, number, offset)
        },
        (window, offset) => {
          if (!others.has(window)) others.set(window, { origin, text, offset })
        },
      )
      return true
    },
    search(secret, found) {
      slide(
        toComparable(secret),
        (left, right, at) => {
          const slot = slotOf(table, left, right)
          const number = table.text[slot] as number
          if (number === 0) return
          found(at, { ...(shown[number - 1] as ShownText), offset: table.offset[slot] as number })
        },
        (window, at) => {
          const sighting = others.get(window)
          if (sighting !== undefined) found(at, sighting)
        },
      )
    },
  }
}

interface Table {
  readonly capacity: number
  readonly left: Int32Array
  readonly right: Int32Array
  /** The number of the text, from one on; nought for a free slot. */
  readonly text: Int32Array
  readonly offset: Int32Array
  count: number
}

function createTable(capacity: number): Table {
  const column = (): Int32Array => new Int32Array(capacity)
  return { capacity, left: column(), right: column(), text: column(), offset: column(), count: 0 }
}

function grow(old: Table): Table {
  const table = createTable(old.capacity * 2)
  old.text.forEach((text, slot) => {
    if (text === 0) return
    insert(table, old.left[slot] as number, old.right[slot] as number, text, old.offset[slot] as number)
  })
  return table
}

function insert(table: Table, left: number, right: number, text: number, offset: number): void {
  const slot = slotOf(table, left, right)
  if (table.text[slot] !== 0) return
  table.left[slot] = left
  table.right[slot] = right
  table.text[slot] = text
  table.offset[slot] = offset
  table.count++
}

// Linear probing; the capacity is a power of two, and at most half of it is used.
function slotOf(table: Table, left: number, right: number): number {
  const last = table.capacity - 1
  let hash = Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca77)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  let slot = (hash ^ (hash >>> 13)) & last
  while (table.text[slot] !== 0 && (table.left[slot] !== left || table.right[slot] !== right)) {
    slot = (slot + 1) & last
  }
  return slot
}

// Two halves of a window slide over the text, one behind the other.
function slide(
  text: string,
  visit: (left: number, right: number, at: number) => void,
  visitOther: (window: string, at: number) => void,
): void {
  let left = 0
  let right = 0
  let other = -1
  for (let end = 0; end < text.length; end++) {
    const code = text.charCodeAt(end)
    if (code > LAST_ASCII) other = end
    right = ((right << BITS) | (code & LAST_ASCII)) & MASK
    if (end >= HALF) left = ((left << BITS) | (text.charCodeAt(end - HALF) & LAST_ASCII)) & MASK
    const at = end - WINDOW + 1
    if (at < 0) continue
    if (other < at) visit(left, right, at)
    else if (isTelling(text.slice(at, end + 1))) visitOther(text.slice(at, end + 1), at)
  }
}

// Bytes that are no UTF-8 all become the same character.
function isTelling(window: string): boolean {
  return window.replaceAll('\uFFFD', '').length >= HALF
}
