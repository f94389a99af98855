import type { TokenFacts } from './history.js'

/** The identity provider of every world. */
export const PROVIDER = 'https://id.example'

/** What the names of its users and sessions begin with. */
export const PROVIDER_PREFIX = 'id:'

/** A token that somebody holds. */
export interface Held {
  readonly text: string
  readonly facts: TokenFacts
}

/** Tokens that somebody was given. */
export interface Tokens {
  readonly access: Held
  readonly refresh: Held
}

/** A token, and what is in it. */
export function hold(text: string): Held {
  return { text, facts: readFacts(text) }
}

/** What anybody can read in a token. */
export function readFacts(token: string): TokenFacts {
  const [header = '', claims = ''] = token.split('.')
  const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string }
  const { iss, jti, sid, sub, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as {
    readonly iss?: string
    readonly jti: string
    readonly sid: string
    readonly sub: string
    readonly exp: number
  }
  const prefix = iss === PROVIDER ? PROVIDER_PREFIX : ''
  return { jti, sid: prefix + sid, user: prefix + sub, kid, exp }
}
