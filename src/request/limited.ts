import { TokenDecodeError } from '../errors.js'
import type { RequestView } from './view.js'

/** How long a header or URL with a token in it may be. */
export interface LengthLimit {
  /** In characters. */
  readonly maxLength: number
}

/** A header, or `null`; one that is too long is refused before anybody looks into it. */
export function readHeader(view: RequestView, name: string, { maxLength }: LengthLimit): string | null {
  const value = view.header(name)
  if (value !== null) assertLength(`${name} header`, value.length, maxLength)
  return value
}

/** The URL; one that is too long is refused before anybody looks into it. */
export function readUrl(view: RequestView, { maxLength }: LengthLimit): string {
  assertLength('URL', view.url.length, maxLength)
  return view.url
}

/** Throws `TokenDecodeError` for a part of the request that is longer than it may be. */
export function assertLength(what: string, length: number, maxLength: number): void {
  if (length > maxLength) throw new TokenDecodeError(`The ${what} is longer than ${maxLength} characters`)
}
