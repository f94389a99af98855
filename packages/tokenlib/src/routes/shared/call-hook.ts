// With all of these: h3 takes those of the cause otherwise.
class HookError extends Error {
  readonly status = 500
  readonly statusText = 'Internal Server Error'
  readonly headers = {}
  readonly unhandled = true
}

/**
 * Calls a function of the application. What it throws is wrapped: frameworks would send its own status, or that of a token
 * error, as the answer to the request.
 */
export async function callHook<Value>(name: string, call: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await call()
  } catch (error) {
    throw toHookError(name, error)
  }
}

/** An error that every framework answers with 500, for what a function of the application has thrown. */
export function toHookError(name: string, cause: unknown): Error {
  return cause instanceof HookError ? cause : new HookError(`${name} failed`, { cause })
}
