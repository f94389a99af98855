import {
  type RevocationStore,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
} from '../../packages/tokenlib/src/index.js'
import type { TrustedIssuer } from '../../packages/tokenlib/src/tokens/token-source.js'
import {
  introspect,
  type IntrospectionFetch,
  type IntrospectionRequest,
  type IntrospectOptions,
} from '../../packages/issuers/src/index.js'
import type { DpopOptions } from '../../packages/tokenlib/src/proofs/dpop.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { AUDIENCE } from './foreign.js'
import { createTimedClock, NOW, PATIENT, SECRET } from './manager.js'

/** The issuer of opaque tokens, and its endpoint. */
export const OPAQUE_ISSUER = 'https://opaque.example'
export const ENDPOINT = 'https://opaque.example/oauth2/introspect'

/** The opaque token of an honest user, as Ory makes them. */
export const OPAQUE = 'ory_at_8Ab3kQx1Zt.Vn5wLr7pYd-fGh2JmC_9sE'
export const CLIENT_SECRET = 'the-secret-of-the-api-at-its-provider'

/** What an honest endpoint says about an honest token. */
export function answerFor(others: object = {}): Record<string, unknown> {
  return {
    active: true,
    iss: OPAQUE_ISSUER,
    aud: [AUDIENCE],
    sub: 'ada',
    client_id: 'app',
    scope: 'notes:read notes:write',
    token_type: 'Bearer',
    iat: NOW - 60,
    exp: NOW + 600,
    ...others,
  }
}

/** Honest options. */
export function opaqueOptions(others: Partial<IntrospectOptions> = {}): IntrospectOptions {
  return {
    issuer: OPAQUE_ISSUER,
    endpoint: ENDPOINT,
    authentication: { method: 'client_secret_basic', clientId: 'api', clientSecret: CLIENT_SECRET },
    audience: AUDIENCE,
    subjectPrefix: 'opaque:',
    ...others,
  }
}

/** A JSON answer of an endpoint. */
export function toAnswer(body: unknown, init: ResponseInit = {}): Response {
  return Response.json(body, init)
}

/** An endpoint in memory, which knows tokens and counts requests. */
export function createEndpoint() {
  const tokens = new Map<string, unknown>([[OPAQUE, answerFor()]])
  const asked: string[] = []
  const requests: { readonly url: string; readonly request: IntrospectionRequest }[] = []
  let answer: IntrospectionFetch | null = null
  const fetch: IntrospectionFetch = async (url, request) => {
    requests.push({ url, request })
    const token = new URLSearchParams(request.body).get('token') ?? ''
    asked.push(token)
    return answer === null ? toAnswer(tokens.get(token) ?? { active: false }) : answer(url, request)
  }
  return {
    tokens,
    asked,
    requests,
    fetch,
    /** Answers everything in this way from now on; `null` for honestly. */
    answer: (next: IntrospectionFetch | null) => void (answer = next),
  }
}

/** A manager of its own tokens that also takes opaque ones, on one clock that runs timers. */
export function createOpaqueReceiver(
  options: Partial<IntrospectOptions> = {},
  given: {
    readonly config?: TokenConfigOptions
    readonly others?: readonly TrustedIssuer[]
    readonly store?: RevocationStore
    readonly dpop?: DpopOptions
  } = {},
) {
  const endpoint = createEndpoint()
  const clock = createTimedClock()
  const store = given.store ?? createMemoryStore({ clock })
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT, ...given.config }),
    clock,
    store,
    ...(given.dpop !== undefined && { dpop: given.dpop }),
    issuers: [introspect(opaqueOptions({ fetch: endpoint.fetch, ...options })), ...(given.others ?? [])],
  })
  return { tokens, clock, store, endpoint }
}
