/** A schema object of OpenAPI 3.0. */
export type OpenApiSchema = Readonly<Record<string, unknown>>

/** A parameter in the path or the query. */
export interface OpenApiParameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly description: string
  readonly schema: OpenApiSchema
}

/** A text. */
export const text: OpenApiSchema = { type: 'string' }
const seconds: OpenApiSchema = { type: 'integer', minimum: 0, nullable: true }
const moment: OpenApiSchema = { type: 'string', format: 'date-time' }

/** An object with these members; those that are not `optional` are required. */
export function object(
  properties: Record<string, OpenApiSchema>,
  optional: readonly string[] = [],
): OpenApiSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', properties, ...(required.length > 0 && { required }) }
}

/** `SessionAnswer`, as it is sent. */
export const SESSION: OpenApiSchema = object({
  id: { ...text, nullable: true },
  sub: text,
  claims: { type: 'object', additionalProperties: true },
  scopes: { type: 'array', items: text },
  fresh: { type: 'boolean' },
  accessExpiresIn: seconds,
  expiresIn: seconds,
})

/** The answer with new tokens. It has none that goes into a cookie, and no refresh token if the one sent stays as it is. */
export const TOKENS: OpenApiSchema = object({ session: SESSION, accessToken: text, refreshToken: text }, [
  'accessToken',
  'refreshToken',
])

/** A session in the list of a user. */
export const LISTED: OpenApiSchema = object({
  id: text,
  createdAt: moment,
  lastUsedAt: moment,
  expiresAt: { ...moment, nullable: true },
  ip: { ...text, nullable: true },
  userAgent: { ...text, nullable: true },
  isCurrent: { type: 'boolean' },
})

/** What a client sends to log in; the application decides on the other members. */
export const CREDENTIALS: OpenApiSchema = {
  ...object({ remember: { type: 'boolean' }, transport: { type: 'string', pattern: '^(cookies|bearer)$' } }, [
    'remember',
    'transport',
  ]),
  additionalProperties: true,
}

/** The parameters of a page of sessions. */
export const PAGE: readonly OpenApiParameter[] = [
  {
    name: 'limit',
    in: 'query',
    required: false,
    description: 'How many sessions at most',
    schema: { type: 'integer', minimum: 1, maximum: 100, default: 100 },
  },
  {
    name: 'before',
    in: 'query',
    required: false,
    description: 'The id of the last session of the page before',
    schema: text,
  },
]

/** The parameter of one session. */
export const ID: OpenApiParameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The id of the session',
  schema: text,
}
