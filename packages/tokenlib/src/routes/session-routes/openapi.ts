import type { TokenConfig } from '../../config/config.js'
import { statusOf } from '../../requests/error-response.js'
import {
  object,
  type OpenApiOperation,
  type OpenApiSchema,
  securityRequirements,
  type SecurityScheme,
  securitySchemes,
  text,
} from '../openapi.js'
import type { TokenManager } from '../../manager.js'
import { readInternals } from '../../sessions/internals.js'
import { flag, parseOptions } from '../../options.js'
import { routePath } from '../router.js'
import { CREDENTIALS, DEVICE_ROUTES, type Route, type RouteName, ROUTES } from './route-table.js'

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
  options: { readonly path?: string; readonly deviceBound?: boolean } = {},
): SessionRoutesDescription {
  const parsed = parseOptions('describeSessionRoutes()', options, { path: routePath, deviceBound: flag })
  const { path = '/auth', deviceBound = false } = parsed
  const paths: Record<string, Record<string, OpenApiOperation>> = {}
  for (const [name, route] of Object.entries({ ...ROUTES, ...(deviceBound && DEVICE_ROUTES) })) {
    const operations = (paths[`${path}/${route.path}`] ??= {})
    operations[route.method.toLowerCase()] = describeRoute(tokens, name, route)
  }
  return { paths, components: { securitySchemes: securitySchemes(tokens.config) } }
}

/** The operation of every route, without those for devices. */
export function describeRoutes(tokens: DescribedManager): ReadonlyMap<RouteName, OpenApiOperation> {
  const names = Object.keys(ROUTES) as RouteName[]
  return new Map(names.map((name) => [name, describeRoute(tokens, name, ROUTES[name])]))
}

const BODY_REFUSALS = {
  400: 'The body is invalid',
  413: 'The body is too large',
  415: 'The body is not application/json',
} as const

const CREDENTIAL_REFUSALS = {
  ...BODY_REFUSALS,
  401: 'The credentials are wrong',
  429: 'Too many attempts',
} as const

const SUPERSEDED =
  'A newer refresh token of the session was used just now: send the request again, with that one'

function describeRoute(tokens: DescribedManager, name: string, route: Route): OpenApiOperation {
  const { summary, parameters, answer } = route
  const body = route.takesCredentials === true ? CREDENTIALS : route.body
  const error = { 'application/json': { schema: toErrorSchema(tokens) } }
  const refusals = Object.entries(listRefusals(tokens, route)).map(([status, description]) => [
    status,
    { description, content: error },
  ])
  const success =
    answer === undefined
      ? { 204: { description: 'Done' } }
      : { 200: { description: 'Success', content: { 'application/json': { schema: answer } } } }
  const required = toRequirements(tokens.config, route)
  return {
    operationId: name,
    summary,
    // An empty requirement is one that every request meets.
    security: route.token === 'any' ? [{}, ...required] : required,
    ...(parameters !== undefined && { parameters }),
    ...(body !== undefined && {
      requestBody: { required: true, content: { 'application/json': { schema: body } } },
    }),
    responses: { ...success, ...(Object.fromEntries(refusals) as OpenApiOperation['responses']) },
  }
}

function toRequirements(config: TokenConfig, { method, token }: Route): OpenApiOperation['security'] {
  if (token === undefined) return []
  return token === 'device' ? [{ refreshCookieAuth: [] }] : securityRequirements(config, method, token)
}

function listRefusals({ config }: DescribedManager, route: Route): Readonly<Record<number, string>> {
  const { method, token, takesCredentials, body } = route
  const hasCsrf = config.hasLocation('cookies') && config.JWT_COOKIE_CSRF_PROTECT && method !== 'GET'
  return {
    ...(hasCsrf &&
      token !== undefined &&
      token !== 'device' && { [statusOf('CSRF_MISMATCH')]: 'The CSRF value is wrong' }),
    ...(takesCredentials === true && CREDENTIAL_REFUSALS),
    ...(body !== undefined && BODY_REFUSALS),
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
