import { attach, readAttached } from './view.js'

/**
 * Says which address a request comes from. For runtimes that tell it apart from the request: Bun, Deno, Hono on Node, and
 * other servers of the Fetch standard. The last call counts.
 *
 * @example
 * Bun.serve({
 *   fetch(request, server) {
 *     setRequestIp(request, server.requestIP(request)?.address)
 *     return handler(request)
 *   },
 * })
 */
export function setRequestIp(request: object, ip: string | null | undefined): void {
  if (typeof request !== 'object' || request === null) {
    throw new TypeError('setRequestIp() takes a request and an address')
  }
  if (ip !== undefined && ip !== null && typeof ip !== 'string') {
    throw new TypeError('The address of a request must be a string, null or undefined')
  }
  attach(request, setRequestIp, ip ?? null)
}

/** The address that was set, or the `ip` that a framework has put on its request, or `null`. */
export function readRequestIp(request: object): string | null {
  const set = readAttached(request, setRequestIp) as string | null | undefined
  if (set !== undefined) return set
  const { ip } = request as { readonly ip?: unknown }
  return typeof ip === 'string' ? ip : null
}
