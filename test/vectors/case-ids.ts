/** The ids of a list such as `1-3, 7`; only numbers have ranges. */
export function parseCaseIds(list: string): string[] {
  return list.split(', ').flatMap((part) => {
    const range = /^(\d+)-(\d+)$/.exec(part)
    if (range === null) return [part]
    const [first, last] = [Number(range[1]), Number(range[2])]
    return Array.from({ length: last - first + 1 }, (_, index) => String(first + index))
  })
}

/** The ids as a list that `parseCaseIds` reads, runs of numbers folded. */
export function foldCaseIds(ids: readonly string[]): string {
  const parts: string[] = []
  for (let at = 0; at < ids.length;) {
    let end = at
    while (/^\d+$/.test(ids[end] ?? '') && ids[end + 1] === String(Number(ids[end]) + 1)) end++
    parts.push(end === at ? (ids[at] as string) : `${ids[at]}-${ids[end]}`)
    at = end + 1
  }
  return parts.join(', ')
}
