import { type Clock, type Duration, isClock, parseDuration } from './time.js'

/** What an option, or a field of the configuration, accepts. */
export interface Kind<Value> {
  /** What the error message says the value must be: `issuer must be a non-empty string`. */
  readonly expected: string
  /** Whether the option is required. */
  readonly isRequired?: boolean
  /** Whether an inherited value is ignored, because nobody chose it here. */
  readonly isOwn?: boolean
  readonly isValid: (value: unknown) => value is Value
  /** Parses the value of an environment variable. The result is checked like any other value. */
  readonly fromText: (text: string) => unknown
}

/** The kind of every option, checked by the compiler against the type of the options. */
export type OptionKinds<Options> = {
  readonly [Name in keyof Options]-?: Kind<Exclude<Options[Name], undefined>>
}

/**
 * Returns a checked copy of options, including their lists. An option that is `undefined` counts as left out.
 *
 * Throws `TypeError` for an unknown name, and the error of `toError` for a wrong value or a missing required option.
 * `assertOptions` explains `owner` and `meant`.
 *
 * @example
 * const LIST_OPTIONS: OptionKinds<ListOptions> = { uid: required(text), limit: count(1), isOpen: flag }
 * const { uid, limit = 100 } = parseOptions('list()', given, LIST_OPTIONS)
 */
export function parseOptions<Options extends object>(
  owner: string,
  given: Options,
  // `Kind<unknown>`: the table was type-checked at its declaration, possibly for other type parameters.
  kinds: { readonly [Name in keyof Options]-?: Kind<unknown> },
  meant?: Parameters<typeof assertOptions>[3],
  toError: (problem: string) => Error = (problem) => new TypeError(problem),
): Options {
  assertOptions(owner, given, kinds, meant)
  const parsed: Record<string, unknown> = {}
  // No Object.entries: `verify` parses its options for every token.
  for (const name in kinds) {
    if (!Object.hasOwn(kinds, name)) continue
    const kind: Kind<unknown> = kinds[name]
    const value = readOption(given, name, kind.isOwn)
    if (value === undefined ? kind.isRequired === true : !kind.isValid(value)) {
      throw toError(`${name} must be ${kind.expected}`)
    }
    if (value !== undefined) parsed[name] = Array.isArray(value) ? (value as unknown[]).slice() : value
  }
  return parsed as Options
}

// Options may inherit from a class or from other options: ignoring an inherited requirement would open a route. Members of
// Object.prototype do not count: they are pollution.
function readOption(given: object, name: string, isOwn = false): unknown {
  for (let at: object | null = given; at !== null && at !== Object.prototype; at = toPrototype(at)) {
    if (Object.hasOwn(at, name)) return given[name as never]
    if (isOwn) return undefined
  }
  return undefined
}

function toPrototype(value: object): object | null {
  return Object.getPrototypeOf(value) as object | null
}

/** A kind for values that pass a test. */
export function kindOf<Value>(
  expected: string,
  isValid: (value: unknown) => boolean,
  fromText: (text: string) => unknown = (value) => value,
): Kind<Value> {
  return { expected, isValid: isValid as Kind<Value>['isValid'], fromText }
}

/** The same kind, for a required option. */
export function required<Value>(kind: Kind<Value>): Kind<Value> {
  return { ...kind, isRequired: true }
}

/** The same kind, or `null`. */
export function orNull<Value>({ expected, isValid, fromText }: Kind<Value>): Kind<Value | null> {
  return kindOf(expected, (value) => value === null || isValid(value), fromText)
}

/** Strings that pass a test. */
export function textLike<Value extends string = string>(
  expected: string,
  test: (value: string) => boolean,
): Kind<Value> {
  return kindOf(expected, (value) => typeof value === 'string' && test(value))
}

/** A non-empty string. */
export const text: Kind<string> = textLike('a non-empty string', (value) => value !== '')

/** A string, empty or not. */
export const anyText: Kind<string> = textLike('a string', () => true)

/** One of a few values. */
export function choice<Value extends string | number>(values: readonly Value[]): Kind<Value> {
  return kindOf(`one of ${values.join(', ')}`, (value) => values.includes(value as Value))
}

/** A list of one kind. In an environment variable: comma-separated, or a JSON array. */
export function listOf<Value>(kind: Kind<Value>, minimum = 1): Kind<readonly Value[]> {
  return kindOf(
    `${minimum === 0 ? 'a list' : 'a non-empty list'}, each ${kind.expected}`,
    (value) => Array.isArray(value) && value.length >= minimum && value.every((item) => kind.isValid(item)),
    (value) => readJsonList(value) ?? readCommaList(value),
  )
}

/** A value of one kind, or a list of it. */
export function oneOrMore<Value>(kind: Kind<Value>, minimum = 1): Kind<Value | readonly Value[]> {
  const { expected, isValid, fromText } = listOf(kind, minimum)
  return kindOf(
    `${kind.expected}, or ${expected}`,
    (value) => kind.isValid(value) || isValid(value),
    fromText,
  )
}

/** An object with values of one kind, under any names. */
export function recordOf<Value>(kind: Kind<Value>): Kind<Readonly<Record<string, Value>>> {
  return kindOf(
    `an object, each value ${kind.expected}`,
    (value) => isOptionsObject(value) && Object.values(value).every((item) => kind.isValid(item)),
  )
}

/** `true` or `false`. */
export const flag: Kind<boolean> = kindOf(
  'true or false',
  (value) => typeof value === 'boolean',
  (value) => BOOLEANS[value.trim().toLowerCase()] ?? value,
)

/** A flag that leaves a check out: only one of the options themselves counts. */
export const ownFlag: Kind<boolean> = { ...flag, isOwn: true }

/** A function. */
export function callable<Value extends (...args: never[]) => unknown>(expected = 'a function'): Kind<Value> {
  return kindOf(expected, (value) => typeof value === 'function')
}

/** A clock: a function, and if it has a scheduler, a complete one. */
export const clockKind: Kind<Clock> = kindOf(
  'a function; its scheduler, if it has one, has monotonicNow(), setTimeout() and clearTimeout()',
  isClock,
)

/** Any value: the function that uses the option checks it. */
export function unchecked<Value>(expected = 'given'): Kind<Value> {
  return kindOf(expected, () => true)
}

/** A valid `Date`. */
export const date: Kind<Date> = kindOf(
  'a valid Date',
  (value) => value instanceof Date && !Number.isNaN(value.getTime()),
)

/** A whole number in a range. */
export function count(minimum: number, maximum: number = Number.MAX_SAFE_INTEGER): Kind<number> {
  const isLimited = maximum < Number.MAX_SAFE_INTEGER
  return kindOf(
    `a whole number${isLimited ? ` from ${minimum} to ${maximum}` : `, at least ${minimum}`}`,
    (value) => Number.isSafeInteger(value) && (value as number) >= minimum && (value as number) <= maximum,
    (value) => (/^\d+$/.test(value.trim()) ? Number(value) : value),
  )
}

/** A duration whose seconds pass a test. In an environment variable also bare seconds and `hh:mm:ss`. */
export function duration(
  expected = "a duration: seconds, a number with a unit ('15m') or ISO 8601 ('PT15M')",
  test: (seconds: number) => boolean = () => true,
): Kind<Duration> {
  const isValid = (value: unknown): boolean => {
    try {
      return test(parseDuration(value as Duration))
    } catch {
      return false
    }
  }
  return kindOf(expected, isValid, (value) => readClock(value.trim()) ?? value.trim())
}

/** A duration of whole seconds, at least one. */
export const wholeSeconds: Kind<Duration> = duration(
  "a duration of whole seconds, at least 1 (900, '15m', 'PT15M')",
  (seconds) => Number.isSafeInteger(seconds) && seconds >= 1,
)

const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  1: true,
  yes: true,
  false: false,
  0: false,
  no: false,
}

function readJsonList(value: string): unknown[] | null {
  if (!value.trimStart().startsWith('[')) return null
  try {
    return JSON.parse(value) as unknown[]
  } catch {
    return null
  }
}

function readCommaList(value: string): string | string[] {
  return value.includes(',') ? value.split(',').map((item) => item.trim()) : value.trim()
}

function readClock(value: string): number | null {
  if (/^\d+$/.test(value)) return Number(value)
  const clock = /^(\d{1,3}):([0-5]\d):([0-5]\d)$/.exec(value)
  return clock && Number(clock[1]) * 3600 + Number(clock[2]) * 60 + Number(clock[3])
}

/**
 * Throws `TypeError` unless `options` is an object with known names only: a misspelled option must not be ignored.
 *
 * `owner` is the function that takes the options, as the caller wrote it: `createAccessToken()`. `names` has a member for
 * each option. `meant` maps unknown names to the known name that was probably meant, if the spelling is too different.
 */
export function assertOptions(
  owner: string,
  options: unknown,
  names: object,
  meant: { readonly [name: string]: string | undefined } = {},
): void {
  if (!isOptionsObject(options)) throw new TypeError(`The options of ${owner} must be an object`)
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(names, name)) continue
    // The caller passed a TokenConfig, or its fields, instead of { config }.
    if (Object.hasOwn(names, 'config') && name.startsWith('JWT_')) {
      throw new TypeError(`"${name}" is a field of TokenConfig: pass { config } to ${owner}`)
    }
    const known = Object.hasOwn(meant, name) ? [meant[name] as string] : Object.keys(names)
    throw new TypeError(unknownName('option', name, known, owner, `. Known: ${known.join(', ')}`))
  }
}

// A request, a Map or a promise has no own names, so it would count as "no options".
function isOptionsObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype = toPrototype(value)
  return prototype === null || prototype === Object.prototype || Object.keys(value).length > 0
}

/** The message for an unknown name. It suggests the closest known one or, if none is close, ends with `otherwise`. */
export function unknownName(
  what: string,
  name: string,
  known: readonly string[],
  owner?: string,
  otherwise = '',
): string {
  const nearest = findNearest(name, known)
  const place = owner === undefined ? '' : ` of ${owner}`
  return `Unknown ${what} "${name}"${place}${nearest === null ? otherwise : `; did you mean "${nearest}"?`}`
}

function findNearest(name: string, known: readonly string[]): string | null {
  let nearest: string | null = null
  // A single known name is always suggested, however different it is.
  let smallest = known.length === 1 ? Number.POSITIVE_INFINITY : MAX_DISTANCE
  // No known name is longer, and the running time must not depend on the length of the input.
  const wanted = name.slice(0, MAX_NAME_LENGTH).toLowerCase()
  for (const candidate of known) {
    // Relative to the length: "req" is closer to "request" than to "ip".
    const distance = editDistance(wanted, candidate.toLowerCase()) / Math.max(wanted.length, candidate.length)
    if (distance < smallest) [nearest, smallest] = [candidate, distance]
  }
  return nearest
}

const MAX_NAME_LENGTH = 64
// The share of the longer name that may differ. With more, it is another word, not a misspelling.
const MAX_DISTANCE = 0.6

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
