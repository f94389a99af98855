import { type Dependency, isTokenError, type TokenConfig } from 'tokenlib'
import {
  type Answering,
  assertIdentity,
  assertPath,
  callDependency,
  callHook,
  type MountableRoutes,
  toFetchErrorResponse,
  toHookError,
} from 'tokenlib/kit'
import { parseForm, readParameter } from './form.js'
import { invalidRequest, OAuthError } from './oauth-error.js'

/** Who may use an endpoint for tokens, and where it is. */
export interface TokenEndpointOptions<Client, Payload> {
  /**
   * Authenticates the client that calls the endpoint, and throws for everybody else: `clientCredentials`, a dependency of
   * the manager, or one of the application. Required, because nobody else keeps strangers out. A token error or a
   * `Response` that it throws is the answer; any other error is answered with 500.
   */
  readonly client: ((request: Request) => Client | Promise<Client>) & Answering<Client>
  /** Where the endpoint is. */
  readonly path?: string
  /** Whether a client may use the endpoint for a token; without it, every client may for every token. */
  readonly isAllowed?: (payload: Payload, client: Client) => boolean | Promise<boolean>
}

/** Throws `TypeError` for values of options that no endpoint can be made with; their names are checked before. */
export function assertEndpointOptions(
  owner: string,
  options: { readonly client?: unknown; readonly isAllowed?: unknown },
  path: string,
): void {
  if (typeof options.client !== 'function') {
    throw new TypeError(
      `${owner} needs client: a dependency that authenticates the caller, and throws for others`,
    )
  }
  if (options.isAllowed !== undefined && typeof options.isAllowed !== 'function') {
    throw new TypeError('isAllowed must be a function')
  }
  assertPath(path, '/oauth/introspect')
}

/** What an endpoint does with a token of an authenticated client. */
export interface TokenEndpoint<Client> {
  readonly path: string
  readonly config: TokenConfig
  readonly client: (request: Request) => Client | Promise<Client>
  readonly answer: (token: string, client: Client, request: Request) => Promise<Response>
}

/** The routes of an endpoint: one path, one method. */
export function createTokenEndpoint<Client>(endpoint: TokenEndpoint<Client>): MountableRoutes {
  const { path, config, answer } = endpoint
  // It is called with Fetch requests only.
  const authenticate = callDependency(endpoint.client as Dependency<Client>)

  const answerRequest = async (request: Request): Promise<Response> => {
    if (request.method !== 'POST') throw methodNotAllowed()
    const form = await parseForm(request)
    const client = await callClient(() => authenticate(request))
    assertIdentity('client', client)
    const token = readParameter(form, 'token')
    if (token === null) throw invalidRequest('The parameter "token" is missing')
    return answer(token, client, request)
  }

  return Object.freeze({
    path,
    paths: Object.freeze([path]),
    async handle(request: Request): Promise<Response | null> {
      // The application answers pre-flights: it alone knows who may call it.
      if (new URL(request.url).pathname !== path || request.method === 'OPTIONS') return null
      try {
        return await answerRequest(request)
      } catch (error) {
        if (error instanceof OAuthError) return error.toResponse()
        if (isTokenError(error)) return toFetchErrorResponse(error, { config })
        // A challenge of the application's own, for its clients.
        if (error instanceof Response) return error
        throw error
      }
    },
  })
}

/** Whether a client may use an endpoint for a token; `TypeError` for an answer that is neither `true` nor `false`. */
export async function parseAllowed<Client, Payload>(
  isAllowed: TokenEndpointOptions<Client, Payload>['isAllowed'],
  payload: Payload,
  client: Client,
): Promise<boolean> {
  if (isAllowed === undefined) return true
  const allowed: unknown = await callHook('isAllowed', () => isAllowed(payload, client))
  if (typeof allowed === 'boolean') return allowed
  throw new TypeError('isAllowed must return true or false')
}

// What refuses a client is sent to it. Everything else says nothing of the client, whatever status it has.
async function callClient<Client>(authenticate: () => Promise<Client>): Promise<Client> {
  try {
    return await authenticate()
  } catch (error) {
    if (error instanceof OAuthError || error instanceof Response || isTokenError(error)) throw error
    throw toHookError('client', error)
  }
}

function methodNotAllowed(): OAuthError {
  return new OAuthError(405, 'invalid_request', 'The method must be POST', { allow: 'POST' })
}
