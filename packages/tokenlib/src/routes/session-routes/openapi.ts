import type { TokenType } from '../../tokens/payload.js'
import { statusOf } from '../../requests/error-response.js'
import {
  object,
  type OpenApiOperation,
  type OpenApiParameter,
  type OpenApiSchema,
  securityRequirements,
  type SecurityScheme,
  securitySchemes,
  text,
} from '../openapi.js'
import type { TokenManager } from '../../manager.js'
import { readInternals } from '../../sessions/internals.js'
import { parseOptions } from '../../options.js'
import { routePath } from '../router.js'

/** As much of a manager as the description of its routes depends on. */
export type DescribedManager = Pick<TokenManager<never, object>, 'config'>

/** What is merged into a document. */
export interface SessionRoutesDescription {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  readonly components: { readonly securitySchemes: Readonly<Record<string, SecurityScheme>> }
}

/**
 * The session routes of a manager as OpenAPI 3: `paths` and `components` to merge into a document.
 *
 * @example
 * const { paths, components } = describeSessionRoutes(tokens, { path: '/auth' })
 */
export function describeSessionRoutes(
  tokens: DescribedManager,
  options: { readonly path?: string } = {},
): SessionRoutesDescription {
  const { path = '/auth' } = parseOptions('describeSessionRoutes()', options, { path: routePath })
  const paths: Record<string, Record<string, OpenApiOperation>> = {}
  for (const [name, operation] of describeRoutes(tokens)) {
    const { path: below, method } = ROUTES[name]
    const operations = (paths[`${path}/${below}`] ??= {})
    operations[method.toLowerCase()] = operation
  }
  return { paths, components: { securitySchemes: securitySchemes(tokens.config) } }
}

/** The operation of every route. */
export function describeRoutes(tokens: DescribedManager): ReadonlyMap<RouteName, OpenApiOperation> {
  const names = Object.keys(ROUTES) as RouteName[]
  return new Map(names.map((name) => [name, describeRoute(tokens, name)]))
}

const seconds: OpenApiSchema = { type: 'integer', minimum: 0, nullable: true }
const moment: OpenApiSchema = { type: 'string', format: 'date-time' }

// `SessionAnswer`, as it is sent.
const SESSION: OpenApiSchema = object({
  id: { ...text, nullable: true },
  sub: text,
  claims: { type: 'object', additionalProperties: true },
  scopes: { type: 'array', items: text },
  fresh: { type: 'boolean' },
  accessExpiresIn: seconds,
  expiresIn: seconds,
})

// The answer with new tokens: without those in cookies, and without a refresh token if the one sent stays valid.
const TOKENS: OpenApiSchema = object(
  { session: SESSION, accessToken: text, refreshToken: text, tokenType: text },
  ['accessToken', 'tokenType', 'refreshToken'],
)

// A session in the list of a user.
const LISTED: OpenApiSchema = object({
  id: text,
  createdAt: moment,
  lastUsedAt: moment,
  expiresAt: { ...moment, nullable: true },
  ip: { ...text, nullable: true },
  userAgent: { ...text, nullable: true },
  isCurrent: { type: 'boolean' },
})

// What a client sends to log in; the application decides on the other members.
const CREDENTIALS: OpenApiSchema = {
  ...object({ remember: { type: 'boolean' }, transport: { type: 'string', pattern: '^(cookies|bearer)$' } }, [
    'remember',
    'transport',
  ]),
  additionalProperties: true,
}

interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly summary: string
  /** The token that it needs; `any` means an optional one. */
  readonly token?: TokenType | 'any'
  readonly takesCredentials?: true
  readonly parameters?: readonly OpenApiParameter[]
  /** The body of a 200; without one, the answer is 204. */
  readonly answer?: OpenApiSchema
  /** Other refusals, in addition to those that follow from the above. */
  readonly refusals?: Readonly<Record<number, string>>
}

/** The names of the routes. */
export type RouteName =
  | 'login'
  | 'refresh'
  | 'logout'
  | 'logoutEverywhere'
  | 'session'
  | 'sessions'
  | 'endSession'
  | 'endOtherSessions'
  | 'stepUp'

/** Every route: where it is below their path, and what a document says about it. */
export const ROUTES: Readonly<Record<RouteName, Route>> = {
  login: {
    method: 'POST',
    path: 'login',
    summary: 'Log in',
    takesCredentials: true,
    answer: TOKENS,
    refusals: {
      401: 'The credentials are wrong, or the login comes from another origin',
      403: 'The user has too many sessions',
    },
  },
  refresh: {
    method: 'POST',
    path: 'refresh',
    summary: 'Renew the tokens of the session',
    token: 'refresh',
    answer: TOKENS,
  },
  logout: { method: 'POST', path: 'logout', summary: 'Log out', token: 'any' },
  logoutEverywhere: {
    method: 'POST',
    path: 'logout-everywhere',
    summary: 'End all sessions of the user',
    token: 'access',
  },
  session: {
    method: 'GET',
    path: 'session',
    summary: 'The current session',
    token: 'access',
    answer: object({ session: SESSION }),
  },
  sessions: {
    method: 'GET',
    path: 'sessions',
    summary: 'The sessions of the user, newest first',
    token: 'access',
    parameters: [
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
    ],
    answer: object({ sessions: { type: 'array', items: LISTED }, next: { ...text, nullable: true } }),
    refusals: { 400: 'limit or before is invalid' },
  },
  endSession: {
    method: 'DELETE',
    path: 'sessions/{id}',
    summary: 'End a session of the user',
    token: 'access',
    parameters: [
      { name: 'id', in: 'path', required: true, description: 'The id of the session', schema: text },
    ],
    refusals: { 404: 'The user has no such session' },
  },
  endOtherSessions: {
    method: 'DELETE',
    path: 'sessions',
    summary: 'End the other sessions of the user',
    token: 'access',
    answer: object({ ended: { type: 'integer', minimum: 0 } }),
    refusals: { 404: 'The token belongs to no session' },
  },
  stepUp: {
    method: 'POST',
    path: 'step-up',
    summary: 'Confirm the credentials, for a fresh access token',
    token: 'refresh',
    takesCredentials: true,
    answer: TOKENS,
  },
}

const CREDENTIAL_REFUSALS = {
  400: 'The body is invalid',
  401: 'The credentials are wrong',
  413: 'The body is too large',
  415: 'The body is not application/json',
  429: 'Too many attempts',
} as const

const SUPERSEDED =
  'A newer refresh token of the session was used just now: send the request again, with that one'

function describeRoute(tokens: DescribedManager, name: RouteName): OpenApiOperation {
  const route = ROUTES[name]
  const { method, summary, parameters, answer } = route
  const error = { 'application/json': { schema: toErrorSchema(tokens) } }
  const refusals = Object.entries(listRefusals(tokens, route)).map(([status, description]) => [
    status,
    { description, content: error },
  ])
  const success =
    answer === undefined
      ? { 204: { description: 'Done' } }
      : { 200: { description: 'Success', content: { 'application/json': { schema: answer } } } }
  const required = route.token === undefined ? [] : securityRequirements(tokens.config, method, route.token)
  return {
    operationId: name,
    summary,
    // An empty requirement is one that every request meets.
    security: route.token === 'any' ? [{}, ...required] : required,
    ...(parameters !== undefined && { parameters }),
    ...(route.takesCredentials === true && {
      requestBody: { required: true, content: { 'application/json': { schema: CREDENTIALS } } },
    }),
    responses: { ...success, ...(Object.fromEntries(refusals) as OpenApiOperation['responses']) },
  }
}

function listRefusals({ config }: DescribedManager, route: Route): Readonly<Record<number, string>> {
  const { method, token, takesCredentials } = route
  const hasCsrf = config.hasLocation('cookies') && config.JWT_COOKIE_CSRF_PROTECT && method !== 'GET'
  return {
    ...(hasCsrf && token !== undefined && { [statusOf('CSRF_MISMATCH')]: 'The CSRF value is wrong' }),
    ...(takesCredentials === true && CREDENTIAL_REFUSALS),
    ...(token !== undefined &&
      token !== 'any' && { [statusOf('TOKEN_MISSING')]: 'The token is missing or was rejected' }),
    ...(token === 'refresh' && { [statusOf('REFRESH_SUPERSEDED')]: SUPERSEDED }),
    ...route.refusals,
    [statusOf('REVOCATION_UNAVAILABLE')]: 'The store is unavailable',
  }
}

function toErrorSchema(tokens: DescribedManager): OpenApiSchema {
  // The application decides what is in it.
  if ((readInternals(tokens)?.formatError ?? null) !== null)
    return { type: 'object', additionalProperties: true }
  const properties = { [tokens.config.JWT_ERROR_MESSAGE_KEY]: text, code: text, error_type: text }
  return object(properties, ['error_type'])
}
