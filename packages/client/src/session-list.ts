import { assertOption } from './options.js'
import type { TokenAnswer, TokenClient } from './types.js'

/**
 * Calls a session route; rejects unless the answer has the `expected` member, or is a 204 where none is expected. A `POST`
 * with a body has the refresh token `token`, or the one in memory.
 */
export type CallRoute<Claims> = (
  method: string,
  route: string,
  expected?: keyof TokenAnswer<Claims>,
  body?: object,
  token?: string,
) => Promise<TokenAnswer<Claims>>

type ListMember = 'endOtherSessions' | 'endSession' | 'logOutEverywhere' | 'renameSession' | 'sessions'

/** What a client can do with all sessions of its user; `end` forgets its own. */
export function createSessionList<Claims>(
  call: CallRoute<Claims>,
  isOwn: (id: string) => boolean,
  end: () => Promise<void>,
): Pick<TokenClient, ListMember> {
  return {
    logOutEverywhere: () => call('POST', 'logout-everywhere').then(end),
    sessions: () => call('GET', 'sessions', 'sessions'),
    async endSession(id) {
      await call('DELETE', toRoute(id))
      if (isOwn(id)) await end()
    },
    async renameSession(id, label) {
      await call('PATCH', toRoute(id), undefined, { label })
    },
    endOtherSessions: async () => (await call('DELETE', 'sessions', 'ended')).ended as number,
  }
}

function toRoute(id: string): string {
  // Paths without an id are other routes.
  assertOption('id', /[^.]/.test(id))
  return `sessions/${encodeURIComponent(id)}`
}
