import type { TokenFacts } from './history.js'

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
  const { jti, sid, sub, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as {
    readonly jti: string
    readonly sid: string
    readonly sub: string
    readonly exp: number
  }
  return { jti, sid, user: sub, kid, exp }
}
