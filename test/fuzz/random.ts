/** A source of numbers that a seed determines, the same on every machine. */
export interface Random {
  /** A whole number from 0 up to, and not including, `below`. */
  integer(below: number): number
  /** `true` once in `times` times. */
  oneIn(times: number): boolean
  pick<Item>(items: readonly Item[]): Item
  bytes(size: number): Buffer
}

/** The numbers of a seed; each `stream` of it is independent of the others, so that one case can be made alone. */
export function createRandom(seed: number, stream: number): Random {
  // Two words of state, each stepped by an odd constant of its own: neighbouring streams share nothing visible.
  let low = mix(seed ^ 0x5bd1e995)
  let high = mix(stream + 0x27d4eb2f) ^ low
  const next = (): number => {
    low = (low + 0x9e3779b9) | 0
    high = (Math.imul(high, 0x915f77f5) + 0x6a09e667) | 0
    return mix(low ^ mix(high))
  }
  const integer = (below: number): number => Math.floor((next() / 2 ** 32) * below)

  return {
    integer,
    oneIn: (times) => integer(times) === 0,
    pick(items) {
      if (items.length === 0) throw new RangeError('There is nothing to pick from')
      return items[integer(items.length)] as (typeof items)[number]
    },
    bytes: (size) => Buffer.from(Array.from({ length: size }, () => integer(256))),
  }
}

// Spreads every bit of a word over the whole word; the shifts and factors are those of a well-known hash finaliser.
function mix(word: number): number {
  let mixed = word | 0
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
