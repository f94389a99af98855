import { ConfigurationError, TokenConfig } from '../../packages/tokenlib/src/index.js'
import { TokenDecodeError } from '../../packages/tokenlib/src/errors.js'
import { createKeyRing, type KeyRing, type KeySources } from '../../packages/tokenlib/src/tokens/key-ring.js'
import { verifyJws } from '../helpers/verify-jws.js'
import type { Answer } from './corpus.js'

// What an application gets that sets nothing.
const MAX_LENGTH = new TokenConfig({ JWT_SECRET_KEY: 'x'.repeat(32) }).JWT_MAX_TOKEN_LENGTH

/** What an application that is configured with these keys says to a token; only our own errors are a refusal. */
export function answerToken(sources: KeySources, token: unknown): Answer {
  let ring: KeyRing
  try {
    ring = createKeyRing(sources)
  } catch (error) {
    return error instanceof ConfigurationError ? 'refused' : toFailure(error)
  }
  try {
    verifyJws(ring, token, MAX_LENGTH)
    return 'accepted'
  } catch (error) {
    return error instanceof TokenDecodeError ? 'refused' : toFailure(error)
  }
}

/** The same, for a JSON form as the object and as its text. */
export function answerEitherForm(sources: KeySources, token: unknown): Answer {
  return typeof token === 'string'
    ? answerToken(sources, token)
    : toOneAnswer([answerToken(sources, token), answerToken(sources, JSON.stringify(token))])
}

/** Whether keys can be configured at all. */
export function answerKeys(create: () => unknown): Answer {
  try {
    create()
    return 'accepted'
  } catch (error) {
    return error instanceof ConfigurationError ? 'refused' : toFailure(error)
  }
}

/** The answer in one word for several ways to ask the same: they must agree. */
export function toOneAnswer(answers: readonly Answer[]): Answer {
  const distinct = [...new Set(answers)]
  return distinct.length === 1 ? (distinct[0] as Answer) : `failed: answers differ, ${distinct.join(' and ')}`
}

/** An error that is none of ours. */
export function toFailure(error: unknown): Answer {
  return `failed: ${error instanceof Error ? `${error.name}, ${error.message}` : String(error)}`
}
