import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type ClaimsIssue, ClaimsValidationError } from '../errors.js'
import { extraClaims } from './read-payload.js'
import { RESERVED_CLAIMS, type TokenPayload, toPayload } from './payload.js'

/** A schema for extra claims: zod, valibot, arktype, or anything else that speaks Standard Schema. */
export type ClaimsSchema<Input extends object = object, Output extends object = object> = StandardSchemaV1<
  Input,
  Output
>

/** Throws a `TypeError` that names each problem unless the schema accepts the extra claims of a new token. */
export function assertExtraClaims(schema: ClaimsSchema, extras: object): void {
  const result = validate(schema, extras)
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
  const extras: Record<string, unknown> = extraClaims(payload)
  // The identity is ours even under another name: a strict schema must not trip over it.
  delete extras[identityClaim]
  const result = validate(schema, extras)
  if (result.issues !== undefined) throw new ClaimsValidationError(toIssues(result.issues))

  const standard = pick(payload, (name) => RESERVED_CLAIMS.has(name) || name === identityClaim)
  return toPayload(
    pick(result.value, (name) => !RESERVED_CLAIMS.has(name)),
    standard,
  )
}

function validate(schema: ClaimsSchema, extras: object): StandardSchemaV1.Result<object> {
  const result = schema['~standard'].validate(extras)
  if ('then' in result) {
    // Whoever wrote the schema must learn of it; what it answers later is of no use to anyone.
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
