import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type JsonValue, MAX_JSON_DEPTH } from '../encoding.js'
import { type ClaimsIssue, ClaimsValidationError, ConfigurationError } from '../errors.js'
import { EMPTY_PROTOTYPE, extraClaims, RESERVED_CLAIMS, type TokenPayload, toPayload } from './payload.js'

/** Extra claims of a new token, for a manager without a schema. */
export type JsonClaims = { readonly [claim: string]: JsonValue }

/** A schema for extra claims: zod, valibot, arktype, or any other that implements Standard Schema. */
export type ClaimsSchema<Input extends object = object, Output extends object = object> = StandardSchemaV1<
  Input,
  Output
>

/** Throws `ConfigurationError` unless a value can be used as a schema. */
export function assertSchema(option: string, value: unknown): void {
  // Not only objects: a schema of arktype is a function.
  const { version, validate: check } = (value as Partial<ClaimsSchema> | null)?.['~standard'] ?? {}
  if ((version as unknown) === 1 && typeof check === 'function') return
  throw new ConfigurationError(
    `${option} must be a Standard Schema, version 1: a schema of zod 3.24 or later, valibot 1, arktype 2 or another library ` +
      'of https://standardschema.dev',
  )
}

/** Throws a `TypeError` that names each problem unless the schema accepts the extra claims of a new token. */
export function assertExtraClaims(schema: ClaimsSchema, claims: object, identityClaim: string): void {
  const result = validate(schema, claims, identityClaim)
  if (result.issues === undefined) return
  const problems = toIssues(result.issues).map(
    ({ path, message }) => `${path.map(String).join('.')}: ${message}`,
  )
  throw new TypeError(`Extra claims do not satisfy the schema (${problems.join('; ')})`)
}

/** The payload with its extra claims as the schema returns them, or `ClaimsValidationError`. */
export function applySchema(
  schema: ClaimsSchema,
  payload: TokenPayload,
  identityClaim: string,
): TokenPayload {
  const result = validate(schema, payload, identityClaim)
  if (result.issues !== undefined) throw new ClaimsValidationError(toIssues(result.issues))
  return toPayload({
    __proto__: EMPTY_PROTOTYPE,
    ...pick(result.value, (name) => !RESERVED_CLAIMS.has(name)),
    ...pick(payload, (name) => RESERVED_CLAIMS.has(name) || name === identityClaim),
  })
}

function validate(
  schema: ClaimsSchema,
  claims: object,
  identityClaim: string,
): StandardSchemaV1.Result<object> {
  const extras = extraClaims(claims) as Record<string, unknown>
  // Not an extra claim, even under another name: a strict schema would reject it.
  delete extras[identityClaim]
  const result = schema['~standard'].validate(extras)
  if ('then' in result) {
    // The TypeError below is the answer; a rejection of this promise must not count as unhandled.
    Promise.resolve(result).catch(() => {})
    throw new TypeError('The claims schema must validate synchronously')
  }
  return result
}

function toIssues(issues: readonly StandardSchemaV1.Issue[]): ClaimsIssue[] {
  return issues.map(({ message, path = [] }) => ({
    message,
    // Array.from, because a library's path may be a list of its own kind.
    path: Array.from(path, (step) => (typeof step === 'object' ? step.key : step)),
  }))
}

function pick(source: object, isWanted: (name: string) => boolean): Record<string, unknown> {
  const picked = Object.create(null) as Record<string, unknown>
  for (const name of Object.getOwnPropertyNames(source)) {
    if (isWanted(name)) picked[name] = (source as Record<string, unknown>)[name]
  }
  return picked
}

/**
 * Throws a `TypeError` that names the claim unless JSON carries its value unchanged.
 *
 * `JSON.stringify` does not check that: it turns a `Date` into a string, a `Map` into `{}` and `NaN` into `null`, and
 * drops `undefined`. `parents` are the objects around the value, to detect cycles and measure depth; `what` is what the
 * message calls it.
 */
export function assertSerializable(
  path: string,
  value: unknown,
  parents: readonly object[] = NONE,
  what = 'claim',
): void {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return
  if (Number.isFinite(value)) return
  if (typeof value !== 'object') throw notSerializable(typeName(value), path, what)
  if (parents.includes(value)) throw notSerializable('circular reference', path, what)
  // One level is taken by the claims set itself.
  if (parents.length + 2 > MAX_JSON_DEPTH) throw notSerializable('too deeply nested value', path, what)

  // JSON.stringify would call it, and the result would be signed.
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function')
    throw notSerializable(typeName(value), path, what)
  const around = [...parents, value]
  if (Array.isArray(value)) {
    // By index: forEach and for...in pass over holes, which JSON would write as null.
    for (let at = 0; at < value.length; at++) assertSerializable(`${path}[${at}]`, value[at], around, what)
    if (Object.keys(value).length > value.length)
      throw notSerializable('Array with other members', path, what)
    return
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  // Plain objects, also of other realms, and payloads.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw notSerializable(typeName(value), path, what)
  }
  if (Object.getOwnPropertySymbols(value).length > 0) throw notSerializable('symbol', path, what)
  for (const [name, member] of Object.entries(value))
    assertSerializable(`${path}.${name}`, member, around, what)
}

const NONE: readonly object[] = []

function notSerializable(type: string, path: string, what: string): TypeError {
  return new TypeError(`Object of type ${type} is not JSON serializable (${what} "${path}")`)
}

function typeName(value: unknown): string {
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'object') return typeof value
  const constructor: unknown = (value as { constructor?: unknown }).constructor
  return typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'object'
}

/** Whether claims are immutable: plain data, deeply frozen, without getters. */
export function hasOnlyImmutable(claims: object, depth = 0): boolean {
  return Reflect.ownKeys(claims).every((name) => {
    const property = { ...Object.getOwnPropertyDescriptor(claims, name) }
    return 'value' in property && isImmutable(property.value, depth)
  })
}

// A frozen Date or Map can still change.
function isImmutable(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return typeof value !== 'function'
  const prototype: unknown = Object.getPrototypeOf(value)
  const isPlain = prototype === null || prototype === Object.prototype || prototype === Array.prototype
  return isPlain && Object.isFrozen(value) && depth < MAX_JSON_DEPTH && hasOnlyImmutable(value, depth + 1)
}
