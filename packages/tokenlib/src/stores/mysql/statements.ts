/** A parameter that is a number. Numbers travel as text, and a comparison with a text could pass by an index. */
export const asNumber = 'cast(? as signed)'

/** The time of the server, whatever the time zone of the connection is. */
export const serverNowSql = "timestampdiff(microsecond, '1970-01-01 00:00:00', utc_timestamp(6)) div 1000"

/** The time of the store: a clock that was passed in as a parameter, else the server's. */
export const nowSql: string = `coalesce(${asNumber}, ${serverNowSql})`

/** A whole number in the text of a statement: a `limit` takes no parameter that is sent as text. */
export function toLimit(count: number): string {
  if (!Number.isSafeInteger(count) || count < 0) throw new TypeError('A limit must be a whole number')
  return String(count)
}

// Few sizes, so that connections have few statements to prepare.
const SIZES = [1, 8, 64, 512]

/** Cuts a list into parts of a few sizes. The last one is filled up with copies of its last item. */
export function* inParts<Item>(items: readonly Item[]): Iterable<readonly Item[]> {
  const largest = SIZES.at(-1) as number
  for (let from = 0; from < items.length; from += largest) {
    const part = items.slice(from, from + largest)
    const size = SIZES.find((one) => one >= part.length) as number
    const last = part.at(-1) as Item
    yield [...part, ...Array.from({ length: size - part.length }, () => last)]
  }
}

/** As many copies of a text as there are items. */
export function repeat(text: string, items: readonly unknown[]): string {
  return items.map(() => text).join()
}

/** Items by a text of each; Node 20 has no `Map.groupBy`. */
export function groupBy<Item>(
  items: readonly Item[],
  toGroup: (item: Item) => string,
): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const group = groups.get(toGroup(item))
    if (group === undefined) groups.set(toGroup(item), [item])
    else group.push(item)
  }
  return groups
}
