import { type Dependency, isTokenError, type StandardClaims, type TokenConfig } from 'tokenlib'
import { isOutage } from 'tokenlib/errors'
import {
  assertOptions,
  createJsonAnswer,
  type MountableRoutes,
  type OptionNames,
  internalsOf,
} from 'tokenlib/kit'
import {
  assertEndpointOptions,
  createTokenEndpoint,
  parseAllowed,
  type TokenEndpointOptions,
} from './token-endpoint.js'

/** Who may introspect tokens, and what is said about them. */
export interface IntrospectionOptions<Client, Payload> extends TokenEndpointOptions<Client, Payload> {
  /** Where the endpoint is. Default `/oauth/introspect`. */
  readonly path?: string
  /** Further claims in the response, by name. Without it, only the members of RFC 7662 are there. */
  readonly claims?: readonly string[]
  /**
   * Whether refresh tokens are introspected too. By default they are inactive: a resource server that looks at `active`
   * alone would take one for an access token.
   */
  readonly refreshTokens?: boolean
}

/** What the introspection endpoint uses of a manager. */
export interface IntrospectionTokens<Payload> {
  readonly config: TokenConfig
  readonly accessTokenRequired: Dependency<Payload>
}

const OPTIONS: OptionNames<IntrospectionOptions<unknown, unknown>> = {
  client: true,
  path: true,
  isAllowed: true,
  claims: true,
  refreshTokens: true,
}
const MEANT_OPTIONS = { authenticate: 'client', allow: 'client' }

/**
 * An introspection endpoint (RFC 7662): tells an authenticated client whether a token is good, revocation included. Mount
 * it with the `mount` of an adapter.
 *
 * @example
 * const introspection = createIntrospectionRoute(tokens, { client: clientCredentials({ verify: findClient }) })
 */
export function createIntrospectionRoute<Payload extends StandardClaims, Client>(
  tokens: IntrospectionTokens<Payload>,
  options: IntrospectionOptions<Client, Payload>,
): MountableRoutes {
  assertOptions('createIntrospectionRoute()', options, OPTIONS, MEANT_OPTIONS)
  const { path = '/oauth/introspect', client, isAllowed, claims = [], refreshTokens = false } = options
  assertEndpointOptions('createIntrospectionRoute()', options, path)
  assertClaimNames(claims)
  if (typeof refreshTokens !== 'boolean') throw new TypeError('refreshTokens must be true or false')
  const names = [...claims]

  const readPayload = async (token: string): Promise<Payload | null> => {
    try {
      const payload = await internalsOf(tokens).inspectToken(token)
      return payload.type === 'access' || refreshTokens ? payload : null
    } catch (error) {
      // RFC 7662 §2.2: whatever is wrong with the token, no reason is given. What could not be checked is no answer.
      if (isTokenError(error) && !isOutage(error)) return null
      throw error
    }
  }

  return createTokenEndpoint({
    path,
    client,
    config: tokens.config,
    async answer(token, caller) {
      const payload = await readPayload(token)
      // RFC 7662 §2.2: a token that this client may not know of is inactive for it.
      const isActive = payload !== null && (await parseAllowed(isAllowed, payload, caller))
      return createJsonAnswer(isActive ? toMembers(payload, names) : { active: false })
    },
  })
}

// What the endpoint says itself, and what nobody may be told.
const RESERVED_NAMES = new Set(['active', 'scope', 'token_type', 'csrf'])

function assertClaimNames(claims: unknown): void {
  const isName = (name: unknown): boolean =>
    typeof name === 'string' && name !== '' && !RESERVED_NAMES.has(name) && name !== '__proto__'
  if (Array.isArray(claims) && claims.every(isName)) return
  throw new TypeError(`claims must be a list of names, without ${[...RESERVED_NAMES].join(', ')}`)
}

// RFC 7662 §2.2
function toMembers(
  payload: StandardClaims & { readonly client_id?: unknown },
  names: readonly string[],
): object {
  const { sub, type, scopes = [], exp, iat, nbf, aud, iss, jti, client_id: clientId } = payload
  // RFC 6749 §3.3: a scope of an issuer that has a space in it would be read as two.
  const told = scopes.filter((scope) => !/\s/.test(scope))
  const claims = payload as unknown as Readonly<Record<string, unknown>>
  return {
    ...Object.fromEntries(names.map((name) => [name, claims[name]])),
    active: true,
    ...(told.length > 0 && { scope: told.join(' ') }),
    ...(typeof clientId === 'string' && { client_id: clientId }),
    // RFC 6749 §7.1: the type is that of an access token; a refresh token has none.
    ...(type === 'access' && { token_type: 'Bearer' }),
    sub,
    exp,
    iat,
    nbf,
    aud,
    iss,
    jti,
  }
}
