import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

/**
 * What built-in functions were given to look at while something ran, in characters, bytes or elements.
 *
 * Two things are out of reach of any wrapper, `===` and `+`; neither looks at more than one of its sides' lengths
 * before a refusal. Nor is `readCode` counted, by which short texts are read: MACs of up to 1,024 characters, claims of up
 * to 256, and ids. Everything else that reads, copies, splits or parses a text or a list is here.
 */
export interface Work {
  readonly total: number
  /** By function: `String.split`, `JSON.parse`. */
  readonly by: Readonly<Record<string, number>>
}

/** How something ended, and what it cost. */
export interface Counted {
  readonly work: Work
  /** What was thrown, or `null`. */
  readonly error: unknown
}

/** Runs something and counts its work. Not to be nested. */
export async function countWork(run: () => unknown): Promise<Counted> {
  const by = Object.create(null) as Record<string, number>
  const restore = installProbes((label, amount) => void (by[label] = (by[label] ?? 0) + amount))
  let error: unknown = null
  try {
    await run()
  } catch (thrown) {
    error = thrown
  } finally {
    restore()
  }
  return { error, work: { by, total: Object.values(by).reduce((sum, amount) => sum + amount, 0) } }
}

type Measure = (self: unknown, args: readonly unknown[], result: unknown) => number
type Add = (label: string, amount: number) => void
type AnyFunction = (this: unknown, ...args: unknown[]) => unknown

interface Probe {
  readonly owner: object
  readonly names: readonly PropertyKey[]
  readonly label: string
  readonly measure: Measure
}

const sizeOf = (value: unknown): number => {
  if (typeof value === 'string' || Array.isArray(value)) return value.length
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer ? value.byteLength : 0
}
const ofSelf: Measure = (self) => sizeOf(self)
const ofFirst: Measure = (_self, [first]) => sizeOf(first)
const ofSecond: Measure = (_self, [, second]) => sizeOf(second)
const ofResult: Measure = (_self, _args, result) => sizeOf(result)
const one: Measure = () => 1

// A search ends at what it finds.
const ofSearch: Measure = (self, [needle, from = 0], result) => {
  const rest = Math.max(0, sizeOf(self) - Number(from))
  return typeof result === 'number' && result >= 0 ? result - Number(from) + sizeOf(needle) : rest
}
const ofLastSearch: Measure = (self, [, from], result) => {
  const start = Math.min(Number(from ?? sizeOf(self)), sizeOf(self))
  return typeof result === 'number' && result >= 0 ? start - result : start
}
// Of a buffer that is used again and again, a part.
const ofRange: Measure = (self, [, start = 0, end = sizeOf(self)]) => Number(end) - Number(start)
// It says only that there is one, so the place is looked up once more.
const { indexOf } = String.prototype
const ofIncludes: Measure = (self, [needle, from = 0]) =>
  ofSearch(self, [needle, from], indexOf.call(self as string, needle as string, Number(from)))

// A split with a limit ends there; every piece is a text of its own.
const ofSplit: Measure = (self, [, limit], result) => {
  const pieces = result as readonly string[] | undefined
  if (limit === undefined || pieces === undefined) return sizeOf(self) + (pieces?.length ?? 0)
  let length = pieces.length
  for (let at = 0; at < pieces.length; at++) length += (pieces[at] as string).length
  return length
}
// Of a single element nothing is copied.
const ofJoin: Measure = (self, _args, result) => (sizeOf(self) > 1 ? sizeOf(result) : 0)
const ofMembers: Measure = (_self, [first], result) =>
  sizeOf(result) || (typeof first === 'string' ? first.length : 0)
const ofConcat: Measure = (_self, [list]) => {
  let size = 0
  const parts = list as readonly unknown[]
  for (let at = 0; at < parts.length; at++) size += sizeOf(parts[at])
  return size
}

const PROBES: readonly Probe[] = [
  {
    owner: String.prototype,
    label: 'String',
    names: ['replace', 'replaceAll', 'match', 'matchAll', 'search', 'normalize', 'localeCompare'],
    measure: ofSelf,
  },
  {
    owner: String.prototype,
    label: 'String',
    names: ['trim', 'trimStart', 'trimEnd', 'toLowerCase', 'toUpperCase', 'toLocaleLowerCase'],
    measure: ofSelf,
  },
  { owner: String.prototype, label: 'String', names: [Symbol.iterator, 'isWellFormed'], measure: ofSelf },
  { owner: String.prototype, label: 'String', names: ['lastIndexOf'], measure: ofLastSearch },
  { owner: String.prototype, label: 'String', names: ['indexOf'], measure: ofSearch },
  { owner: String.prototype, label: 'String', names: ['includes'], measure: ofIncludes },
  { owner: String.prototype, label: 'String', names: ['split'], measure: ofSplit },
  {
    owner: String.prototype,
    label: 'String',
    names: ['slice', 'substring', 'substr', 'concat', 'repeat', 'padStart', 'padEnd'],
    measure: ofResult,
  },
  { owner: String.prototype, label: 'String', names: ['startsWith', 'endsWith'], measure: ofFirst },
  {
    owner: String.prototype,
    label: 'String',
    names: ['charCodeAt', 'codePointAt', 'charAt', 'at'],
    measure: one,
  },
  // `test`, and the methods of strings that take a regular expression, call it too.
  { owner: RegExp.prototype, label: 'RegExp', names: ['exec'], measure: ofFirst },
  { owner: RegExp.prototype, label: 'RegExp', names: [Symbol.split], measure: ofFirst },
  { owner: Array.prototype, label: 'Array', names: ['join'], measure: ofJoin },
  {
    owner: Array.prototype,
    label: 'Array',
    names: ['map', 'filter', 'flatMap', 'flat', 'some', 'every', 'find', 'findIndex', 'includes', 'indexOf'],
    measure: ofSelf,
  },
  {
    owner: Array.prototype,
    label: 'Array',
    names: ['reduce', 'forEach', 'slice', 'sort', 'reverse'],
    measure: ofSelf,
  },
  { owner: Array, label: 'Array', names: ['from'], measure: ofMembers },
  { owner: Object, label: 'Object', names: ['keys', 'values', 'entries'], measure: ofResult },
  { owner: Object, label: 'Object', names: ['getOwnPropertyNames'], measure: ofResult },
  { owner: Map.prototype, label: 'Map', names: ['get', 'has', 'set', 'delete'], measure: ofFirst },
  { owner: Set.prototype, label: 'Set', names: ['has', 'add', 'delete'], measure: ofFirst },
  { owner: JSON, label: 'JSON', names: ['parse'], measure: ofFirst },
  { owner: JSON, label: 'JSON', names: ['stringify'], measure: ofResult },
  { owner: Buffer, label: 'Buffer', names: ['from', 'byteLength'], measure: ofFirst },
  { owner: Buffer, label: 'Buffer', names: ['concat'], measure: ofConcat },
  { owner: Buffer.prototype, label: 'Buffer', names: ['toString'], measure: ofRange },
  { owner: Buffer.prototype, label: 'Buffer', names: ['equals', 'indexOf'], measure: ofSelf },
  { owner: Buffer.prototype, label: 'Buffer', names: ['write'], measure: ofFirst },
  { owner: Uint8Array.prototype, label: 'Uint8Array', names: ['set'], measure: ofFirst },
  { owner: TextDecoder.prototype, label: 'TextDecoder', names: ['decode'], measure: ofFirst },
  { owner: TextEncoder.prototype, label: 'TextEncoder', names: ['encode', 'encodeInto'], measure: ofFirst },
  {
    owner: globalThis,
    label: 'global',
    names: ['decodeURIComponent', 'encodeURIComponent', 'decodeURI', 'encodeURI', 'unescape', 'escape'],
    measure: ofFirst,
  },
  { owner: globalThis, label: 'global', names: ['atob', 'btoa', 'structuredClone'], measure: ofFirst },
  { owner: globalThis, label: 'new', names: ['URLSearchParams', 'URL'], measure: ofFirst },
  { owner: crypto.Hmac.prototype, label: 'Hmac', names: ['update'], measure: ofFirst },
  { owner: crypto.Hash.prototype, label: 'Hash', names: ['update'], measure: ofFirst },
  { owner: crypto, label: 'crypto', names: ['timingSafeEqual'], measure: ofFirst },
  { owner: crypto, label: 'crypto', names: ['verify', 'sign'], measure: ofSecond },
]

/** The functions that are counted, by label. */
export const COUNTED: readonly string[] = PROBES.flatMap(({ label, names }) =>
  names.map((name) => labelOf(label, name)),
)

function labelOf(label: string, name: PropertyKey): string {
  return `${label}.${typeof name === 'symbol' ? (name.description ?? '') : String(name)}`
}

function installProbes(add: Add): () => void {
  const undo: (() => void)[] = []
  for (const { owner, names, label, measure } of PROBES) {
    for (const name of names) {
      const descriptor = Object.getOwnPropertyDescriptor(owner, name)
      if (descriptor === undefined) continue
      const original = (owner as Record<PropertyKey, unknown>)[name] as AnyFunction
      const value = wrap(original, (self, args, result) =>
        add(labelOf(label, name), measure(self, args, result)),
      )
      Object.defineProperty(owner, name, { value, configurable: true, writable: true, enumerable: false })
      undo.push(() => void Object.defineProperty(owner, name, descriptor))
    }
  }
  // So that `import { verify } from 'node:crypto'` sees it.
  syncBuiltinESMExports()
  return () => {
    for (const restore of undo) restore()
    syncBuiltinESMExports()
  }
}

// Counted whether it returns or throws: the work is done either way.
function wrap(
  original: AnyFunction,
  count: (self: unknown, args: readonly unknown[], result: unknown) => void,
): AnyFunction {
  return new Proxy(original, {
    apply(target, self, args: unknown[]) {
      let result: unknown
      try {
        return (result = Reflect.apply(target, self, args))
      } finally {
        count(self, args, result)
      }
    },
    construct(target, args: unknown[], newTarget) {
      count(undefined, args, undefined)
      return Reflect.construct(target, args, newTarget) as object
    },
  })
}
