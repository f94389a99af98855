/** The time of the machine in epoch milliseconds: unlike a monotonic clock, it goes on while a laptop sleeps. */
export function now(): number {
  return Date.now()
}

/** The seconds that `Retry-After` asks for (RFC 9110 §10.2.3), or `NaN` without a valid one. */
export function readRetryAfter({ headers }: Response): number {
  const value = headers.get('retry-after') ?? ''
  return /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - now()) / 1000
}

/** The outcome of a promise that others may wait for too, or a rejection with the reason of `signal`. */
export function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    signal.addEventListener('abort', () => reject(signal.reason))
    promise.then(resolve, reject)
  })
}

/** The JSON of an answer; an empty object if it has none. */
export async function readJson<Body>(response: Response): Promise<Body> {
  return Object(await response.json().catch(() => null)) as Body
}
