import { assertIdentity, callable, callHook, parseOptions, RefusedRequest, required } from 'tokenlib/kit'
import { invalidRequest } from '../oauth-error.js'
import { type Form, parseForm, readParameter } from './token-endpoint.js'

/** How clients are authenticated by an id and a secret. */
export interface ClientCredentialsOptions<Client> {
  /**
   * Finds the client, or returns `null` for an unknown id or a wrong secret. It should take as long for both, and compare
   * secrets in constant time. What it throws is answered with 500.
   */
  readonly verify: (id: string, secret: string, request: Request) => Client | null | Promise<Client | null>
}

/**
 * A dependency for `client` of these routes: the client whose id and secret are in the request, by HTTP Basic or in the
 * form (RFC 6749 §2.3.1).
 *
 * @example
 * createIntrospectionRoute(tokens, { client: clientCredentials({ verify: findClient }) })
 */
export function clientCredentials<Client>(
  options: ClientCredentialsOptions<Client>,
): (request: Request) => Promise<NonNullable<Client>> {
  const { verify } = parseOptions('clientCredentials()', options, { verify: required(callable()) })
  return async (request) => {
    const { id, secret } = parseCredentials(request.headers.get('authorization'), await parseForm(request))
    const client: Client | null | undefined = await callHook('verify', () => verify(id, secret, request))
    if (client === null || client === undefined) throw invalidClient()
    assertIdentity('verify', client)
    return client
  }
}

interface Credentials {
  readonly id: string
  readonly secret: string
}

function parseCredentials(header: string | null, form: Form): Credentials {
  const id = readParameter(form, 'client_id')
  const secret = readParameter(form, 'client_secret')
  if (header === null) {
    if (id === null || secret === null) throw invalidClient()
    return { id, secret }
  }
  // RFC 6749 §2.3: not more than one method in a request.
  if (secret !== null) throw invalidRequest('The client must not use two ways to authenticate')
  const basic = parseBasic(header)
  if (id !== null && id !== basic.id) throw invalidRequest('client_id names another client')
  return basic
}

const BASIC = /^basic +([A-Za-z0-9+/]+=*)$/i

// RFC 6749 §2.3.1: both parts are form-encoded first, so that an id can have a colon.
function parseBasic(header: string): Credentials {
  const text = Buffer.from(BASIC.exec(header)?.[1] ?? '', 'base64').toString('utf8')
  const colon = text.indexOf(':')
  const id = readFormText(text.slice(0, Math.max(0, colon)))
  const secret = readFormText(text.slice(colon + 1))
  if (!id || !secret) throw invalidClient()
  return { id, secret }
}

function readFormText(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded.replaceAll('+', ' '))
  } catch {
    return null
  }
}

// RFC 6749 §5.2: 401, with the scheme that the client should have used.
function invalidClient(): RefusedRequest {
  const challenge = { 'www-authenticate': 'Basic realm="oauth", charset="UTF-8"' }
  return new RefusedRequest(401, 'invalid_client', 'Client authentication failed', challenge)
}
