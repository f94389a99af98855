import { copyText } from '../encoding.js'

/** Values by token, at most a fixed number of them; those not used for long are forgotten first. */
export interface RecentMap<Value extends object> {
  get(token: string): Value | undefined
  set(token: string, value: Value): void
}

type Entry<Value> = Value & { readonly token: string }

/**
 * A bounded map in two generations, each of half the size.
 *
 * What is used moves to the young one; when that is full it becomes the old one, and the old one is dropped whole.
 * So a hit costs one look-up and moves nothing, and nothing is ever scanned or timed.
 *
 * An entry is found by a few characters at the end of its token, and then compared in full: to hash a whole token takes
 * longer than all else. The end of a signature that held is as good as random. A forged token with the same end finds
 * nothing, and of two genuine ones the younger takes the place.
 */
export function createRecentMap<Value extends object>(size: number): RecentMap<Value> {
  const half = Math.max(1, Math.floor(size / 2))
  let young = new Map<number, Entry<Value>>()
  let old = new Map<number, Entry<Value>>()

  const add = (key: number, entry: Entry<Value>): void => {
    if (young.size >= half && !young.has(key)) {
      old = size > 1 ? young : new Map<number, Entry<Value>>()
      young = new Map()
    }
    young.set(key, entry)
  }

  return {
    // A token is a part of a header, with cookies one of kilobytes.
    set: (token, value) => add(toKey(token), { ...value, token: copyText(token) }),
    get(token) {
      const key = toKey(token)
      const recent = young.get(key)
      if (recent !== undefined) return recent.token === token ? recent : undefined
      const known = old.get(key)
      if (known?.token !== token) return undefined
      old.delete(key)
      add(key, known)
      return known
    },
  }
}

// 28 bits. Not the last character, of which two or four bits are always zero.
function toKey(token: string): number {
  const end = token.length - 2
  return (
    token.charCodeAt(end) ^
    (token.charCodeAt(end - 1) << 7) ^
    (token.charCodeAt(end - 2) << 14) ^
    (token.charCodeAt(end - 3) << 21)
  )
}
