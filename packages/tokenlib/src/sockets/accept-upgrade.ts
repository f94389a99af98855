import { isTokenError } from '../errors.js'
import type { TokenConfig } from '../config/config.js'
import type { RequestSource } from '../http/request-source.js'
import { formatBody, toErrorResponse } from '../requests/error-response.js'
import { emitWarning } from '../runtime.js'
import { readInternals } from '../sessions/internals.js'
import { type AuthenticatedUpgrade, parseUpgradePolicy, type UpgradePolicy } from './upgrade.js'

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
 * Authenticates a handshake of Node's `upgrade` event. Returns `null` for a rejected handshake, after it has answered
 * with 401, 403 or 503 and closed the connection.
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
  // A mistake in the policy is not the client's fault, so it rejects.
  parseUpgradePolicy(policy)
  const destroy = (): void => void connection.destroy()
  // Nobody else listens for errors of a connection that is being upgraded, and an error without a listener ends Node.
  connection.on('error', destroy)
  try {
    const upgrade = await tokens.sockets.authenticate(request, policy)
    connection.off('error', destroy)
    return upgrade
  } catch (error) {
    writeRefusal(connection, createRefusal(error, tokens))
    return null
  }
}

/** The response to a failed handshake. `onBug` gets any error that is not a token error; the client only gets a 500. */
export function createRefusal(
  error: unknown,
  tokens: { readonly config: TokenConfig },
  onBug: (error: unknown) => void = warn,
): Refusal {
  const { config } = tokens
  const formatError = readInternals(tokens)?.formatError ?? null
  if (isTokenError(error)) {
    const { status, headers, body } = toErrorResponse(error, { config, formatError })
    return { status, headers: { ...headers, ...JSON_TYPE }, body: JSON.stringify(body) }
  }
  onBug(error)
  const message = 'Internal server error'
  const fault = { status: 500, code: 'INTERNAL_ERROR', message, body: { message }, error: null } as const
  return { status: 500, headers: JSON_TYPE, body: JSON.stringify(formatBody(formatError, fault)) }
}

function warn(error: unknown): void {
  emitWarning(`A socket handshake failed: ${String(error)}`, 'TokenUpgradeWarning')
}

// Exactly this spelling: `ws` sets a default under it, and would otherwise send both headers.
const JSON_TYPE = { 'Content-Type': 'application/json; charset=utf-8' }

/** Writes an HTTP response directly to a connection, and closes it. */
export function writeRefusal(connection: UpgradeConnection, { status, headers, body }: Refusal): void {
  const fields = { ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`)
  // RFC 9112 §4: the reason phrase may be empty, and clients ignore it.
  connection.end([`HTTP/1.1 ${status} `, ...lines, '', body].join('\r\n'), () => connection.destroy())
}
