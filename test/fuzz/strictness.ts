import { CURVES, fromBytes } from './arithmetic.js'
import type { OracleVerdict } from './contestants.js'
import { type JsonShape, readJsonShape } from './json-shape.js'
import type { Binding, Setup } from './setups.js'

/** A token that the oracle accepts, opened by means of our own. */
export interface OpenedToken {
  readonly setup: Setup
  /** Epoch milliseconds. */
  readonly at: number
  readonly token: string
  readonly segments: readonly string[]
  readonly signature: Buffer
  /** Header and claims, as bytes, as values and by their shape. */
  readonly documents: readonly [Document, Document]
  /** The key that made the signature. */
  readonly binding: Binding
}

interface Document {
  readonly bytes: Buffer
  readonly value: Readonly<Record<string, unknown>>
  readonly shape: JsonShape
}

type Rule = (opened: OpenedToken) => boolean

/** Opens a token that the oracle accepts: three segments of base64url and two JSON objects, whatever their spelling. */
export function openToken(setup: Setup, token: string, at: number, { binding }: OracleVerdict): OpenedToken {
  const segments = token.split('.')
  const [header, claims, signature] = segments.map((segment) => Buffer.from(segment, 'base64url'))
  if (!header || !claims || !signature || !binding) throw new Error('The oracle accepts no such token')
  return {
    setup,
    at,
    token,
    segments,
    signature,
    documents: [openDocument(header), openDocument(claims)],
    binding,
  }
}

/**
 * Everything that we refuse and the oracle accepts, by name, each with a proof of its own.
 *
 * A token that the oracle accepts is accepted by us exactly if none of these is true of it.
 */
export const STRICTNESS: Readonly<Record<string, Rule>> = {
  // docs/decisions/0002: one spelling per token.
  padding: ({ segments }) => segments.some((segment) => segment.includes('=')),
  'white space': ({ segments }) => segments.some((segment) => /[ \t\n\f\r]/.test(segment)),
  'unused bits': ({ segments }) => segments.some(hasUnusedBits),
  'high s': ({ binding: { key }, signature }) => {
    if (key.kind === 'secret' || key.kind === 'rsa' || key.kind === 'ed25519') return false
    const { order, size } = CURVES[key.kind]
    return 2n * fromBytes(signature.subarray(size)) > order
  },

  // Limits.
  'longer than the configured maximum': ({ setup, token }) => token.length > setup.maxLength,
  'a header of more than 2048 characters': ({ segments }) => (segments[0] ?? '').length > 2048,
  'deeper than 32 levels': ({ documents }) => documents.some(({ shape }) => shape.depth > 32),
  'more than 1024 separators': ({ documents }) => documents.some(({ shape }) => shape.separators > 1024),

  // Text. RFC 8259 §8.1 forbids to write a byte order mark, and lets readers ignore it.
  'a byte order mark': ({ documents }) =>
    documents.some(({ bytes }) => bytes.subarray(0, 3).toString('hex') === 'efbbbf'),

  // The header; docs/keys.md.
  'a refused header member': ({ documents: [header] }) =>
    header.shape.names.some((name) => REFUSED.has(name)),
  'a header member twice': ({ documents: [header] }) =>
    new Set(header.shape.names).size < header.shape.names.length,
  'a kid that is no text of at most 128 characters': ({ documents: [{ value }] }) =>
    Object.hasOwn(value, 'kid') && !(typeof value['kid'] === 'string' && value['kid'].length <= 128),
  // RFC 8725 §3.11; RFC 7515 §4.1.9 for the ways to write a media type.
  'a typ of another kind of token': ({ documents: [{ value }] }) =>
    Object.hasOwn(value, 'typ') && !/^(?:application\/)?(?:at\+)?jwt$/i.test(String(readText(value, 'typ'))),
  // RFC 9068 §4: that type is for access tokens.
  'a refresh token with the typ of an access token': ({ documents: [{ value }, claims] }) =>
    readText(claims.value, 'type') === 'refresh' &&
    /^(?:application\/)?at\+jwt$/i.test(String(readText(value, 'typ'))),
  // The oracle was not asked about names.
  'a kid that names another key, or none': ({ binding, documents: [{ value }] }) =>
    typeof value['kid'] === 'string' && value['kid'].length <= 128 && value['kid'] !== binding.kid,

  // The claims; docs/errors.md, "a claim of the wrong type", and docs/keys.md, "Tokens of other issuers".
  'no identity': ({ documents: [, { value }], setup }) => !isFilledText(readOwn(value, setup.identityClaim)),
  'no type of token': ({ documents: [, { value }] }) =>
    !['access', 'refresh'].includes(String(readText(value, 'type'))),
  'a sub that is no text, next to another identity': ({ documents: [, { value }], setup }) =>
    setup.identityClaim !== 'sub' && isWrong(value, 'sub', isFilledText),
  'a jti that is no text': ({ documents: [, { value }] }) => isWrong(value, 'jti', isFilledText),
  'an iss that is no text': ({ documents: [, { value }] }) => isWrong(value, 'iss', isText),
  'an aud that is no text and no list of texts': ({ documents: [, { value }] }) =>
    isWrong(value, 'aud', isTextOrTexts),
  'a fresh that is no boolean and no time': ({ documents: [, { value }] }) =>
    isWrong(value, 'fresh', (fresh) => typeof fresh === 'boolean' || Number.isFinite(fresh)),
  'a csrf that is no text': ({ documents: [, { value }] }) => isWrong(value, 'csrf', isFilledText),
  'scopes that are no text and no list of texts': ({ documents: [, { value }] }) =>
    isWrong(value, 'scopes', isTextOrTexts),
  'a sid that is no text': ({ documents: [, { value }] }) => isWrong(value, 'sid', isFilledText),
  'a gen that does not count': ({ documents: [, { value }] }) =>
    isWrong(value, 'gen', (gen) => Number.isSafeInteger(gen) && Number(gen) >= 0),

  // Time. RFC 7519 §4.1.6 leaves it open what a token from the future is; the oracle looks only if it is told to.
  'a time without end': ({ documents: [, { value }] }) =>
    TIMES.some((name) => [Infinity, -Infinity].includes(readOwn(value, name) as number)),
  'made in the future': ({ at, documents: [, { value }], setup }) => {
    const iat = readOwn(value, 'iat')
    return typeof iat === 'number' && Number.isFinite(iat) && (iat - setup.leeway) * 1000 > at
  },
  // The oracle's clock shows whole seconds, rounded down; ours does not.
  'expired for less than a second': ({ at, documents: [, { value }], setup }) => {
    const exp = readOwn(value, 'exp')
    return typeof exp === 'number' && (exp + setup.leeway) * 1000 <= at
  },
}

/** The names of the rules that a token breaks. */
export function findStrictness(opened: OpenedToken): string[] {
  return Object.entries(STRICTNESS)
    .filter(([, isBroken]) => isBroken(opened))
    .map(([name]) => name)
}

const REFUSED: ReadonlySet<string> = new Set(['crit', 'b64', 'zip', 'enc', 'cty', 'jku', 'jwk', 'x5u', 'x5c'])
const TIMES = ['exp', 'nbf', 'iat'] as const

function openDocument(bytes: Buffer): Document {
  const text = bytes.toString().replace(/^\ufeff/, '')
  return { bytes, value: JSON.parse(text) as Document['value'], shape: readJsonShape(text) }
}

// RFC 4648 §3.5. Whatever the decoder ignores is taken away first.
function hasUnusedBits(segment: string): boolean {
  const characters = segment.replaceAll(/[^\w-]/g, '')
  const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.indexOf(
    characters.at(-1) ?? '',
  )
  const mask = [0, 0, 0b1111, 0b11][characters.length % 4] ?? 0
  return (last & mask) !== 0
}

function readOwn(value: Document['value'], name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined
}

function readText(value: Document['value'], name: string): string | null {
  const text = readOwn(value, name)
  return typeof text === 'string' ? text : null
}

function isWrong(value: Document['value'], name: string, isRight: (claim: unknown) => boolean): boolean {
  return Object.hasOwn(value, name) && !isRight(value[name])
}

function isText(claim: unknown): boolean {
  return typeof claim === 'string'
}

function isFilledText(claim: unknown): boolean {
  return typeof claim === 'string' && claim.length > 0
}

function isTextOrTexts(claim: unknown): boolean {
  return isText(claim) || (Array.isArray(claim) && claim.every(isText))
}
