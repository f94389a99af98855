import type { StandardSchemaV1 } from '@standard-schema/spec'
import { isJsonObject, type JsonValue } from '../encoding.js'
import { SessionDataError } from '../errors.js'
import { assertSerializable } from '../tokens/extra-claims.js'

/** Data of a session, for a manager without a schema for it. */
export type JsonSessionData = { readonly [name: string]: JsonValue | undefined }

/** Data of a session: what the schema describes, and the name of the device. */
export type SessionData<Data extends object = JsonSessionData> = Data & {
  /** The name of the device, for people: 1 to 100 characters. */
  readonly label?: string | undefined
}

/** Changes of a session's data: `null` removes a member, and members that are left out or `undefined` stay. */
export type SessionDataChanges<Data extends object = JsonSessionData> = {
  readonly [Name in keyof SessionData<Data>]?: SessionData<Data>[Name] | null | undefined
}

/** A schema for the data of sessions, without `label`; what it returns is kept. */
export type SessionDataSchema<Data extends object = object> = StandardSchemaV1<object, Data>

/** The most bytes that the data of a session has, as JSON text in UTF-8 with its label. */
export const MAX_DATA_BYTES = 2048

/** The longest label of a session, in UTF-16 code units. */
export const MAX_LABEL_LENGTH = 100

/** Why a value cannot be the label of a session, or `null`. */
export function findLabelProblem(label: unknown): string | null {
  if (typeof label !== 'string') return 'label must be a string'
  if (label.trim() === '' || label.length > MAX_LABEL_LENGTH) {
    return `label must have 1 to ${MAX_LABEL_LENGTH} characters`
  }
  // Terminals obey control characters, and lone surrogates are not valid UTF-8.
  return /[\p{Cc}\p{Cs}\u2028\u2029]/u.test(label) ? 'label must not have control characters' : null
}

// JSON would make nothing of a `Map` or a `Date`.
function isPlain(value: unknown): value is Record<string, unknown> {
  if (!isJsonObject(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Throws `SessionDataError` for changes that no session could have. */
export function assertChanges(changes: unknown): asserts changes is Readonly<Record<string, unknown>> {
  if (!isPlain(changes)) throw invalid('data must be a plain object')
  const { label = null } = changes
  const problem = label === null ? null : findLabelProblem(label)
  if (problem !== null) throw invalid(`data.${problem}`)
}

/**
 * The text of data after changes, or `null` if nothing is left; `SessionDataError` if it cannot be kept. Without a schema
 * only JSON and the size are checked.
 */
export async function changeData(
  schema: SessionDataSchema | null,
  before: object | null,
  changes: Readonly<Record<string, unknown>>,
): Promise<string | null> {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined)
  const members = [...Object.entries(before ?? {}), ...given]
  // From entries: an assignment to `__proto__` would set the prototype.
  const merged = Object.fromEntries(members) as Record<string, unknown>
  const { label = null, ...rest } = Object.fromEntries(
    Object.entries(merged).filter(([, value]) => value !== null),
  )
  const data = schema === null ? rest : await applySchema(schema, rest)
  // The label is checked here, so a schema cannot add one.
  const kept = Object.fromEntries(
    Object.entries(data).filter(([name, value]) => name !== 'label' && value !== undefined),
  )
  return toText(label === null ? kept : { ...kept, label })
}

/** Parses the data that a store returns; `TypeError` if it is not what the store was given. */
export function readData(text: string | null): SessionData | null {
  if (text === null) return null
  const value = parse(text)
  if (isJsonObject(value)) return value as SessionData
  throw new TypeError('A store must return the data of a session as it was given')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function toText(data: Readonly<Record<string, unknown>>): string | null {
  const names = Object.keys(data)
  if (names.length === 0) return null
  try {
    for (const name of names) assertSerializable(`data.${name}`, data[name], [], 'member')
  } catch (cause) {
    throw invalid((cause as Error).message, cause)
  }
  const text = JSON.stringify(data)
  const bytes = Buffer.byteLength(text)
  if (bytes <= MAX_DATA_BYTES) return text
  throw new SessionDataError(
    'SESSION_DATA_TOO_LARGE',
    `data must have at most ${MAX_DATA_BYTES} bytes as JSON with its label, and this has ${bytes}`,
  )
}

async function applySchema(schema: SessionDataSchema, data: object): Promise<object> {
  const result = await schema['~standard'].validate(data)
  if (result.issues === undefined) {
    if (isPlain(result.value)) return result.value
    throw invalid('The schema sessionData must return a plain object')
  }
  const problems = result.issues.map(({ path = [], message }) => {
    const names = Array.from(path, (step) => String(typeof step === 'object' ? step.key : step))
    return `${['data', ...names].join('.')}: ${message}${names[0] === 'label' ? LABEL_HINT : ''}`
  })
  throw invalid(`The data of the session does not satisfy the schema (${problems.join('; ')})`)
}

const LABEL_HINT = ' (the library checks label itself: leave it out of the schema)'

function invalid(message: string, cause?: unknown): SessionDataError {
  return new SessionDataError('SESSION_DATA_INVALID', message, { cause })
}
