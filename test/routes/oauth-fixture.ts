import { createHash, timingSafeEqual } from 'node:crypto'
import type { MountableRoutes } from '../../packages/tokenlib/src/routes/router.js'
import { clientCredentials } from '../../packages/issuers/src/index.js'

/** A client of the endpoints. */
export interface TestClient {
  readonly id: string
  readonly audience: string
}

const SECRETS = new Map([
  ['orders', 'secret of orders'],
  ['billing:eu', 'pass+word%:'],
])
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Authenticates the clients `orders` and `billing:eu`. */
export const client = clientCredentials<TestClient>({
  verify: (id, secret) => {
    const isRight = timingSafeEqual(digest(SECRETS.get(id) ?? ''), digest(secret))
    return isRight && SECRETS.has(id) ? { id, audience: `https://${id}.example` } : null
  },
})

/** The `Authorization` value of a client (RFC 6749 §2.3.1). */
export function basic(id = 'orders', secret = SECRETS.get(id) ?? ''): string {
  const encode = (text: string): string => new URLSearchParams({ text }).toString().slice('text='.length)
  return `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}`
}

/** A form as a client sends it; `null` leaves a header out. */
export function createForm(
  path: string,
  body: Readonly<Record<string, string>> | string,
  headers: Readonly<Record<string, string | null>> = {},
): Request {
  const all = {
    'content-type': 'application/x-www-form-urlencoded',
    authorization: basic(),
    ...headers,
  }
  return new Request(`http://localhost${path}`, {
    method: 'POST',
    headers: Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null),
    body: typeof body === 'string' ? body : new URLSearchParams(body).toString(),
  })
}

/** Sends a form to routes; the status and the body. */
export async function send(
  routes: MountableRoutes,
  body: Readonly<Record<string, string>> | string,
  headers?: Readonly<Record<string, string | null>>,
): Promise<[status: number, body: Readonly<Record<string, unknown>> | null]> {
  const response = await routes.handle(createForm(routes.path, body, headers))
  if (response === null) throw new Error('none of the routes')
  const text = await response.text()
  return [response.status, text === '' ? null : (JSON.parse(text) as Record<string, unknown>)]
}
