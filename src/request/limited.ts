import { TokenDecodeError } from '../errors.js'
import type { RequestView } from './view.js'

/** How long a header or URL with a token in it may be. */
export interface LengthLimit {
  /** In characters. */
  readonly maxLength: number
}

/** A header, or `null`; one that is too long is refused before anybody looks into it. */
export function readHeader(view: RequestView, name: string, limit: LengthLimit): string | null {
  const value = view.header(name)
  return value === null ? null : assertLength(`${name} header`, value, limit)
}

/** The URL; one that is too long is refused before anybody looks into it. */
export function readUrl(view: RequestView, limit: LengthLimit): string {
  return assertLength('URL', view.url, limit)
}

function assertLength(what: string, value: string, { maxLength }: LengthLimit): string {
  if (value.length <= maxLength) return value
  throw new TokenDecodeError(`The ${what} is longer than ${maxLength} characters`)
}
