/**
 * Whether a value is still to come, whatever its make.
 *
 * By its method, not by `instanceof`: where somebody has replaced the global `Promise`, what an async function returns is
 * an instance of the one before, and a refusal would pass for a value.
 */
export function isPromise<Value>(value: Value | Promise<Value>): value is Promise<Value>
export function isPromise(value: unknown): value is PromiseLike<unknown>
export function isPromise(value: unknown): boolean {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function'
}

/** A rejection for whoever asks; nobody has to. */
export function toRejection(reason: unknown): Promise<never> {
  const rejection = Promise.reject(reason)
  void rejection.catch(() => undefined)
  return rejection
}
