import { type Dependency, isTokenError, type TokenConfig } from 'tokenlib'
import {
  type Answering,
  assertIdentity,
  callable,
  callDependency,
  callHook,
  createRoute,
  createRouter,
  type MountableRoutes,
  type OptionKinds,
  parseBodyText,
  RefusedRequest,
  required,
  routePath,
  toErrorAnswer,
  toHookError,
} from 'tokenlib/kit'
import { invalidRequest, toOAuthBody } from '../oauth-error.js'

/** Who may use an endpoint for tokens, and where it is. */
export interface TokenEndpointOptions<Client, Payload> {
  /**
   * Authenticates the client that calls the endpoint, and throws for anyone else: `clientCredentials`, a dependency of
   * the manager, or one of your own. Required, because nothing else keeps strangers out. A token error or a
   * `Response` that it throws is the answer; any other error is answered with 500.
   */
  readonly client: ((request: Request) => Client | Promise<Client>) & Answering<Client>
  /** Where the endpoint is. */
  readonly path?: string
  /** Whether a client may use the endpoint for a token. Default: every client, for every token. */
  readonly isAllowed?: (payload: Payload, client: Client) => boolean | Promise<boolean>
}

/** What `TokenEndpointOptions` accept. */
export const ENDPOINT_OPTIONS: OptionKinds<TokenEndpointOptions<unknown, unknown>> = {
  client: required(callable('a dependency that authenticates the caller, and throws for others')),
  path: routePath,
  isAllowed: callable(),
}

/** Common wrong names of these options. */
export const MEANT_OPTIONS: Readonly<Record<string, string>> = { authenticate: 'client', allow: 'client' }

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
  // Called only with Fetch requests.
  const authenticate = callDependency(endpoint.client as Dependency<Client>)

  const answerRequest = async (request: Request): Promise<Response> => {
    const form = await parseForm(request)
    const client = await callClient(() => authenticate(request))
    assertIdentity('client', client)
    const token = readParameter(form, 'token')
    if (token === null) throw invalidRequest('The parameter "token" is missing')
    return answer(token, client, request)
  }
  // A response is a challenge of the application's own, for its clients.
  const toAnswer = (error: unknown): Response =>
    error instanceof Response ? error : toErrorAnswer(error, toOAuthBody, { config })

  const routes = { '': createRoute({ POST: answerRequest }, toAnswer) }
  return createRouter({ path, routes, isPathShared: true })
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

// Send the client its own refusal. Any other error is ours, whatever its status.
async function callClient<Client>(authenticate: () => Promise<Client>): Promise<Client> {
  try {
    return await authenticate()
  } catch (error) {
    if (error instanceof RefusedRequest || error instanceof Response || isTokenError(error)) throw error
    throw toHookError('client', error)
  }
}

/** The parameters of a form, by name. */
export type Form = ReadonlyMap<string, string>

const forms = new WeakMap<Request, Promise<Form>>()

/** The parameters in the body of a request, or `RefusedRequest`; read once per request. */
export function parseForm(request: Request): Promise<Form> {
  const known = forms.get(request)
  if (known !== undefined) return known
  const form = parse(request)
  forms.set(request, form)
  return form
}

async function parse(request: Request): Promise<Form> {
  // RFC 7009 §2.1 and RFC 7662 §2.1: only this type. No script of another site needs a permission to send it, so nothing
  // here may rely on cookies alone.
  const text = await parseBodyText(request, 'application/x-www-form-urlencoded')
  const form = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(text)) {
    // RFC 6749 §3.2: parameters must not be included more than once. Another parser on the way may have kept the first.
    if (form.has(name)) throw invalidRequest('A parameter occurs more than once')
    // The same section: parameters without a value are treated as if they were omitted.
    form.set(name, value)
  }
  return form
}

/** The value of a parameter, or `null` if it is omitted or empty. */
export function readParameter(form: Form, name: string): string | null {
  return form.get(name) || null
}
