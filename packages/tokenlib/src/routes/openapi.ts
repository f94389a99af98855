import type { TokenType } from '../tokens/payload.js'
import type { TokenConfig } from '../config/config.js'

/** A security scheme object of OpenAPI 3, of the two kinds that tokens need. */
export type SecurityScheme =
  | { readonly type: 'http'; readonly scheme: string; readonly bearerFormat: 'JWT' }
  | { readonly type: 'apiKey'; readonly in: 'header' | 'cookie' | 'query'; readonly name: string }

/**
 * The OpenAPI security schemes of a configuration, for `components.securitySchemes`; a JSON body has none.
 *
 * Access and refresh tokens share a scheme where both are sent the same way.
 */
export function securitySchemes(config: TokenConfig): Record<string, SecurityScheme> {
  const alternatives = [...alternativesOf(config, 'access'), ...alternativesOf(config, 'refresh')]
  return Object.assign({}, ...alternatives.map(({ scheme, csrf }) => ({ ...scheme, ...csrf }))) as Record<
    string,
    SecurityScheme
  >
}

/**
 * The alternatives a guarded route accepts, for `security`; a `method` that needs one brings the CSRF value in.
 *
 * `type` is the type of token that the route needs.
 */
export function securityRequirements(
  config: TokenConfig,
  method = 'GET',
  type: TokenType | 'any' = 'access',
): Record<string, string[]>[] {
  const needsCsrf = [config.JWT_CSRF_METHODS]
    .flat()
    .some((name) => name.toUpperCase() === method.toUpperCase())
  const types: readonly TokenType[] = type === 'any' ? ['access', 'refresh'] : [type]
  const requirements = types
    .flatMap((one) => alternativesOf(config, one))
    .map(({ scheme, csrf }) => Object.keys(needsCsrf ? { ...scheme, ...csrf } : scheme))
    .map((names) => [names.join(), Object.fromEntries(names.map((name): [string, string[]] => [name, []]))])
  return Object.values(Object.fromEntries(requirements) as Record<string, Record<string, string[]>>)
}

type Schemes = Readonly<Record<string, SecurityScheme>>

/** One way to send a token, and what must come with it if the method needs a CSRF value. */
interface Alternative {
  readonly scheme: Schemes
  readonly csrf?: Schemes
}

function alternativesOf(config: TokenConfig, type: TokenType): Alternative[] {
  const alternatives: Alternative[] = []
  if (config.hasLocation('headers', type)) alternatives.push({ scheme: { bearerAuth: headerScheme(config) } })
  if (config.hasLocation('cookies', type)) alternatives.push(cookieAlternative(config, type))
  if (config.hasLocation('query', type)) {
    alternatives.push({
      scheme: { queryAuth: { type: 'apiKey', in: 'query', name: config.JWT_QUERY_STRING_NAME } },
    })
  }
  return alternatives
}

function cookieAlternative(config: TokenConfig, type: TokenType): Alternative {
  const isAccess = type === 'access'
  const cookie = isAccess ? config.JWT_ACCESS_COOKIE_NAME : config.JWT_REFRESH_COOKIE_NAME
  const scheme: Schemes = {
    [isAccess ? 'cookieAuth' : 'refreshCookieAuth']: { type: 'apiKey', in: 'cookie', name: cookie },
  }
  if (!config.JWT_COOKIE_CSRF_PROTECT) return { scheme }
  const csrf: Schemes = {
    csrfToken: { type: 'apiKey', in: 'header', name: config.JWT_ACCESS_CSRF_HEADER_NAME },
  }
  return { scheme, csrf }
}

function headerScheme(config: TokenConfig): SecurityScheme {
  const { JWT_HEADER_NAME: name, JWT_HEADER_TYPE: scheme } = config
  return name.toLowerCase() === 'authorization' && scheme !== ''
    ? { type: 'http', scheme: scheme.toLowerCase(), bearerFormat: 'JWT' }
    : { type: 'apiKey', in: 'header', name }
}

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

/** A body in JSON. */
export interface OpenApiContent {
  readonly 'application/json': { readonly schema: OpenApiSchema }
}

/** An operation object of OpenAPI 3. */
export interface OpenApiOperation {
  readonly operationId: string
  readonly summary: string
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters?: readonly OpenApiParameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: OpenApiContent }
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: OpenApiContent }>
  >
}

/** A text. */
export const text: OpenApiSchema = { type: 'string' }

/** An object with these members; those that are not `optional` are required. */
export function object(
  properties: Record<string, OpenApiSchema>,
  optional: readonly string[] = [],
): OpenApiSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', properties, ...(required.length > 0 && { required }) }
}
