/** A source of numbers that a seed decides. */
export interface Random {
  /** From 0 up to, not including, 1. */
  readonly next: () => number
  /** A whole number from 0 up to, not including, a limit. */
  readonly below: (limit: number) => number
  /** A number between two others. */
  readonly between: (least: number, most: number) => number
  readonly chance: (probability: number) => boolean
  readonly pick: <Value>(values: readonly Value[]) => Value
  readonly bytes: (size: number) => Uint8Array
  /** A time between two events that come at random, `mean` apart on average. */
  readonly interval: (mean: number) => number
  /** Another source, which is used without an effect on this one. */
  readonly fork: (name: string) => Random
}

/** The numbers of a seed: xoshiro128**, by Blackman and Vigna. */
export function createRandom(seed: string): Random {
  let [a, b, c, d] = hash(seed)

  const word = (): number => {
    const result = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0
    const shifted = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = rotate(d, 11)
    return result
  }

  const next = (): number => word() / 2 ** 32
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    next,
    below,
    between: (least, most) => least + next() * (most - least),
    chance: (probability) => next() < probability,
    pick: <Value>(values: readonly Value[]) => values[below(values.length)] as Value,
    bytes: (size) => Uint8Array.from({ length: size }, () => below(256)),
    interval: (mean) => -Math.log(1 - next()) * mean,
    fork: (name) => createRandom(`${seed}/${name}`),
  }
}

function rotate(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by))
}

function hash(text: string): [number, number, number, number] {
  return [hashWord(text, 0), hashWord(text, 1), hashWord(text, 2), hashWord(text, 3)]
}

// FNV-1a, each time with another start.
function hashWord(text: string, at: number): number {
  let value = Math.imul(0x811c9dc5 ^ at, 0x9e3779b1)
  for (const character of text) value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return value ^ (value >>> 15)
}
