/**
 * Throws `TypeError` unless a dependency that says who sends a request has returned somebody; `name` is its option.
 *
 * `null` is what an optional dependency returns for nobody; `false` is how guards of other libraries refuse, and a check
 * like `list.length && user` returns `0`.
 */
export function assertIdentity(name: string, value: unknown): void {
  if (Boolean(value) && !(value instanceof Error) && !(value instanceof Response)) return
  throw new TypeError(
    `${name} must throw to refuse a request, and return who it is: not null, false, 0, an empty string or an error`,
  )
}
