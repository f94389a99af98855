import { toSubject } from '../tokens.js'

/** What a route without a guard answers: what the others say to the first token. */
export const BARE_ANSWER = { id: toSubject(0) }
