import { isTokenError } from '../errors.js'
import { type AuthenticatedUpgrade, parseUpgradePolicy, type UpgradePolicy } from '../requests/sockets.js'
import type { TokenConfig } from '../config/config.js'
import { formatBody, type FormatError } from '../requests/error-response.js'
import type { RequestSource } from '../http/request-source.js'
import { emitWarning } from '../runtime.js'
import { type ErrorResponse, toErrorResponse } from '../requests/error-response.js'
import { readInternals } from '../sessions/internals.js'

/** What a refused handshake is answered with. */
export interface Refusal {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** As much of the connection that Node's `upgrade` event passes as is needed to answer on it. */
export interface UpgradeConnection {
  end(text: string, callback: () => void): unknown
  destroy(): unknown
  on(event: 'error', listener: () => void): unknown
  off(event: 'error', listener: () => void): unknown
}

/** A manager that authenticates handshakes. */
export interface UpgradeAuthenticator<Upgrade> {
  readonly config: TokenConfig
  readonly sockets: {
    authenticate(request: RequestSource, policy?: UpgradePolicy): Promise<Upgrade>
  }
}

/**
 * Authenticates a handshake of Node's `upgrade` event. One that is refused is answered with 401, 403 or 503 and the
 * connection is closed; the result is `null` then.
 *
 * @example
 * const upgrade = await acceptUpgrade(tokens, request, socket)
 * if (upgrade === null) return
 */
export async function acceptUpgrade<Upgrade extends AuthenticatedUpgrade>(
  tokens: UpgradeAuthenticator<Upgrade>,
  request: RequestSource,
  connection: UpgradeConnection,
  policy: UpgradePolicy = {},
): Promise<Upgrade | null> {
  // A mistake in the policy is no fault of a client: this rejects.
  parseUpgradePolicy(policy)
  const destroy = (): void => void connection.destroy()
  // Nobody else listens for errors of a connection that is being upgraded, and an error without a listener ends Node.
  connection.on('error', destroy)
  try {
    const upgrade = await tokens.sockets.authenticate(request, policy)
    connection.off('error', destroy)
    return upgrade
  } catch (error) {
    // The client learns nothing of a fault of the program, so that the operator must.
    if (!isTokenError(error)) {
      emitWarning(`A WebSocket handshake failed: ${String(error)}`, 'TokenUpgradeWarning')
    }
    writeRefusal(connection, createRefusal(error, tokens))
    return null
  }
}

/** The answer to a handshake that failed: that of its token error, or 500. */
export function createRefusal(error: unknown, tokens: { readonly config: TokenConfig }): Refusal {
  const { config } = tokens
  const formatError = readInternals(tokens)?.formatError ?? null
  const { status, headers, body } = isTokenError(error)
    ? toErrorResponse(error, { config, formatError })
    : createFault(formatError)
  return {
    status,
    // In this spelling: `ws` has a default of its own under the same name, and would send both.
    headers: { ...headers, 'Content-Type': 'application/json; charset=utf-8' },
    body: JSON.stringify(body),
  }
}

function createFault(
  formatError: FormatError | null,
): Pick<ErrorResponse, 'headers' | 'body'> & { status: 500 } {
  const message = 'Internal server error'
  const fault = { status: 500, code: 'INTERNAL_ERROR', message, body: { message }, error: null } as const
  return { status: 500, headers: {}, body: formatBody(formatError, fault) }
}

/** Writes an HTTP response to a connection that is not that of a server response, and closes it. */
export function writeRefusal(connection: UpgradeConnection, { status, headers, body }: Refusal): void {
  const fields = { ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`)
  // RFC 9112 §4: the reason phrase may be empty, and clients ignore it.
  connection.end([`HTTP/1.1 ${status} `, ...lines, '', body].join('\r\n'), () => connection.destroy())
}
