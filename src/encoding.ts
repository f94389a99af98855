import { timingSafeEqual } from 'node:crypto'

// `ignoreBOM: true` keeps a byte order mark in the text, where JSON.parse then refuses it.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** How deep a JWT header or claims set may be nested. */
export const MAX_JSON_DEPTH = 32

// Commas: between members of objects and elements of lists, together.
const MAX_JSON_COMMAS = 1024

/** The base64url spelling (RFC 7515 §2, no padding) of bytes or of a text in UTF-8. */
export function toBase64url(value: Uint8Array | string): string {
  return typeof value === 'string'
    ? Buffer.from(value, 'utf8').toString('base64url')
    : Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64url')
}

/**
 * The bytes of a base64url text in its one canonical spelling, or `null` for any other spelling.
 *
 * Node's decoder takes padding, white space, `+/` and stray trailing bits. Each would be a second spelling
 * of the same token, and a way around a blocklist of token strings.
 */
export function readBase64url(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : null
}

/** The JSON object in UTF-8 bytes, frozen to the bottom, or `null`: bad UTF-8, bad JSON, too deep, not an object. */
export function readJsonObject(bytes: Uint8Array): Record<string, unknown> | null {
  let value: unknown
  try {
    const text = utf8.decode(bytes)
    if (!isWithinJsonLimits(text)) return null
    value = JSON.parse(text)
  } catch {
    return null
  }
  return isJsonObject(value) ? deepFreeze(value) : null
}

function deepFreeze<Value extends object>(value: Value): Value {
  for (const member of Object.values(value) as unknown[]) {
    if (typeof member === 'object' && member !== null) deepFreeze(member)
  }
  return Object.freeze(value)
}

/** Whether a JSON text is shallow and small enough to be parsed; one pass, before JSON.parse can recurse or allocate. */
export function isWithinJsonLimits(text: string): boolean {
  let depth = 0
  let commas = 0
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === QUOTE) at = endOfString(text, at)
    else if (char === COMMA) {
      if (++commas > MAX_JSON_COMMAS) return false
    } else if (char === OPEN_BRACE || char === OPEN_BRACKET) {
      if (++depth > MAX_JSON_DEPTH) return false
    } else if (char === CLOSE_BRACE || char === CLOSE_BRACKET) depth--
  }
  return true
}

/** Whether a parsed JSON value is an object: not `null`, not an array. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether the top-level object of a JSON text names a member twice (RFC 7515 §4), escapes resolved. */
export function hasDuplicateMembers(bytes: Uint8Array): boolean {
  const seen = new Set<string>()
  const text = utf8.decode(bytes)
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === QUOTE) {
      const end = endOfString(text, at)
      if (depth === 1 && isMemberName(text, end)) {
        const name = JSON.parse(text.slice(at, end + 1)) as string
        if (seen.has(name)) return true
        seen.add(name)
      }
      at = end
    } else if (char === OPEN_BRACE || char === OPEN_BRACKET) depth++
    else if (char === CLOSE_BRACE || char === CLOSE_BRACKET) depth--
  }
  return false
}

/** Compares two texts in time that depends only on their lengths, which are no secret; any characters are fine. */
export function isEqualConstantTime(left: string, right: string): boolean {
  // UTF-16 keeps every code unit apart; UTF-8 would fold all lone surrogates into one replacement character.
  return (
    left.length === right.length &&
    timingSafeEqual(Buffer.from(left, 'utf16le'), Buffer.from(right, 'utf16le'))
  )
}

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

// The index of the quote that closes the string opened at `start`, or the end of the text.
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === BACKSLASH) at++
    else if (char === QUOTE) return at
  }
  return text.length
}

function isMemberName(text: string, closingQuote: number): boolean {
  let at = closingQuote + 1
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++
  return text.charCodeAt(at) === COLON
}
