import { internalsOf } from '../../sessions/internals.js'
import { readTimedId } from '../../tokens/ids.js'
import type { TokenPayload } from '../../tokens/payload.js'
import type { TokenConfig } from '../../config/config.js'
import type { SessionInfo } from '../../revocation/session-store.js'
import { createEmptyAnswer, createJsonAnswer, RefusedRequest } from '../router.js'
import { SessionDataError } from '../../errors.js'
import type { Sessions } from '../../sessions/sessions.js'
import { parseLabelBody } from './credentials.js'
import { createEnd, toSessionAnswer, toSessionEnd } from './answers.js'
import type { RouteParts } from './options.js'

/** Ends the session of every token in the request, and deletes the cookies. */
export async function answerLogout(parts: RouteParts, request: Request): Promise<Response> {
  await parts.tokens.logout(request)
  return createEnd(parts)
}

/** Ends every session of the user. */
export async function answerLogoutEverywhere(parts: RouteParts, request: Request): Promise<Response> {
  const { sub } = await parts.accessTokenRequired(request)
  await parts.tokens.revoke.user(sub, { request })
  return createEnd(parts)
}

/** The session of the request's access token. */
export async function answerSession(parts: RouteParts, request: Request): Promise<Response> {
  const { tokens } = parts
  const payload = await parts.accessTokenRequired(request)
  const kept = payload.sid === undefined ? null : await tokens.sessions.get(payload.sid, payload.sub)
  const endsAt = kept === null ? (payload.exp ?? null) : readEnd(kept, payload, tokens.config)
  return createJsonAnswer({ session: toSessionAnswer(internalsOf(tokens), payload, endsAt) })
}

const MAX_PAGE = 100

/** The sessions of the user, newest first, a page at a time. */
export async function answerSessions(parts: RouteParts, request: Request): Promise<Response> {
  const { tokens } = parts
  const { sub, sid } = await parts.accessTokenRequired(request)
  const { limit, before } = parsePage(new URL(request.url).searchParams)
  // One more tells whether there is another page.
  const found = await tokens.sessions.list(sub, { limit: limit + 1, ...(before !== null && { before }) })
  const sessions = found.slice(0, limit)
  return createJsonAnswer({
    sessions: sessions.map(({ sub: _sub, ...session }) => ({ ...session, isCurrent: session.id === sid })),
    next: found.length > limit ? (sessions.at(-1)?.id ?? null) : null,
  })
}

/** Ends one session of the user. */
export async function answerEndSession(parts: RouteParts, request: Request, id: string): Promise<Response> {
  const { tokens } = parts
  const payload = await parts.accessTokenRequired(request)
  const hasEnded = id !== '' && (await tokens.sessions.end(id, payload.sub, { request }))
  if (!hasEnded) throw sessionNotFound('The user has no such session')
  return id === payload.sid ? createEnd(parts) : createEmptyAnswer(204)
}

/** Changes the label of a session of the user, and nothing else of its data. */
export async function answerRenameSession(
  parts: RouteParts,
  request: Request,
  id: string,
): Promise<Response> {
  const { tokens } = parts
  const { sub } = await parts.accessTokenRequired(request)
  const label = await parseLabelBody(request, tokens.config)
  const renamed = id === '' ? null : await renameSession(tokens.sessions, id, sub, label)
  if (renamed === null) throw sessionNotFound('The user has no such session')
  return createEmptyAnswer(204)
}

async function renameSession(
  sessions: Sessions,
  id: string,
  sub: string,
  label: string | null,
): Promise<SessionInfo | null> {
  try {
    return await sessions.update(id, sub, { label })
  } catch (error) {
    if (!(error instanceof SessionDataError) || error.code !== 'SESSION_DATA_TOO_LARGE') throw error
    throw new RefusedRequest(400, error.code, 'The data of the session has no room for this label')
  }
}

/** Ends every session of the user except the one of the request. */
export async function answerEndOtherSessions(parts: RouteParts, request: Request): Promise<Response> {
  const payload: TokenPayload = await parts.accessTokenRequired(request)
  if (payload.sid === undefined) throw sessionNotFound('The token belongs to no session')
  const ended = await parts.tokens.sessions.endOthers(payload, { request })
  return createJsonAnswer({ ended })
}

function sessionNotFound(message: string): RefusedRequest {
  return new RefusedRequest(404, 'SESSION_NOT_FOUND', message)
}

// The list knows the last use to the minute. The session was used when the access token was made, too.
function readEnd(
  { expiresAt, lastUsedAt }: SessionInfo,
  { iat = 0 }: TokenPayload<object>,
  config: TokenConfig,
): number | null {
  const usedAt = Math.max(lastUsedAt.getTime() / 1000, iat)
  return toSessionEnd(config, expiresAt && expiresAt.getTime() / 1000, usedAt)
}

function parsePage(query: URLSearchParams): { readonly limit: number; readonly before: string | null } {
  const limit = readOnce(query, 'limit') ?? String(MAX_PAGE)
  if (!/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > MAX_PAGE) {
    throw new RefusedRequest(400, 'REQUEST_INVALID', `limit must be a whole number from 1 to ${MAX_PAGE}`)
  }
  const before = readOnce(query, 'before')
  if (before !== null && readTimedId(before) === null) {
    throw new RefusedRequest(400, 'REQUEST_INVALID', 'before must be the id of a session')
  }
  return { limit: Number(limit), before }
}

function readOnce(query: URLSearchParams, name: string): string | null {
  const [value = null, ...others] = query.getAll(name)
  if (others.length > 0) throw new RefusedRequest(400, 'REQUEST_INVALID', `${name} occurs more than once`)
  return value
}
