import { hasNestedDuplicates, isJsonObject, isWithinJsonLimits } from 'tokenlib/kit'
import { CommandError, EXIT } from './exit.js'

/** The contents and spelling of a token, unverified. */
export interface UnverifiedToken {
  readonly header: Readonly<Record<string, unknown>>
  /** The CSRF value is hidden. */
  readonly claims: Readonly<Record<string, unknown>>
  readonly length: number
  readonly headerLength: number
  readonly isSigned: boolean
  /** The parts that are not base64url in its one canonical spelling. */
  readonly notCanonical: readonly string[]
  /** The parts in which an object has a member twice. */
  readonly withDuplicates: readonly string[]
}

const PARTS = ['header', 'claims', 'signature'] as const

/**
 * Reads a token more tolerantly than a verifier does, to show what is wrong with it; throws `CommandError` if the text is
 * not a token. No message has a part of the text.
 */
export function decodeUnverified(token: string): UnverifiedToken {
  const segments = token.split('.', 6)
  if (segments.length === 5) throw notAToken('it has five segments: it is encrypted (JWE), and not supported')
  const [first = '', second = '', signature = ''] = segments
  if (segments.length !== 3 || first === '' || second === '') {
    throw notAToken('it does not have the three segments of a signed JWT')
  }
  const [header, claims] = [decodePart('header', first), decodePart('claims', second)]
  return {
    header: header.members,
    claims: 'csrf' in claims.members ? { ...claims.members, csrf: '[hidden]' } : claims.members,
    length: token.length,
    headerLength: first.length,
    isSigned: signature !== '',
    notCanonical: PARTS.filter((_, at) => !isCanonical(segments[at] ?? '')),
    withDuplicates: [header, claims].flatMap(({ name, hasDuplicates }) => (hasDuplicates ? [name] : [])),
  }
}

// Node's decoder also takes padding, white space, `+/` and stray trailing bits.
function isCanonical(segment: string): boolean {
  return Buffer.from(segment, 'base64url').toString('base64url') === segment
}

interface DecodedPart {
  readonly name: string
  readonly members: Readonly<Record<string, unknown>>
  readonly hasDuplicates: boolean
}

function decodePart(name: string, encoded: string): DecodedPart {
  const text = Buffer.from(encoded, 'base64url').toString('utf8')
  if (!isWithinJsonLimits(text)) throw notAToken(`its ${name} is too large or nested too deep`)
  let members: unknown
  try {
    members = JSON.parse(text)
  } catch {
    throw notAToken(`its ${name} is not JSON`)
  }
  if (!isJsonObject(members)) throw notAToken(`its ${name} is not a JSON object`)
  return { name, members, hasDuplicates: hasNestedDuplicates(text) }
}

function notAToken(reason: string): CommandError {
  return new CommandError(`This is not a token: ${reason}`, EXIT.no)
}
