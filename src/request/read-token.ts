import type { TokenType } from '../claims/payload.js'
import { MissingTokenError } from '../errors.js'
import { type PerType, READERS, type ReadingRules } from './locations.js'
import type { RequestToken, TokenLocation } from './request-token.js'
import type { RequestView } from './view.js'

/** The first token found: for each wanted type in turn, location by location in the configured order; or `null`. */
export async function readToken(
  view: RequestView,
  types: readonly TokenType[],
  locations: PerType<readonly TokenLocation[]>,
  rules: ReadingRules,
): Promise<RequestToken | null> {
  for (const type of types) {
    for (const location of locations[type]) {
      const found = await READERS[location](view, type, rules)
      if (found !== null) return found
    }
  }
  return null
}

/** The error for a request without a token; it names every place that was looked at. */
export function missingToken(
  types: readonly TokenType[],
  locations: PerType<readonly TokenLocation[]>,
  rules: ReadingRules,
): MissingTokenError {
  const places = types.flatMap((type) => locations[type].map((location) => describe(location, type, rules)))
  const tried = [...new Set(places)].join(', ')
  return new MissingTokenError(
    tried === ''
      ? 'No token found: no location is read'
      : `No token found in the request (looked in ${tried})`,
  )
}

function describe(location: TokenLocation, type: TokenType, rules: ReadingRules): string {
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
