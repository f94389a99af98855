/** Whether a value is a promise, of whatever make. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function'
  return isObject && typeof (value as Partial<PromiseLike<unknown>>).then === 'function'
}

/** A rejection for whoever asks; nobody has to. */
export function toRejection(reason: unknown): Promise<never> {
  const rejection = Promise.reject(reason)
  void rejection.catch(() => undefined)
  return rejection
}

/** What a promise brings in time; otherwise rejects with `createReason()`. What comes later is dropped. */
export function withDeadline<Value>(
  answer: PromiseLike<Value>,
  timeoutMs: number,
  createReason: () => Error,
): Promise<Value> {
  // Whichever comes first is final: a promise settles once.
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(createReason()), timeoutMs)
    Promise.resolve(answer)
      .finally(() => clearTimeout(timer))
      .then(resolve, reject)
  })
}
