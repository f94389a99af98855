import { MAX_JSON_DEPTH } from '../encoding.js'

/** A value that JSON carries unchanged. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [member: string]: JsonValue }

/**
 * Throws a `TypeError` that names the claim unless JSON carries its value unchanged.
 *
 * `JSON.stringify` is no such check: it turns a `Date` into a string, a `Map` into `{}`, `NaN` into `null`,
 * and drops `undefined` without a word.
 */
export function assertSerializable(claim: string, value: unknown): void {
  assertValue(claim, value, [])
}

// `parents` are the objects around the value: the way to notice a cycle and to measure depth.
function assertValue(path: string, value: unknown, parents: readonly object[]): void {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return
  if (Number.isFinite(value)) return
  if (typeof value !== 'object') throw notSerializable(typeName(value), path)
  if (parents.includes(value)) throw notSerializable('circular reference', path)
  // One level is taken by the claims set itself.
  if (parents.length + 2 > MAX_JSON_DEPTH) throw notSerializable('too deeply nested value', path)

  // JSON.stringify would ask it, and sign whatever it says.
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function')
    throw notSerializable(typeName(value), path)
  const around = [...parents, value]
  if (Array.isArray(value)) {
    // By index: forEach and for...in pass over holes, which JSON would write as null.
    for (let at = 0; at < value.length; at++) assertValue(`${path}[${at}]`, value[at], around)
    if (Object.keys(value).length > value.length) throw notSerializable('Array with other members', path)
    return
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  // Plain objects, those of other realms included, and payloads.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw notSerializable(typeName(value), path)
  }
  if (Object.getOwnPropertySymbols(value).length > 0) throw notSerializable('symbol', path)
  for (const [name, member] of Object.entries(value)) assertValue(`${path}.${name}`, member, around)
}

function notSerializable(type: string, path: string): TypeError {
  return new TypeError(`Object of type ${type} is not JSON serializable (claim "${path}")`)
}

function typeName(value: unknown): string {
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'object') return typeof value
  const constructor: unknown = (value as { constructor?: unknown }).constructor
  return typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'object'
}
