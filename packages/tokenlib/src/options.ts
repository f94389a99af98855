/** The names of an options object, checked by the compiler against its type. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>

/**
 * Throws `TypeError` unless `options` is an object with known names only: a misspelled option must not be ignored.
 *
 * `owner` is what the options belong to, as the caller wrote it: `createAccessToken()`. `names` has a member for each,
 * and `meant` the known name for unknown ones whose spelling does not lead to it.
 */
export function assertOptions(
  owner: string,
  options: unknown,
  names: object,
  meant: { readonly [name: string]: string | undefined } = {},
): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options) || isOtherObject(options)) {
    throw new TypeError(`The options of ${owner} must be an object`)
  }
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(names, name)) continue
    // A TokenConfig passed by itself, or its fields.
    if (Object.hasOwn(names, 'config') && name.startsWith('JWT_')) {
      throw new TypeError(`"${name}" is a field of TokenConfig: pass { config } to ${owner}`)
    }
    const known = Object.hasOwn(meant, name) ? [meant[name] as string] : Object.keys(names)
    throw new TypeError(unknownName('option', name, known, owner))
  }
}

// A request, a Map or a promise passed as options has no own names, and would be taken for "no options".
function isOtherObject(options: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(options)
  return prototype !== null && prototype !== Object.prototype && Object.keys(options).length === 0
}

/** The text for a name that does not exist; it suggests the nearest one that does. */
export function unknownName(what: string, name: string, known: readonly string[], owner?: string): string {
  const nearest = findNearest(name, known)
  const place = owner === undefined ? '' : ` of ${owner}`
  return `Unknown ${what} "${name}"${place}${nearest === null ? '' : `; did you mean "${nearest}"?`}`
}

function findNearest(name: string, known: readonly string[]): string | null {
  let nearest: string | null = null
  let smallest = Number.POSITIVE_INFINITY
  // No known name is longer, and the time this takes must not depend on the length of the input.
  const wanted = name.slice(0, MAX_NAME_LENGTH).toLowerCase()
  for (const candidate of known) {
    // In proportion to the length: "req" is nearer to "request" than to "ip".
    const distance = editDistance(wanted, candidate.toLowerCase()) / Math.max(wanted.length, candidate.length)
    if (distance < smallest) [nearest, smallest] = [candidate, distance]
  }
  return nearest
}

const MAX_NAME_LENGTH = 64

// Levenshtein, one row of the table at a time.
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const substitution = (row[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min((row[j] as number) + 1, (next[j - 1] as number) + 1, substitution))
    }
    row = next
  }
  return row.at(-1) as number
}
