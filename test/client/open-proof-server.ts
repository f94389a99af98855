import { createHash } from 'node:crypto'
import { calculateJwkThumbprint, EmbeddedJWK, type JWK, type JWTPayload, jwtVerify } from 'jose'
import { createTokenClient, type TokenClientOptions } from '../../packages/client/src/index.js'
import { dpop } from '../../packages/client/src/dpop.js'

export const ORIGIN = 'https://api.example'

/** A request as the server has seen it, with its proof. */
export interface SeenRequest {
  readonly route: string
  readonly authorization: string | null
  readonly header: object
  readonly payload: JWTPayload & { readonly ath?: string; readonly nonce?: string }
}

type Answer = (request: Request) => Response

/** A server in memory that binds a session to the key of its login (RFC 9449), and keeps what it has seen. */
export function openProofServer(options: TokenClientOptions = {}) {
  const seen: SeenRequest[] = []
  const planned = new Map<string, Answer[]>()
  const jtis = new Set<unknown>()
  let boundTo: string | undefined
  let tokens = 0

  async function fetch(input: string | URL | Request): Promise<Response> {
    const request = new Request(input)
    const { pathname } = new URL(request.url)
    const route = `${request.method} ${pathname}`
    const authorization = request.headers.get('authorization')
    const { payload, protectedHeader } = await jwtVerify(request.headers.get('dpop') ?? '', EmbeddedJWK, {
      typ: 'dpop+jwt',
      algorithms: ['ES256'],
    })
    seen.push({ route, authorization, header: protectedHeader, payload })
    const answer = planned.get(route)?.shift()
    if (answer) return answer(request)
    const key = await calculateJwkThumbprint(protectedHeader.jwk as JWK)
    if (pathname === '/auth/login') boundTo = key
    const token = authorization?.replace('DPoP ', '')
    const isProven =
      payload['htm'] === request.method &&
      payload['htu'] === `${ORIGIN}${pathname}` &&
      payload['ath'] === (token && hash(token)) &&
      key === boundTo
    if (!isProven || jtis.has(payload.jti)) return refuse('PROOF_INVALID')
    jtis.add(payload.jti)
    if (!pathname.startsWith('/auth/')) return Response.json({ body: await request.text() })
    if (pathname === '/auth/logout') return new Response(null, { status: 204 })
    tokens++
    return Response.json({
      session: { id: 's', sub: 'ada', claims: {}, scopes: [], fresh: true, accessExpiresIn: 900 },
      accessToken: `access.${tokens}`,
      tokenType: 'DPoP',
      refreshToken: `refresh.${tokens}`,
    })
  }

  const createClient = (more: TokenClientOptions = {}) => {
    const client = createTokenClient({
      path: `${ORIGIN}/auth`,
      transport: 'bearer',
      proof: dpop(),
      fetch,
      ...options,
      ...more,
    })
    const events: string[] = []
    for (const name of ['loggedIn', 'refreshed', 'loggedOut', 'offline'] as const) {
      client.on(name, () => events.push(name))
    }
    return { client, events }
  }

  return {
    ...createClient(),
    createClient,
    seen,
    /** The routes of the requests so far, from the one with this number on. */
    routes: (from = 0): string[] => seen.slice(from).map(({ route }) => route),
    /** Answers the next requests of a route in place of the server, in this order. */
    plan: (route: string, ...answers: Answer[]) => void planned.set(route, answers),
  }
}

/** A refusal with a code of the session routes. */
export function refuse(code: string, headers: Record<string, string> = {}): Response {
  return Response.json({ code }, { status: 401, headers })
}

/** RFC 9449 §4.2: what a proof says of the token it comes with. */
export function hash(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
