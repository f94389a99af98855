/** The seconds that `Retry-After` asks for, or `NaN`; dates, which only few servers send, are not read. */
export function readRetryAfter({ headers }: Response): number {
  return parseFloat(headers.get('retry-after') ?? '')
}

/** The outcome of a promise that others may wait for too, or a rejection with the reason of `signal`. */
export function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    // First: nobody else may handle its rejection.
    promise.then(resolve, reject)
    // React Native's signals have neither `throwIfAborted` nor a reason.
    const abort = (): void => reject(signal.reason ?? createAbortError('AbortError'))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
  })
}

/** The reason of an abort. React Native has no `DOMException`. */
export function createAbortError(name: 'AbortError' | 'TimeoutError'): Error {
  return Object.assign(new Error(name), { name })
}

/** The JSON of an answer; an empty object if it has none. */
export async function readJson<Body>(response: Response): Promise<Body> {
  return Object(await response.json().catch(() => null)) as Body
}

/** Why a request was refused: the code in the body, or else the challenge. The response stays unread. */
export async function readRefusal(response: Response): Promise<string> {
  const { code } = await readJson<{ readonly code?: string }>(response.clone())
  return code ?? response.headers.get('www-authenticate') ?? ''
}
