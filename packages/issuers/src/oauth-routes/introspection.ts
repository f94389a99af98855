import { type Dependency, isTokenError, type StandardClaims, type TokenConfig } from 'tokenlib'
import { isOutage } from 'tokenlib/errors'
import {
  createJsonAnswer,
  flag,
  internalsOf,
  listOf,
  type MountableRoutes,
  type OptionKinds,
  parseOptions,
  textLike,
} from 'tokenlib/kit'
import {
  createTokenEndpoint,
  ENDPOINT_OPTIONS,
  MEANT_OPTIONS,
  parseAllowed,
  type TokenEndpointOptions,
} from './token-endpoint.js'

/** Who may introspect tokens, and what the response contains. */
export interface IntrospectionOptions<Client, Payload> extends TokenEndpointOptions<Client, Payload> {
  /** Where the endpoint is. Default `/oauth/introspect`. */
  readonly path?: string
  /** More claims to include in the response, by name. Default: only the members of RFC 7662. */
  readonly claims?: readonly string[]
  /**
   * Whether refresh tokens are introspected too. By default they are inactive: a resource server that looks at `active`
   * alone would take one for an access token.
   */
  readonly refreshTokens?: boolean
}

/** The parts of a manager that the introspection endpoint uses. */
export interface IntrospectionTokens<Payload> {
  readonly config: TokenConfig
  readonly accessTokenRequired: Dependency<Payload>
}

// Members that the endpoint sets itself, the CSRF value, which must stay secret, and a name that sets the prototype.
const RESERVED_NAMES = ['active', 'scope', 'token_type', 'csrf', '__proto__']

const OPTIONS: OptionKinds<IntrospectionOptions<unknown, unknown>> = {
  ...ENDPOINT_OPTIONS,
  claims: listOf(
    textLike(
      `the name of a claim, and not ${RESERVED_NAMES.join(', ')}`,
      (value) => value !== '' && !RESERVED_NAMES.includes(value),
    ),
    0,
  ),
  refreshTokens: flag,
}

/**
 * An introspection endpoint (RFC 7662): tells an authenticated client whether a token is valid and not revoked. Mount
 * it with the `mount` of an adapter.
 *
 * @example
 * const introspection = createIntrospectionRoute(tokens, { client: clientCredentials({ verify: findClient }) })
 */
export function createIntrospectionRoute<Payload extends StandardClaims, Client>(
  tokens: IntrospectionTokens<Payload>,
  options: IntrospectionOptions<Client, Payload>,
): MountableRoutes {
  const parsed = parseOptions('createIntrospectionRoute()', options, OPTIONS, MEANT_OPTIONS)
  const { path = '/oauth/introspect', client, isAllowed, claims = [], refreshTokens = false } = parsed

  const readPayload = async (token: string): Promise<Payload | null> => {
    try {
      const payload = await internalsOf(tokens).inspectToken(token)
      return payload.type === 'access' || refreshTokens ? payload : null
    } catch (error) {
      // RFC 7662 §2.2: give no reason. But an outage must not make a token look inactive.
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
      // RFC 7662 §2.2: a token that this client must not know about is inactive.
      const isActive = payload !== null && (await parseAllowed(isAllowed, payload, caller))
      return createJsonAnswer(isActive ? toMembers(payload, claims) : { active: false })
    },
  })
}

// RFC 7662 §2.2
function toMembers(
  payload: StandardClaims & { readonly client_id?: unknown },
  names: readonly string[],
): object {
  const { sub, type, scopes = [], exp, iat, nbf, aud, iss, jti, cnf, client_id: clientId } = payload
  // RFC 6749 §3.3: a scope with a space in it would be read as two.
  const told = scopes.filter((scope) => !/\s/.test(scope))
  const claims = payload as unknown as Readonly<Record<string, unknown>>
  return {
    ...Object.fromEntries(names.map((name) => [name, claims[name]])),
    active: true,
    ...(told.length > 0 && { scope: told.join(' ') }),
    ...(typeof clientId === 'string' && { client_id: clientId }),
    // RFC 6749 §7.1: only access tokens have a type.
    ...(type === 'access' && { token_type: cnf?.jkt === undefined ? 'Bearer' : 'DPoP' }),
    // RFC 9449 §6.2, RFC 8705 §3.2: the resource server checks the proof.
    ...(cnf !== undefined && { cnf }),
    sub,
    exp,
    iat,
    nbf,
    aud,
    iss,
    jti,
  }
}
