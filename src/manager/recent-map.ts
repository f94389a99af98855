/** Values by token, at most a fixed number of them; those not used for long are forgotten first. */
export interface RecentMap<Value> {
  get(token: string): Value | undefined
  set(token: string, value: Value): void
}

interface Entry<Value> {
  readonly token: string
  readonly value: Value
}

/**
 * A bounded map in two generations, each of half the size.
 *
 * What is used moves to the young one; when that is full it becomes the old one, and the old one is dropped whole.
 * So a hit costs one look-up and moves nothing, and nothing is ever scanned or timed.
 *
 * An entry is found by the end of its token and then compared in full: to hash a whole token takes longer than all
 * else. The end of a signature is as good as random, and who has a token like another one's but for its beginning
 * finds nothing.
 */
export function createRecentMap<Value>(size: number): RecentMap<Value> {
  const half = Math.max(1, Math.floor(size / 2))
  let young = new Map<string, Entry<Value>>()
  let old = new Map<string, Entry<Value>>()

  const add = (key: string, entry: Entry<Value>): void => {
    if (young.size >= half && !young.has(key)) {
      old = size > 1 ? young : new Map<string, Entry<Value>>()
      young = new Map()
    }
    young.set(key, entry)
  }

  return {
    set: (token, value) => add(toKey(token), { token: copyText(token), value }),
    get(token) {
      const key = toKey(token)
      const recent = young.get(key)
      if (recent !== undefined) return recent.token === token ? recent.value : undefined
      const known = old.get(key)
      if (known?.token !== token) return undefined
      old.delete(key)
      add(key, known)
      return known.value
    },
  }
}

// So short that V8 copies the characters: a longer part of a text keeps the whole text alive.
function toKey(token: string): string {
  return token.slice(-12)
}

// A token is a part of a header, and would keep all of that alive: with cookies, kilobytes.
function copyText(token: string): string {
  return Buffer.from(token, 'latin1').toString('latin1')
}
