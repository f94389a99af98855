import { ConfigurationError, type RevokeOptions, type TokenManager, type TokenPayload } from 'tokenlib'
import {
  callable,
  callHook,
  createEmptyAnswer,
  flag,
  internalsOf,
  type MountableRoutes,
  type OptionKinds,
  parseOptions,
  RefusedRequest,
} from 'tokenlib/kit'
import {
  createTokenEndpoint,
  ENDPOINT_OPTIONS,
  MEANT_OPTIONS,
  parseAllowed,
  type TokenEndpointOptions,
} from './token-endpoint.js'

/** Who may revoke tokens, and what is revoked with them. */
export interface RevocationRouteOptions<Client> extends TokenEndpointOptions<Client, TokenPayload> {
  /** Where the endpoint is. Default `/oauth/revoke`. */
  readonly path?: string
  /** Whether revoking an access token ends its session, like a logout; a refresh token always does. Default `true`. */
  readonly session?: boolean
  /** The client's name in the events about its revocations. */
  readonly actor?: (client: Client) => string
}

const OPTIONS: OptionKinds<RevocationRouteOptions<unknown>> = {
  ...ENDPOINT_OPTIONS,
  session: flag,
  actor: callable(),
}

/** The parts of a manager that the revocation endpoint uses. */
export type RevocationRouteTokens = Pick<TokenManager, 'config' | 'logout' | 'revoke'>

/**
 * A revocation endpoint (RFC 7009): an authenticated client ends a session by one of its tokens, expired or not. Mount it
 * with the `mount` of an adapter.
 *
 * @example
 * const revocation = createRevocationRoute(tokens, { client: clientCredentials({ verify: findClient }) })
 */
export function createRevocationRoute<Client>(
  tokens: RevocationRouteTokens,
  options: RevocationRouteOptions<Client>,
): MountableRoutes {
  const parsed = parseOptions('createRevocationRoute()', options, OPTIONS, MEANT_OPTIONS)
  const { path = '/oauth/revoke', client, isAllowed, session = true, actor } = parsed
  const internals = internalsOf(tokens)
  if (internals.store === null) {
    throw new ConfigurationError('createRevocationRoute needs a store: new TokenManager({ config, store })')
  }

  const revoke = async (payload: TokenPayload, origin: RevokeOptions): Promise<void> => {
    const endsSession = payload.sid !== undefined && (payload.type === 'refresh' || session)
    if (endsSession) await tokens.logout(payload, origin)
    else if (payload.jti !== undefined) await tokens.revoke.token(payload, origin)
    // Not 200: the client would believe that the token is revoked.
    else throw new RefusedRequest(400, 'unsupported_token_type', 'The token has no id to revoke it by')
  }

  return createTokenEndpoint({
    path,
    client,
    config: tokens.config,
    async answer(token, caller, request) {
      const payload = await internals.readRevocableToken(token)
      if (payload !== null) {
        // RFC 7009 §2.1: reject the token of another client; RFC 6749 §5.2 has the error code.
        if (!(await parseAllowed(isAllowed, payload, caller))) {
          throw new RefusedRequest(400, 'invalid_grant', 'The token was issued to another client')
        }
        const origin = actor && { actor: await callHook('actor', () => actor(caller)) }
        await revoke(payload, { request, ...origin })
      }
      // RFC 7009 §2.2: 200 even for an invalid token, because nothing is left to do.
      return createEmptyAnswer(200)
    },
  })
}
