import { forge } from '../harness/forge.js'

/** What a request is made of; every view of one is built from this. */
export interface RequestParts {
  readonly method?: string
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A text of a length, made of one piece over and over. */
export const fill = (piece: string, length: number): string =>
  piece.repeat(Math.ceil(length / piece.length)).slice(0, length)

const TOKEN = forge()
const COOKIE = `access_token_cookie=${TOKEN}`

/** One place of a request to find a token in: an honest request, and hostile ones of any length. */
export interface HostilePlace {
  readonly location: 'cookies' | 'headers' | 'query'
  readonly honest: RequestParts
  /** By what is long about them. */
  readonly hostile: Readonly<Record<string, (length: number) => RequestParts>>
}

const cookie = (value: string): RequestParts => ({ headers: { cookie: value } })
const authorization = (value: string): RequestParts => ({ headers: { authorization: value } })
const query = (value: string): RequestParts => ({ url: `/?${value}` })

/** Long Cookie headers, Authorization headers and URLs; all but the first of each have the honest token in them. */
export const HOSTILE_PLACES: readonly HostilePlace[] = [
  {
    location: 'cookies',
    honest: cookie(`theme=dark; ${COOKIE}; lang=en`),
    hostile: {
      'one token': (length) => cookie(`access_token_cookie=${fill('A', length)}`),
      'many cookies before it': (length) => cookie(`${fill('a=b; ', length)}x; ${COOKIE}`),
      'many cookies behind it': (length) => cookie(`${COOKIE}; ${fill('a=b; ', length)}`),
      'its name, over and over': (length) => cookie(fill(`${COOKIE}; `, length)),
      semicolons: (length) => cookie(`${COOKIE}${fill(';', length)}`),
      'equals signs': (length) => cookie(`${COOKIE};${fill('=', length)}`),
      'white space': (length) => cookie(`${COOKIE};${fill(' ', length)}x`),
    },
  },
  {
    location: 'headers',
    honest: authorization(`Bearer ${TOKEN}`),
    hostile: {
      'one token': (length) => authorization(`Bearer ${fill('A', length)}`),
      commas: (length) => authorization(`Bearer ${TOKEN}${fill(',', length)}`),
      parameters: (length) => authorization(`Digest ${fill('a="1", ', length)}x, Bearer ${TOKEN}`),
      'other schemes': (length) => authorization(`${fill('Basic QQ, ', length)}x, Bearer ${TOKEN}`),
      'schemes without an end': (length) => authorization(`Bearer ${TOKEN}, ${fill('a', length)}`),
      'white space': (length) => authorization(`Bearer${fill(' ', length)}${TOKEN}`),
    },
  },
  {
    location: 'query',
    honest: query(`page=1&token=${TOKEN}#top`),
    hostile: {
      'one token': (length) => query(`token=${fill('A', length)}`),
      'many parameters': (length) => query(`${fill('a=b&', length)}&token=${TOKEN}`),
      'percent signs': (length) => query(`token=${TOKEN}&x=${fill('%41', length)}`),
      'its name, over and over': (length) => query(fill(`token=${TOKEN}&`, length)),
      ampersands: (length) => query(`token=${TOKEN}${fill('&', length)}`),
      'a long fragment': (length) => query(`token=${TOKEN}#${fill('x', length)}`),
      'a long path': (length) => ({ url: `${fill('/a', length)}?token=${TOKEN}` }),
    },
  },
]
