/** Whether a value is a scope (RFC 6749 §3.3): a non-empty string without spaces. */
export function isScope(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !value.includes(' ')
}

/** The scopes in a space-separated text (RFC 6749 §3.3). */
export function parseScopes(text: string): string[] {
  const scopes = text.split(' ')
  return scopes.includes('') ? scopes.filter((scope) => scope !== '') : scopes
}

/**
 * Whether the token carries every required scope.
 *
 * A token's `admin:*` covers `admin` and everything below `admin:`; a required scope is always literal.
 */
export function hasScopes(
  payload: { readonly scopes?: readonly string[] },
  ...required: readonly string[]
): boolean {
  const provided = payload.scopes ?? []
  return required.every((scope) => provided.some((candidate) => covers(candidate, scope)))
}

function covers(provided: string, required: string): boolean {
  if (provided === required) return true
  if (!provided.endsWith(':*')) return false
  const parent = provided.slice(0, -2)
  return required === parent || required.startsWith(`${parent}:`)
}
