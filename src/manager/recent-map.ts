/** Values by text, at most a fixed number of them; those not used for long are forgotten first. */
export interface RecentMap<Value> {
  get(key: string): Value | undefined
  set(key: string, value: Value): void
}

/**
 * A bounded map in two generations, each of half the size.
 *
 * What is used moves to the young one; when that is full it becomes the old one, and the old one is dropped whole.
 * So a hit costs one look-up and moves nothing, and nothing is ever scanned or timed.
 */
export function createRecentMap<Value>(size: number): RecentMap<Value> {
  const half = Math.max(1, Math.floor(size / 2))
  let young = new Map<string, Value>()
  let old = new Map<string, Value>()

  const set = (key: string, value: Value): void => {
    if (young.size >= half) {
      old = size > 1 ? young : new Map<string, Value>()
      young = new Map()
    }
    young.set(key, value)
  }

  return {
    set,
    get(key) {
      const recent = young.get(key)
      if (recent !== undefined) return recent
      const known = old.get(key)
      if (known !== undefined) {
        old.delete(key)
        set(key, known)
      }
      return known
    },
  }
}
