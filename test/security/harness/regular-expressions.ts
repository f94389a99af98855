/** A part of a regular expression that may be repeated. */
interface Item {
  readonly source: string
  /** Repeated without an end: `*`, `+` or `{2,}`. */
  readonly isEndless: boolean
  /** Has such a repetition inside. */
  readonly hasEndless: boolean
  /** The ways through it, if it is a group. */
  readonly ways: readonly string[]
}

/**
 * What makes a regular expression slow on a text of somebody's choosing, or `null`.
 *
 * Backtracking is more than linear where a text can be cut in many ways: a repetition in a repetition, two repetitions
 * side by side that take the same characters, or a repeated choice between ways that begin alike.
 */
export function findAmbiguity(pattern: string): string | null {
  const reader = { pattern, at: 0 }
  return readChoice(reader).problem
}

interface Reader {
  readonly pattern: string
  at: number
}

interface Choice {
  readonly problem: string | null
  readonly hasEndless: boolean
  readonly ways: readonly string[]
}

function readChoice(reader: Reader): Choice {
  const ways: string[] = []
  let problem: string | null = null
  let hasEndless = false
  for (;;) {
    const start = reader.at
    const items: Item[] = []
    while (reader.at < reader.pattern.length && !'|)'.includes(reader.pattern[reader.at] as string)) {
      const { item, problem: inner } = readItem(reader)
      problem ??= inner ?? findProblem(items.at(-1), item)
      hasEndless ||= item.isEndless || item.hasEndless
      items.push(item)
    }
    ways.push(reader.pattern.slice(start, reader.at))
    if (reader.pattern[reader.at] !== '|') return { problem, hasEndless, ways }
    reader.at++
  }
}

function readItem(reader: Reader): { item: Item; problem: string | null } {
  const start = reader.at
  let group: Choice = { problem: null, hasEndless: false, ways: [] }
  const char = reader.pattern[reader.at]
  if (char === '(') {
    reader.at += /^\((?:\?(?:[:=!]|<[=!]|<\w+>))?/.exec(reader.pattern.slice(reader.at))?.[0].length ?? 1
    group = readChoice(reader)
    reader.at++
  } else if (char === '[') {
    reader.at++
    while (reader.pattern[reader.at] !== ']') reader.at += reader.pattern[reader.at] === '\\' ? 2 : 1
    reader.at++
  } else
    reader.at +=
      /^(?:\\[pP]\{\w+\}|\\x..|\\u....|\\.|.)/su.exec(reader.pattern.slice(reader.at))?.[0].length ?? 1

  const source = reader.pattern.slice(start, reader.at)
  const quantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(reader.pattern.slice(reader.at))?.[0] ?? ''
  reader.at += quantifier.length
  const isEndless = /^(?:[*+]|\{\d+,\})/.test(quantifier)
  return {
    item: { source, isEndless, hasEndless: group.hasEndless, ways: group.ways },
    problem: group.problem,
  }
}

function findProblem(before: Item | undefined, item: Item): string | null {
  if (item.isEndless && item.hasEndless) return `a repetition in the repetition of ${item.source}`
  if (item.isEndless && before?.isEndless === true && isOverlapping(before.source, item.source)) {
    return `${before.source} and ${item.source} side by side`
  }
  const [first, ...others] = item.ways
  if (item.isEndless && first !== undefined && others.some((way) => isOverlapping(first, way))) {
    return `a repeated choice in ${item.source}`
  }
  return null
}

// Whether both take the same single character; all of Latin-1 is tried.
function isOverlapping(left: string, right: string): boolean {
  const [one, other] = [left, right].map((source) => new RegExp(`^(?:${source})$`, 'u')) as [RegExp, RegExp]
  return Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).some(
    (char) => one.test(char) && other.test(char),
  )
}
