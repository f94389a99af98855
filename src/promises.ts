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

/** The same promise; if it rejects and nobody waits for it, that does not count as unhandled. */
export function settleQuietly<Value>(promise: Promise<Value>): Promise<Value> {
  void promise.catch(() => undefined)
  return promise
}
