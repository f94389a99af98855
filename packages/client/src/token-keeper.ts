import { isRefusal, TokenClientError } from './errors.js'
import type { ClientTimers, TokenStorage } from './options.js'
import { inTime } from './requests.js'
import { unlessAborted } from './responses.js'
import type { ClientParts, TokenKeeper } from './stored-tokens.js'

const nothing = async (): Promise<void> => {}

/** Creates a keeper. The code for `storage` is loaded only if you pass one. */
export function createKeeper(
  storage: TokenStorage | undefined,
  timers: ClientTimers,
  tell: (error: TokenClientError) => void,
): TokenKeeper {
  // Without a storage, the token is in a cookie or in the client's memory.
  if (!storage)
    return {
      renew: (send) => send(),
      enter: nothing,
      save: nothing,
      leave: (revoke) => revoke().then(nothing),
      forget: nothing,
    }
  const parts: ClientParts = {
    limit: (work) => inTime(timers, (signal) => unlessAborted(work, signal)),
    createError: (...facts) => new TokenClientError(...facts),
    isRefusal,
    tell,
  }
  let loading: Promise<TokenKeeper> | undefined
  const load = (): Promise<TokenKeeper> =>
    (loading ??= import('./stored-tokens.js').then(
      (part) => part.createStoredKeeper(storage, parts),
      (cause: unknown) => {
        // Without a connection; the next call loads it.
        loading = undefined
        throw new TokenClientError('UNAVAILABLE', 'stored-tokens', { cause })
      },
    ))
  return {
    renew: async (send) => (await load()).renew(send),
    enter: async (answer) => (await load()).enter(answer),
    save: async (revoke, end) => (await load()).save(revoke, end),
    leave: async (revoke, isLoggedIn) => (await load()).leave(revoke, isLoggedIn),
    forget: async () => (await load()).forget(),
  }
}
