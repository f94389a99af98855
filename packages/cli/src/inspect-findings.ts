import {
  ALGORITHMS,
  isAccessTokenHeader,
  MAX_HEADER_LENGTH,
  MAX_KID_LENGTH,
  readMissingClaim,
  readMistypedClaim,
  TOKEN_TYPES,
  toShortType,
  UNSUPPORTED_MEMBERS,
} from 'tokenlib/kit'
import type { JwsHeader } from 'tokenlib/kit'
import type { UnverifiedToken } from './decode-unverified.js'
import type { InspectRules } from './configuration.js'
import { toIsoTime, toRelative, toWords } from './words.js'

/** What is wrong or unwise about a token. */
export interface Finding {
  /** A short name for programs. */
  readonly rule: string
  /** Without values of the token, which anyone may have written. */
  readonly message: string
  /** Whether a verifier rejects the token because of it. */
  readonly isObjection: boolean
}

const DAY = 86_400

/** Everything about a token that can be seen without its key, at `now` in epoch milliseconds. */
export function listFindings(token: UnverifiedToken, rules: InspectRules, now: number): readonly Finding[] {
  return [
    ...listSpelling(token, rules),
    ...listHeader(token, rules),
    ...listClaims(token, rules),
    ...listKind(token),
    ...listTimes(token, rules, now),
    ...listAbsent(token),
  ]
}

function objection(rule: string, message: string): Finding {
  return { rule, message, isObjection: true }
}

function remark(rule: string, message: string): Finding {
  return { rule, message, isObjection: false }
}

function listSpelling(token: UnverifiedToken, { maxLength }: InspectRules): Finding[] {
  const found: Finding[] = []
  const { length, headerLength } = token
  if (length > maxLength) found.push(objection('too-long', `it is longer than ${maxLength} characters`))
  if (headerLength > MAX_HEADER_LENGTH) {
    found.push(objection('header-too-long', `its header is longer than ${MAX_HEADER_LENGTH} characters`))
  }
  for (const part of token.notCanonical) {
    found.push(objection('not-canonical', `its ${part} is not canonical base64url: one token, two spellings`))
  }
  if (token.withDuplicates.includes('header')) {
    found.push(objection('duplicate-members', 'its header has a member twice (RFC 7515 section 4)'))
  }
  if (token.withDuplicates.includes('claims')) {
    found.push(
      remark('duplicate-members', 'its claims have a member twice: verifiers disagree which one counts'),
    )
  }
  return found
}

function listHeader({ header, isSigned }: UnverifiedToken, { keys }: InspectRules): Finding[] {
  const found: Finding[] = []
  const { alg, kid, typ } = header
  if (typeof alg !== 'string') found.push(objection('no-algorithm', 'its header has no "alg"'))
  else if (alg.toLowerCase() === 'none') {
    found.push(
      objection('algorithm-none', '"alg" is "none": the token is not signed, so anyone can forge it'),
    )
  } else if (!Object.hasOwn(ALGORITHMS, alg)) {
    found.push(objection('unknown-algorithm', '"alg" is unknown, or too weak to be supported'))
  } else if (keys !== null && !keys.some(({ algorithm }) => algorithm === alg)) {
    const names = [...new Set(keys.map(({ algorithm }) => algorithm))].join(', ')
    found.push(objection('wrong-algorithm', `"alg" is not the one of the configured keys: ${names}`))
  } else if (keys !== null && typeof kid === 'string' && !keys.some((key) => key.kid === kid)) {
    found.push(objection('unknown-key', '"kid" names a key that is not configured'))
  }
  if (!isSigned) found.push(objection('no-signature', 'it has no signature'))
  for (const name of UNSUPPORTED_MEMBERS) {
    if (Object.hasOwn(header, name)) found.push(objection('unsupported-header', unsupported(name)))
  }
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > MAX_KID_LENGTH)) {
    found.push(objection('malformed-kid', `"kid" is not a text of at most ${MAX_KID_LENGTH} characters`))
  }
  if (typ !== undefined && (typeof typ !== 'string' || !TOKEN_TYPES.includes(toShortType(typ)))) {
    found.push(objection('unexpected-type', '"typ" is not JWT or at+jwt: it is a JWT for something else'))
  }
  return found
}

function unsupported(name: string): string {
  if (['jku', 'jwk', 'x5u', 'x5c'].includes(name)) {
    return `"${name}" in the header: the token brings its own key, which proves nothing`
  }
  return name === 'crit'
    ? '"crit" in the header: it demands an extension that is not supported'
    : `"${name}" in the header is not supported`
}

function listClaims({ claims }: UnverifiedToken, rules: InspectRules): Finding[] {
  const found: Finding[] = []
  const { identityClaim, issuers, audience, requiredClaims } = rules
  const mistyped = readMistypedClaim(claims)
  if (mistyped !== null) found.push(objection('mistyped-claim', `the claim "${mistyped}" has the wrong type`))
  if (claims[identityClaim] === undefined) {
    found.push(
      objection('missing-subject', `the claim "${identityClaim}" is missing: nobody knows whose token it is`),
    )
  }
  if (claims['type'] === undefined) {
    found.push(
      objection('missing-type', 'the claim "type" is missing: it is neither an access nor a refresh token'),
    )
  }
  const { iss, aud } = claims
  if (issuers.length > 0 && !(typeof iss === 'string' && issuers.includes(iss))) {
    found.push(objection('wrong-issuer', '"iss" is not in JWT_DECODE_ISSUER'))
  }
  const named = [aud].flat()
  if (audience.length > 0 && !named.some((name) => audience.includes(name as string))) {
    found.push(objection('wrong-audience', '"aud" is not in JWT_DECODE_AUDIENCE'))
  }
  if (claims['cnf'] !== undefined) {
    found.push(
      objection('bound-to-key', 'the claim "cnf" binds it to a key, so it is not accepted as a bearer token'),
    )
  }
  const missing = readMissingClaim(claims, requiredClaims)
  if (missing !== null)
    found.push(objection('missing-claim', `the claim "${missing}" is required, and missing`))
  return found
}

function listKind({ header, claims }: UnverifiedToken): Finding[] {
  const isMixed = isAccessTokenHeader(header as JwsHeader) && claims['type'] === 'refresh'
  if (!isMixed) return []
  return [objection('unexpected-type', '"typ" is at+jwt, for access tokens, but "type" is refresh')]
}

function listTimes({ claims }: UnverifiedToken, rules: InspectRules, now: number): Finding[] {
  const found: Finding[] = []
  const { leeway, maxAge } = rules
  const iat = readTime(claims['iat'])
  const nbf = readTime(claims['nbf'])
  const exp = readTime(claims['exp'])
  const seconds = now / 1000
  const say = (at: number): string => `${toRelative(at * 1000, now)} (${toIsoTime(at * 1000)})`
  if (exp !== null && seconds >= exp + leeway) found.push(objection('expired', `it expired ${say(exp)}`))
  if (nbf !== null && seconds < nbf - leeway) {
    found.push(objection('not-yet-valid', `it becomes valid ${say(nbf)}`))
  }
  if (iat !== null && seconds < iat - leeway) {
    found.push(objection('issued-in-future', `its "iat" is ${say(iat)}: a clock is wrong`))
  }
  if (maxAge !== null && iat === null) {
    found.push(objection('missing-claim', 'JWT_MAX_TOKEN_AGE needs "iat", which is missing'))
  }
  if (maxAge !== null && iat !== null && seconds >= iat + maxAge + leeway) {
    found.push(objection('too-old', `it is older than JWT_MAX_TOKEN_AGE, ${toWords(maxAge)}`))
  }
  const lifetime = exp === null ? 0 : exp - (iat ?? seconds)
  const limit = claims['type'] === 'access' ? DAY : 400 * DAY
  if (lifetime > limit) {
    found.push(remark('long-lived', `it lives for ${toWords(lifetime)}, and so does a stolen one`))
  }
  return found
}

function readTime(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

const ABSENT = [
  ['exp', 'without "exp" it never expires'],
  ['iat', 'without "iat" nobody knows how old it is'],
  ['jti', 'without "jti" it cannot be revoked by itself, only with its session, user or key'],
] as const

function listAbsent({ claims }: UnverifiedToken): Finding[] {
  return ABSENT.filter(([name]) => claims[name] === undefined).map(([name, message]) =>
    remark(`missing-${name}`, message),
  )
}
