import type { TokenClientError } from './errors.js'
import type { TokenStorage } from './options.js'

/** Sends a refresh token to a route. Default: the token in memory or in a cookie. */
export type SendToken<Answer> = (token?: string) => Promise<Answer>

/** A response that may have a new refresh token. */
export interface TokenHolder {
  readonly refreshToken?: string
}

/** Keeps the current refresh token. */
export interface TokenKeeper {
  /** Sends the newest refresh token, and keeps the next one before anybody uses it. */
  renew<Answer extends TokenHolder>(send: SendToken<Answer>): Promise<Answer>
  /** Takes the refresh token of a login. It is in memory until `save` has stored it. */
  enter(answer: TokenHolder): Promise<void>
  /**
   * Stores the refresh token of a login. If that fails, the next refresh tries again. But if the token of another login may
   * still be stored, it ends the session and rejects.
   */
  save(revoke: SendToken<unknown>, end: () => unknown): Promise<void>
  /** Forgets the token, and then ends its session. */
  leave(revoke: SendToken<unknown>, isLoggedIn: boolean): Promise<void>
  /** Forgets the token of a session that has ended. */
  forget(): Promise<void>
}

/** Passed in by the client. Imports would split the code that every page loads into more chunks. */
export interface ClientParts {
  /** The value of a promise, or a rejection when it takes too long. */
  readonly limit: <Value>(work: Promise<Value>) => Promise<Value>
  readonly createError: (code: string, action: string, more?: object) => TokenClientError
  readonly isRefusal: (error: unknown) => boolean
  readonly tell: (error: TokenClientError) => void
}

/**
 * Errors of a refresh after which the stored token is useless. Any other error may come from a server with a wrong key or
 * clock, so the token is kept.
 */
const ENDS_SESSION = /^(TOKEN_(MISSING|INVALID|EXPIRED|REVOKED)|REFRESH_TOKEN_REUSED|SUBJECT_NOT_FOUND)$/

/** How often another process may have logged in while this one refreshed. */
const MAX_ATTEMPTS = 3

/** RFC 7515 §3.1: three parts of base64url. */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * Keeps the refresh token in the storage of an app, and uses none that is not stored. A token is used up only when its
 * successor is used, so the stored one is always good, whatever became of a response or a write. Only a login that cannot be
 * stored stays in memory.
 */
export function createStoredKeeper(
  storage: TokenStorage,
  { limit, createError, isRefusal, tell }: ClientParts,
): TokenKeeper {
  // The refresh token of a login that is not stored yet.
  let unstored: string | null = null

  // One after the other: a write that comes late must not replace a newer one. Behind a call that hangs, nobody waits.
  let last: Promise<unknown> = Promise.resolve()
  let isHanging = false
  const use = async <Value>(action: string, work: () => Promise<Value>): Promise<Value> => {
    let isPending = true
    const setDone = (): void => void (isPending = isHanging = false)
    const result = last.then(work)
    last = result.then(setDone, setDone)
    try {
      if (isHanging) throw new Error('An earlier call has not ended')
      return await limit(result)
    } catch (cause) {
      isHanging ||= isPending
      const error = createError('STORAGE_FAILED', `storage.${action}`, { cause })
      tell(error)
      throw error
    }
  }

  const read = async (): Promise<string | null> => {
    const value: unknown = await storage.read()
    if (value === null) return null
    if (typeof value === 'string' && TOKEN.test(value)) return value
    throw new TypeError('It is neither a token nor null')
  }

  // If this fails, the token that was sent stays stored, and the next refresh gets another successor. Another process of the
  // app may have stored a newer one while this one was suspended.
  const replace = (sent: string, next: string): Promise<void> =>
    use('write', async () => {
      if ((await read()) === sent) await storage.write(next)
    }).catch(() => {})

  // Resolves to `false` if another process has stored a new one.
  const drop = (sent: string): Promise<boolean> =>
    use('remove', async () => {
      const stored = await read()
      if (stored !== null && stored !== sent) return false
      await storage.remove()
      return true
    }).catch(() => true)

  // Rejects if another token than `token` may still be stored.
  const removeOthers = async (token: string): Promise<void> => {
    try {
      await storage.remove()
    } catch (error) {
      const stored = await read()
      if (stored !== null && stored !== token) throw error
    }
  }

  // Rejects if the next start may bring back the user before.
  const store = async (): Promise<void> => {
    let othersMayRemain = false
    await use('write', async () => {
      const token = unstored
      if (token === null) return
      try {
        await storage.write(token)
      } catch (cause) {
        othersMayRemain = true
        await removeOthers(token)
        othersMayRemain = false
        throw cause
      }
      if (unstored === token) unstored = null
    }).catch((error: unknown) => {
      if (othersMayRemain) throw error
    })
  }

  return {
    async save(revoke, end) {
      const token = unstored
      try {
        await store()
      } catch (error) {
        // The user has logged out since.
        if (token === null || unstored === null) return
        if (unstored === token) unstored = null
        end()
        await revoke(token).catch(() => {})
        throw error
      }
    },
    async renew(send) {
      for (let attempt = 1; ; attempt++) {
        const sent = unstored ?? (await use('read', read))
        // Another process of the app has logged out, or nobody has logged in.
        if (sent === null) throw createError('TOKEN_MISSING', 'storage', { status: 401 })
        try {
          const answer = await send(sent)
          if (unstored === sent) {
            unstored = answer.refreshToken ?? sent
            await store().catch(() => {})
          } else if (answer.refreshToken) await replace(sent, answer.refreshToken)
          return answer
        } catch (cause) {
          if (!isRefusal(cause)) throw cause
          const { code } = cause as TokenClientError
          // Like an outage, which ends when the server is put right.
          if (!ENDS_SESSION.test(code)) throw createError('UNAVAILABLE', code, { cause })
          if (unstored === sent) {
            unstored = null
            throw cause
          }
          if ((await drop(sent)) || attempt === MAX_ATTEMPTS) throw cause
        }
      }
    },
    async enter({ refreshToken }) {
      if (!refreshToken) throw createError('ANSWER_INVALID', 'no refreshToken')
      unstored = refreshToken
    },
    async leave(revoke, isLoggedIn) {
      let sent = unstored
      unstored = null
      let failure: Error | undefined
      // First: a logout works without a connection.
      await use('remove', async () => {
        try {
          sent ??= await read()
        } finally {
          await storage.remove()
        }
      }).catch((error: Error) => (failure = error))
      try {
        // Without the stored token, the one in memory ends the session.
        if (sent !== null || isLoggedIn) await revoke(sent ?? undefined)
      } catch (error) {
        if (!ENDS_SESSION.test((error as TokenClientError).code)) failure ??= error as Error
      }
      if (failure) throw failure
    },
    forget() {
      unstored = null
      return use('remove', () => storage.remove())
    },
  }
}
