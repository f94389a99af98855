import type { TokenPayload, TokenType } from '../tokens/payload.js'
import { RevocationUnavailableError } from '../errors.js'
import { inspectAsJson } from '../encoding.js'
import type { JwsHeader } from '../tokens/jose.js'
import { isPromise, withDeadline } from '../runtime.js'
import type { TokenLocation } from '../http/read-token.js'
import type { RequestView } from '../http/view.js'
import type { Scheduler } from '../time.js'

/** Passed to a revocation callback with the raw token, which has passed every other check. */
export interface RevocationContext<Payload = TokenPayload> {
  readonly payload: Payload
  readonly header: JwsHeader
  readonly type: TokenType
  /** Where the token was found, or `null` if it did not come from a request. */
  readonly location: TokenLocation | null
  /** The request that brought the token, or `null` for `verify` and for later checks of an open socket. */
  readonly request: RevocationRequest | null
  /** Aborts when the answer would come too late. */
  readonly signal: AbortSignal
}

/** What a revocation callback sees of a request: nothing that it could change, and no body. */
export interface RevocationRequest extends Pick<RequestView, 'method' | 'url' | 'header'> {
  /** The address of the other end of the connection, or `null` if the server does not know it. */
  readonly ip: string | null
}

/** Where a token came from, as far as the callback is told. */
export interface CallbackOrigin {
  readonly location: TokenLocation | null
  readonly view: RequestView | null
}

/** Decides whether a token is revoked: `true` or `false`, or a promise of it. */
export type TokenBlocklistCallback<Payload = TokenPayload> = (
  token: string,
  context: RevocationContext<Payload>,
) => boolean | PromiseLike<boolean>

/** Registers a callback: called with it, or as a standard or legacy method decorator. */
export interface RegisterTokenBlocklist<Payload = TokenPayload> {
  <Callback extends TokenBlocklistCallback<Payload>>(callback: Callback): Callback
  (callback: TokenBlocklistCallback<Payload>, context: ClassMethodDecoratorContext): void
  <Method extends TokenBlocklistCallback<Payload>>(
    target: object,
    name: string | symbol,
    descriptor: TypedPropertyDescriptor<Method>,
  ): TypedPropertyDescriptor<Method> | void
}

/** Holds an application's callback. */
export interface Blocklist {
  /** A plain field, because every request reads it. Read it once per check: it may be replaced during the check. */
  readonly callback: TokenBlocklistCallback | null
  /** Registers a callback and replaces the previous one. Works without `this`, which legacy decorators do not pass. */
  readonly register: RegisterTokenBlocklist
}

/** A blocklist without a callback. */
export function createBlocklist(): Blocklist {
  const register = (first: unknown, second?: unknown, third?: unknown): unknown => {
    if (typeof second === 'string' || typeof second === 'symbol') {
      // The first argument is the class of a static method, and the prototype of an instance method.
      blocklist.callback = parseCallback((third as PropertyDescriptor | undefined)?.value).bind(first)
      return undefined
    }
    const callback = parseCallback(first)
    // Registered unbound at first: a method that needs its instance fails until there is one, and a check that fails
    // refuses. Without a callback, everything would pass.
    blocklist.callback = callback
    if (!isDecoratorContext(second)) return first
    second.addInitializer(function (this: unknown) {
      blocklist.callback = callback.bind(this)
    })
    return undefined
  }
  const blocklist = {
    callback: null as TokenBlocklistCallback | null,
    register: register as RegisterTokenBlocklist,
  }
  return blocklist
}

function parseCallback(value: unknown): TokenBlocklistCallback {
  if (typeof value !== 'function') throw new TypeError('The token blocklist callback must be a function')
  return value as TokenBlocklistCallback
}

function isDecoratorContext(value: unknown): value is ClassMethodDecoratorContext {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false
  if (value.kind !== 'method')
    throw new TypeError('Only a method can be decorated as a token blocklist callback')
  return true
}

/** A token that has passed every other check. */
export interface CheckedToken {
  readonly payload: TokenPayload
  readonly header: JwsHeader
}

/**
 * What the callback answers about a token; `RevocationUnavailableError` when it fails, takes too long, or answers neither
 * `true` nor `false`: an unanswered question is not a "no".
 */
export async function callBlocklist(
  isRevoked: TokenBlocklistCallback,
  token: string,
  { payload, header }: CheckedToken,
  { location, view }: CallbackOrigin,
  timeoutMs: number,
  scheduler: Scheduler,
): Promise<boolean> {
  let controller: AbortController | undefined
  let reason: Error | undefined
  const createTooLate = (): Error =>
    new Error(`The revocation callback did not answer within ${timeoutMs} ms`)
  const abort = (): Error => {
    reason = createTooLate()
    controller?.abort(reason)
    return reason
  }
  const context: RevocationContext = {
    payload,
    header,
    type: payload.type,
    location,
    request: view && Object.freeze(new CallbackRequest(view)),
    // Created lazily: most callbacks do not read it, and this runs for every request.
    get signal() {
      controller ??= new AbortController()
      if (reason !== undefined) controller.abort(reason)
      return controller.signal
    },
  }
  const { monotonicNow } = scheduler
  const startedAt = monotonicNow()
  try {
    const pending = isRevoked(token, context)
    const answer: unknown = isPromise(pending)
      ? await withDeadline(scheduler, pending, timeoutMs, abort)
      : pending
    // A busy process may see the answer before the timer that should have ended the wait.
    if (monotonicNow() - startedAt > timeoutMs) throw createTooLate()
    if (typeof answer === 'boolean') return answer
    const type = answer === null ? 'null' : typeof answer
    throw new TypeError(`The revocation callback must return true or false, not ${type}`)
  } catch (cause) {
    throw new RevocationUnavailableError(cause)
  }
}

// Keep the view private: if the callback replaced a member, every dependency of the route would see that. The body is left
// out, because the route may still have to read it.
class CallbackRequest implements RevocationRequest {
  readonly #view: RequestView

  constructor(view: RequestView) {
    this.#view = view
  }

  get method(): string {
    return this.#view.method
  }

  get url(): string {
    return this.#view.url
  }

  get ip(): string | null {
    return this.#view.ip ?? null
  }

  header(name: string): string | null {
    return this.#view.header(name)
  }

  // Without the address, which may have a token in its query, and without headers.
  toJSON(): object {
    return { method: this.method }
  }
}
inspectAsJson(CallbackRequest)
