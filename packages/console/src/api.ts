import type { AnyClaims, JsonClaims, RevokeOptions, SessionInfo, TokenManager } from 'tokenlib'
import { MAX_NOTE_LENGTH, readTimedId, RefusedRequest, toMediaType, toRequestView } from 'tokenlib/kit'
import { isVisible } from './access.js'
import { toDevice } from './user-agent.js'

/** What the console uses of a manager. */
export type ConsoleTokens = Pick<
  TokenManager<JsonClaims, AnyClaims, unknown, object>,
  'config' | 'health' | 'keys' | 'on' | 'revoke' | 'sessions'
>

const PAGE_SIZE = 25

/** The state of the store, and who is asking. */
export async function answerHealth(tokens: ConsoleTokens, actor: string): Promise<Response> {
  const { status, canCheck, canWrite, responseTimeMs, error, replica } = await tokens.health()
  return Response.json({
    actor,
    keyId: tokens.keys.current,
    status,
    canCheck,
    canWrite,
    responseTimeMs,
    error: error === null ? null : error.message,
    replica: replica && {
      isFresh: replica.isFresh,
      ageMs: replica.ageMs,
      boundMs: replica.boundMs,
      entries: replica.entries,
      error: replica.lastError === null ? null : replica.lastError.message,
    },
  })
}

/** A page of the sessions of a user; `next` is `before` of the next page, or `null`. */
export async function answerSessions(tokens: ConsoleTokens, request: Request): Promise<Response> {
  const { searchParams } = new URL(request.url)
  const user = searchParams.get('user')
  const before = searchParams.get('before')
  if (user === null || user === '') throw invalid('user is required')
  if (before !== null && readTimedId(before) === null) throw invalid('before must be the id of a session')
  // One more than is shown: then there is a next page.
  const limit = PAGE_SIZE + 1
  const found = await tokens.sessions.list(user, before === null ? { limit } : { limit, before })
  const shown = found.slice(0, PAGE_SIZE)
  const next = found.length > PAGE_SIZE ? (shown.at(-1)?.id ?? null) : null
  return Response.json({ sessions: shown.map(toJson), next })
}

/** Revokes what the body says, in the name of the actor, for the reason that the body has. */
export async function answerRevoke(
  tokens: ConsoleTokens,
  request: Request,
  actor: string,
): Promise<Response> {
  if (toMediaType(request.headers.get('content-type')) !== 'application/json') {
    throw new RefusedRequest(415, 'REQUEST_INVALID', 'The body must be application/json')
  }
  const { kind, id, reason } = parseRevocation(await toRequestView(request).body())
  const options: RevokeOptions = { actor, note: reason, request }
  // Told to the operator: an id with a typing error is revoked without an error too.
  const isKnown = kind === 'session' ? (await tokens.sessions.get(id)) !== null : null
  await revoke(tokens, kind, id, options)
  return Response.json({ kind, id, isKnown })
}

/** What is typed to confirm that everything is revoked. */
export const EVERYTHING = 'everything'

interface WantedRevocation {
  readonly kind: 'session' | 'user' | 'key' | 'all'
  /** Empty for `all`. */
  readonly id: string
  readonly reason: string
}

function parseRevocation(body: unknown): WantedRevocation {
  if (typeof body !== 'object' || body === null) throw invalid('The body must be a JSON object')
  const { kind, id, reason, confirmation } = body as Readonly<Record<string, unknown>>
  if (kind !== 'session' && kind !== 'user' && kind !== 'key' && kind !== 'all') {
    throw invalid('kind must be session, user, key or all')
  }
  if (typeof id !== 'string' || (id === '') !== (kind === 'all')) {
    throw invalid('id must be the id of what is revoked, and empty for all')
  }
  if (typeof reason !== 'string' || !isVisible(reason)) throw invalid('reason is required')
  if (reason.length > MAX_NOTE_LENGTH) {
    throw invalid(`reason must have at most ${MAX_NOTE_LENGTH} characters`)
  }
  const required = kind === 'all' ? EVERYTHING : id
  if (confirmation !== required) {
    throw invalid(`confirmation must be ${kind === 'all' ? EVERYTHING : 'the id'}`)
  }
  return { kind, id, reason: reason.trim() }
}

async function revoke(
  tokens: ConsoleTokens,
  kind: WantedRevocation['kind'],
  id: string,
  options: RevokeOptions,
): Promise<void> {
  switch (kind) {
    case 'session':
      await tokens.revoke.session(id, options)
      break
    case 'user':
      await tokens.revoke.user(id, options)
      break
    case 'key':
      await tokens.revoke.key(id, options)
      break
    case 'all':
      await tokens.revoke.all(options)
  }
}

function invalid(message: string): RefusedRequest {
  return new RefusedRequest(400, 'REQUEST_INVALID', message)
}

function toJson(session: SessionInfo<object>): object {
  const { id, createdAt, lastUsedAt, expiresAt, ip, userAgent } = session
  const { label = null, ...data } = session.data ?? {}
  const device = userAgent === null ? null : toDevice(userAgent)
  const members = Object.keys(data).length === 0 ? null : data
  return { id, createdAt, lastUsedAt, expiresAt, ip, userAgent, device, label, data: members }
}
