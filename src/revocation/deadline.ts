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
