import { copyText, readCode } from '../encoding.js'

/** Values by token. The least recently used ones are dropped first. */
export interface RecentTokens<Value> {
  get(token: string): Value | undefined
  /** By the whole value of the header that brings the token: its scheme, a space and the token. */
  getByHeader(header: string): Value | undefined
  set(token: string, value: Value): void
}

/**
 * A bounded map in two generations, each of half the size. Entries that are used move to the young generation. When it is
 * full, it becomes the old one, and the previous old one is dropped. `prefix` precedes a token in its header.
 *
 * An entry is found by a few characters at the end, which a token and its header share, and then compared in full: to
 * hash a whole token takes longer than all else. The end of a signature that held is as good as random. A forged token
 * with the same end finds nothing, and of two genuine ones the younger takes the place.
 */
export function createRecentTokens<Value>(size: number, prefix: string): RecentTokens<Value> {
  type Entry = { readonly token: string; readonly header: string; readonly value: Value }
  const half = Math.max(1, Math.floor(size / 2))
  let young = new Map<number, Entry>()
  let old = new Map<number, Entry>()

  const add = (key: number, entry: Entry): void => {
    if (young.size >= half && !young.has(key)) {
      old = size > 1 ? young : new Map<number, Entry>()
      young = new Map()
    }
    young.set(key, entry)
  }

  const find = (text: string, isHeader: boolean): Value | undefined => {
    const key = toKey(text)
    const recent = young.get(key)
    const entry = recent ?? old.get(key)
    if (entry === undefined || text !== (isHeader ? entry.header : entry.token)) return undefined
    if (recent === undefined && old.delete(key)) add(key, entry)
    return entry.value
  }

  return {
    get: (token) => find(token, false),
    getByHeader: (header) => find(header, true),
    set(token, value) {
      // Flat copies: a token is a part of a header, with cookies one of kilobytes, and a flat text compares fastest.
      add(toKey(token), { token: copyText(token), header: copyText(prefix + token), value })
    },
  }
}

// A word of 32 bits for each token, so that hardly any two share a bit; but no more than four mebibytes, however many
// tokens are to be remembered: that number may be meant as "no limit".
const MAX_WORDS = 2 ** 20

/**
 * Returns a function that tells whether a token was verified recently. It may return `true` for a new token.
 *
 * Remembering costs more than verifying, so only a token that comes a second time is remembered.
 */
export function createSightings(size: number): (token: string) => boolean {
  const half = Math.min(MAX_WORDS, Math.max(1, Math.floor(size / 2)))
  const words = 2 ** Math.ceil(Math.log2(half))
  let young = new Int32Array(words)
  let old = new Int32Array(words)
  let count = 0
  return (token) => {
    const hash = Math.imul(toKey(token), 0x9e3779b1)
    const word = (hash >>> 5) & (words - 1)
    const bit = 1 << (hash & 31)
    if ((((young[word] as number) | (old[word] as number)) & bit) !== 0) return true
    if (count === half) {
      ;[young, old] = [old.fill(0), young]
      count = 0
    }
    young[word] = (young[word] as number) | bit
    count++
    return false
  }
}

// 28 bits. Not the last character, of which two or four bits are always zero.
function toKey(text: string): number {
  const end = text.length - 2
  return (
    readCode(text, end) ^
    (readCode(text, end - 1) << 7) ^
    (readCode(text, end - 2) << 14) ^
    (readCode(text, end - 3) << 21)
  )
}
