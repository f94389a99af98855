// Commas: between members of objects and elements of lists, together.
const MAX_JSON_COMMAS = 1024

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** How deep a JWT header or claims set may be nested. */
export const MAX_JSON_DEPTH = 32

/** A value that JSON carries unchanged. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [member: string]: JsonValue }

/**
 * The JSON object in a text, frozen to the bottom, or `null`: bad JSON, too deep or too large, not an object.
 *
 * `maxCommas` is for documents that are larger than a token, and whose size is limited otherwise.
 */
export function readJsonObject(text: string, maxCommas?: number): Record<string, unknown> | null {
  if (!isWithinJsonLimits(text, maxCommas)) return null
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (!isJsonObject(value)) return null
  return isFlatJson(text) ? Object.freeze(value) : deepFreeze(value)
}

function deepFreeze<Value extends object>(value: Value): Value {
  for (const member of Object.values(value) as unknown[]) {
    if (typeof member === 'object' && member !== null) deepFreeze(member)
  }
  return Object.freeze(value)
}

/** Whether a JSON text is shallow and small enough to be parsed; one pass, before JSON.parse can recurse or allocate. */
export function isWithinJsonLimits(text: string, maxCommas: number = MAX_JSON_COMMAS): boolean {
  return (text.length <= MAX_JSON_COMMAS && isFlatJson(text)) || countMembers(text, maxCommas) !== null
}

// Whether a JSON object certainly has no nested ones: true of most claims.
function isFlatJson(text: string): boolean {
  return !text.includes('{', 1) && !text.includes('[')
}

/** Whether a parsed JSON value is an object: not `null`, not an array. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether the object in a JSON text has a member twice (RFC 7515 §4); `JSON.parse` keeps only the last one. */
export function hasDuplicateMembers(text: string): boolean {
  return countMembers(text, MAX_JSON_COMMAS) !== Object.keys(JSON.parse(text) as object).length
}

/** Whether an object at any depth of a valid JSON text has a member twice. */
export function hasNestedDuplicates(text: string): boolean {
  return countMembers(text, MAX_JSON_COMMAS, MAX_JSON_DEPTH) !== countParsed(JSON.parse(text))
}

function countParsed(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const members: readonly unknown[] = Object.values(value)
  const own = Array.isArray(value) ? 0 : members.length
  return members.reduce<number>((sum, member) => sum + countParsed(member), own)
}

/** Makes `console.log` and `util.inspect` show instances of a class as their `toJSON()` does, secrets hidden. */
export function inspectAsJson(type: {
  readonly name: string
  readonly prototype: { toJSON(): object }
}): void {
  Object.defineProperty(type.prototype, Symbol.for('nodejs.util.inspect.custom'), {
    value(
      this: { toJSON(): object },
      _depth: number,
      _options: object,
      inspect: (value: unknown) => string,
    ): string {
      return `${type.name} ${inspect(this.toJSON())}`
    },
  })
}

// How many members the objects of a JSON text have down to a depth, by default the outermost one alone, or `null` as soon
// as the text is too deep or too large.
function countMembers(text: string, maxCommas: number, countedDepth = 1): number | null {
  let depth = 0
  let commas = 0
  let members = 0
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at)
        break
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (++depth > MAX_JSON_DEPTH) return null
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--
        break
      case COMMA:
        if (++commas > maxCommas) return null
        break
      case COLON:
        if (depth <= countedDepth) members++
    }
  }
  return members
}

// The index of the quote that closes the string opened at `start`, or the end of the text.
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === BACKSLASH) at++
    else if (char === QUOTE) return at
  }
  return text.length
}
