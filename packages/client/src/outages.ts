import type { TokenClientError } from './errors.js'
import {
  MAX_ATTEMPTS,
  MAX_DELAY_MS,
  MAX_PAUSE_SECONDS,
  MAX_WAIT_SECONDS,
  SUPERSEDED,
  SUPERSEDED_PAUSE_MS,
} from './limits.js'
import type { ClientTimers, ParsedOptions } from './options.js'
import { readRetryAfter, unlessAborted } from './responses.js'

/** Milliseconds, at random below a limit that doubles with each failure: many tabs may have seen the same one. */
export function createDelay(failures: number): number {
  return Math.min(MAX_DELAY_MS, 500 * 2 ** failures) * Math.random()
}

/** How to send a request, and whether it may be repeated. */
export interface Delivery extends Pick<ParsedOptions, 'clock' | 'fetch' | 'proof' | 'timers'> {
  /** Whether it does no harm if the server handles the request twice. */
  readonly isSafe: boolean
  /** Whether the body can be sent again. */
  readonly mayRepeat: boolean
  /** Creates the request with the current credentials. */
  readonly authorize: (request: Request) => Request
  /** Whether the request should still be sent after a pause. */
  readonly mayGoOn: () => boolean
}

/** Sends a request; repeats it after a 503 with `Retry-After`, if that is harmless. */
export async function deliver(first: Request, delivery: Delivery): Promise<Response> {
  const { timers, fetch, proof, clock, isSafe, mayRepeat, authorize, mayGoOn } = delivery
  const send = (request: Request): Promise<Response> => {
    if (!proof) return fetch(request)
    // A database that does not answer must not keep a request from ending.
    return unlessAborted(proof(request, { send: fetch, clock, isSafe, mayRepeat, mayGoOn }), first.signal)
  }
  for (let attempt = 1; ; attempt++) {
    const response = await send(authorize(isSafe ? first.clone() : first))
    const seconds = readRetryAfter(response)
    const mayWait = isSafe && attempt < MAX_ATTEMPTS && seconds <= MAX_WAIT_SECONDS
    if (response.status !== 503 || !mayWait) return response
    await pause(timers, seconds * 1000, first.signal)
    if (!mayGoOn()) return response
  }
}

/** Refreshes if still needed. If another tab refreshed first, tries again with its cookies. */
export async function unlessSuperseded<Value>(
  timers: ClientTimers,
  refresh: () => Promise<Value>,
  isNeeded: () => boolean,
): Promise<Value | null> {
  for (let attempt = 1; isNeeded(); attempt++) {
    try {
      return await refresh()
    } catch (error) {
      if ((error as TokenClientError).code !== SUPERSEDED || attempt === MAX_ATTEMPTS) throw error
    }
    await new Promise<void>((resolve) => timers.setTimeout(resolve, SUPERSEDED_PAUSE_MS))
  }
  return null
}

/** Reports each outage once, although both `start` and a refresh may see it. Storage failures are not outages. */
export function tellOnce(tell: (error: TokenClientError) => void): (error: TokenClientError) => void {
  let told: TokenClientError | undefined
  return (error) => {
    if (error !== told && error.code !== 'STORAGE_FAILED') tell((told = error))
  }
}

/** Repeats `ask` until the server answers; `tell` gets every failure. Rejects with the reason of `signal`. */
export async function untilAvailable<Value>(
  timers: ClientTimers,
  ask: () => Promise<Value>,
  tell: (error: TokenClientError) => void,
  signal: AbortSignal,
): Promise<Value> {
  for (let failures = 1; ; failures++) {
    try {
      return await unlessAborted(ask(), signal)
    } catch (error) {
      const { code, status, retryAfter = 0 } = error as TokenClientError
      if (signal.aborted || (code !== 'UNAVAILABLE' && code !== SUPERSEDED && status !== 429)) throw error
      tell(error as TokenClientError)
      // Added, and not the greater of both: everyone who was refused would come back at the same moment.
      await pause(timers, Math.min(retryAfter, MAX_PAUSE_SECONDS) * 1000 + createDelay(failures), signal)
    }
  }
}

function pause(timers: ClientTimers, milliseconds: number, signal: AbortSignal): Promise<void> {
  let timer: unknown
  const passed = new Promise<void>((resolve) => {
    timer = timers.setTimeout(resolve, milliseconds)
  })
  return unlessAborted(passed, signal).finally(() => timers.clearTimeout(timer as never))
}
