/** How a JSON text is built, read from the text itself: a parsed value has forgotten most of it. */
export interface JsonShape {
  /** How many arrays and objects lie inside each other, at most. */
  readonly depth: number
  /** Commas between members of objects and elements of arrays. */
  readonly separators: number
  /** The names of the outermost object, escapes resolved, in order. */
  readonly names: readonly string[]
}

// A string, or one character of structure; what else a JSON text may have is of no interest here.
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/gsu

/** The shape of a text that is known to be JSON. */
export function readJsonShape(text: string): JsonShape {
  const tokens = text.match(TOKEN) ?? []
  const names: string[] = []
  let [level, depth, separators] = [0, 0, 0]
  for (const [at, token] of tokens.entries()) {
    if (token === '{' || token === '[') depth = Math.max(depth, ++level)
    else if (token === '}' || token === ']') level--
    else if (token === ',') separators++
    else if (token !== ':' && level === 1 && tokens[at + 1] === ':') names.push(JSON.parse(token) as string)
  }
  return { depth, separators, names }
}
