import type { TokenType } from '../claims/payload.js'
import { MissingTokenError } from '../errors.js'
import { isPromise } from '../promises.js'
import { type PerType, READERS, type ReadingRules, type TokenReader } from './locations.js'
import type { RequestToken, TokenLocation } from './request-token.js'
import type { RequestView } from './view.js'

/** One place to look in for a token of one type, and how. */
export interface TokenPlace {
  readonly type: TokenType
  readonly location: TokenLocation
  readonly read: TokenReader
}

/** The places to look in: for each wanted type in turn, location by location in the configured order. */
export function toPlaces(
  types: readonly TokenType[],
  locations: PerType<readonly TokenLocation[]>,
): readonly TokenPlace[] {
  return types.flatMap((type) =>
    locations[type].map((location) => ({ type, location, read: READERS[location] })),
  )
}

/** The first token found, or `null`; at once, unless a body must be waited for. */
export function readToken(
  view: RequestView,
  places: readonly TokenPlace[],
  rules: ReadingRules,
): RequestToken | null | Promise<RequestToken | null> {
  for (const place of places) {
    const found = place.read(view, place.type, rules)
    if (isPromise(found)) {
      const rest = places.slice(places.indexOf(place) + 1)
      return found.then((later) => later ?? readToken(view, rest, rules))
    }
    if (found !== null) return found
  }
  return null
}

/** The error for a request without a token; it names every place that was looked at. */
export function missingToken(places: readonly TokenPlace[], rules: ReadingRules): MissingTokenError {
  const tried = [...new Set(places.map((place) => describe(place, rules)))].join(', ')
  return new MissingTokenError(
    tried === ''
      ? 'No token found: no location is read'
      : `No token found in the request (looked in ${tried})`,
  )
}

function describe({ type, location }: TokenPlace, rules: ReadingRules): string {
  switch (location) {
    case 'headers':
      return `the ${rules.headerName} header`
    case 'cookies':
      return `the cookie ${rules.cookieName[type]}`
    case 'json':
      return `${rules.jsonKey[type]} of the JSON body`
    case 'query':
      return `${rules.queryName} of the query string`
  }
}
