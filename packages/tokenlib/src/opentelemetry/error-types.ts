import { isTokenError } from '../errors.js'

/** Semantic conventions: the value where there is none of low cardinality. */
export const OTHER: string = '_OTHER'
// Ours, and those of Node, PostgreSQL and most drivers.
const CODE = /^[A-Z0-9][A-Z0-9_]{1,39}$/
// However many a driver may have.
const MAX_ERROR_TYPES = 100
// `fetch` hides the error of the network below one of its own.
const MAX_CAUSES = 4

/** The value of `error.type` for an error; never a text that a client can choose. */
export type ErrorTypes = (error: unknown) => string

/** Values of `error.type`, of which there are only so many. */
export function createErrorTypes(): ErrorTypes {
  const known = new Set<string>()
  const toBounded = (code: string): string => {
    if (known.has(code)) return code
    if (!CODE.test(code) || known.size >= MAX_ERROR_TYPES) return OTHER
    known.add(code)
    return code
  }
  // The code of what caused an error of ours, if it has one, says more than our own.
  return (error) => {
    let cause = isTokenError(error) ? error.cause : error
    for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth++) {
      const { code } = cause as { readonly code?: unknown }
      if (typeof code === 'string') return toBounded(code)
      cause = cause.cause
    }
    return isTokenError(error) ? toBounded(error.code) : OTHER
  }
}
