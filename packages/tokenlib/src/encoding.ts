import { isUtf8 } from 'node:buffer'
import { timingSafeEqual } from 'node:crypto'

// Reused for every text that fits: allocating a buffer takes longer than the conversion.
const scratch = Buffer.alloc(8192)

/** The base64url spelling (RFC 7515 §2, no padding) of bytes or of a text in UTF-8. */
export function toBase64url(value: Uint8Array | string): string {
  if (typeof value !== 'string') {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64url')
  }
  // A UTF-16 code unit takes up to three bytes in UTF-8.
  if (3 * value.length > scratch.length) return Buffer.from(value).toString('base64url')
  return scratch.toString('base64url', 0, scratch.write(value))
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

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

// One entry per code unit, so none needs a range check first.
const digitValues = new Int8Array(0x1_00_00).fill(-1)
for (let value = 0; value < DIGITS.length; value++) digitValues[DIGITS.charCodeAt(value)] = value

const methods: { readonly charCodeAt: (this: string, at: number) => number } = String.prototype
const { charCodeAt } = methods

/**
 * The code unit at an index. Not the method itself: in a process with a class that extends `String`, as `ioredis` has one,
 * V8 looks it up for every character.
 */
export function readCode(text: string, at: number): number {
  return charCodeAt.call(text, at)
}

/** The six bits of a base64url digit, or -1 for any other character. Faster than a decoder for a few of them. */
export function readBase64urlDigit(text: string, at: number): number {
  return digitValues[readCode(text, at)] as number
}

/** A copy of an ASCII text that does not keep the longer text it is a part of in memory. */
export function copyText(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}

/** The text behind a base64url text in its one canonical spelling, or `null` for any other, and for bad UTF-8. */
export function readBase64urlText(encoded: string): string | null {
  const bytes = encoded.length > scratch.length ? Buffer.alloc(encoded.length) : scratch
  const size = encoded.length > MAX_SHORT ? decode(encoded, bytes) : decodeShort(encoded, bytes)
  if (size === null) return null
  const text = bytes.toString('utf8', 0, size)
  // What is not UTF-8 reads as this character, which a text may also hold by itself.
  return text.includes('\uFFFD') && !isUtf8(bytes.subarray(0, size)) ? null : text
}

// How many bytes were written, or `null` for a text that is not canonical.
function decode(encoded: string, bytes: Buffer): number | null {
  const size = bytes.write(encoded, 'base64url')
  return bytes.toString('base64url', 0, size) === encoded ? size : null
}

// The claims of most tokens are shorter. Two calls of native code take longer than to decode them here.
const MAX_SHORT = 256

function decodeShort(encoded: string, bytes: Buffer): number | null {
  const { length } = encoded
  let digits = 0
  let size = 0
  for (let at = 0; at < length; at += 4) {
    const a = readBase64urlDigit(encoded, at)
    const b = at + 1 < length ? readBase64urlDigit(encoded, at + 1) : -1
    const c = at + 2 < length ? readBase64urlDigit(encoded, at + 2) : 0
    const d = at + 3 < length ? readBase64urlDigit(encoded, at + 3) : 0
    digits |= a | b | c | d
    bytes[size++] = (a << 2) | (b >> 4)
    bytes[size++] = (b << 4) | (c >> 2)
    bytes[size++] = (c << 6) | d
  }
  const end = Math.floor((length * 3) / 4)
  // RFC 4648 §3.5: the unused bits of the last digit must be zero. Here they are bytes after the end.
  let unused = 0
  while (size > end) unused |= bytes[--size] as number
  return digits < 0 || unused !== 0 ? null : end
}

/** Compares two texts in time that depends only on their lengths, which are not secret. */
export function isEqualConstantTime(left: string, right: string): boolean {
  if (left.length !== right.length) return false
  const [one, other] = comparisonBuffers(left.length)
  // UTF-16 keeps every code unit apart; UTF-8 would fold all lone surrogates into one replacement character.
  one.write(left, 'utf16le')
  other.write(right, 'utf16le')
  return timingSafeEqual(one, other)
}

// Reused: MACs and CSRF values have the same few lengths.
const buffersByLength = new Map<number, readonly [Buffer, Buffer]>()

function comparisonBuffers(length: number): readonly [Buffer, Buffer] {
  const known = buffersByLength.get(length)
  if (known !== undefined) return known
  const buffers = [Buffer.alloc(2 * length), Buffer.alloc(2 * length)] as const
  if (length <= 128) buffersByLength.set(length, buffers)
  return buffers
}

// Commas: between members of objects and elements of lists, together.
const MAX_JSON_COMMAS = 1024

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** How deep a JWT header or claims set may be nested. */
export const MAX_JSON_DEPTH = 32

/** A value that JSON carries unchanged. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [member: string]: JsonValue }

/**
 * The JSON object in a text, frozen to the bottom, or `null`: bad JSON, too deep or too large, not an object.
 *
 * `maxCommas` is for documents that are larger than a token, and whose size is limited otherwise.
 */
export function readJsonObject(text: string, maxCommas?: number): Record<string, unknown> | null {
  const value = readJsonMembers(text, maxCommas)
  return value === null ? null : Object.freeze(value)
}

/** The same, but only its members are frozen: for a caller that copies them into an object of its own. */
export function readJsonMembers(text: string, maxCommas?: number): Record<string, unknown> | null {
  if (!isWithinJsonLimits(text, maxCommas)) return null
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (!isJsonObject(value)) return null
  if (!isFlatJson(text)) for (const member of Object.values(value)) deepFreeze(member)
  return value
}

function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const member of Object.values(value)) deepFreeze(member)
  Object.freeze(value)
}

/** Whether a JSON text is shallow and small enough to be parsed; one pass, before JSON.parse can recurse or allocate. */
export function isWithinJsonLimits(text: string, maxCommas: number = MAX_JSON_COMMAS): boolean {
  return (text.length <= maxCommas && hasFewOpenings(text)) || countMembers(text, maxCommas) !== null
}

// Whether a text has at most as many opening brackets as levels are allowed, counting those in strings: true of most claims.
function hasFewOpenings(text: string): boolean {
  let left = MAX_JSON_DEPTH
  for (let at = text.indexOf('{'); at >= 0; at = text.indexOf('{', at + 1)) if (--left < 0) return false
  for (let at = text.indexOf('['); at >= 0; at = text.indexOf('[', at + 1)) if (--left < 0) return false
  return true
}

// Whether a JSON object certainly has no nested ones: true of most claims.
function isFlatJson(text: string): boolean {
  return !text.includes('{', 1) && !text.includes('[')
}

/** Whether a parsed JSON value is an object: not `null`, not an array. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether the object in a JSON text has a member twice (RFC 7515 §4), which `JSON.parse` does not report. */
export function hasDuplicateMembers(text: string): boolean {
  return countMembers(text, MAX_JSON_COMMAS) !== Object.keys(JSON.parse(text) as object).length
}

/** Whether an object at any depth of a valid JSON text has a member twice. */
export function hasNestedDuplicates(text: string): boolean {
  return countMembers(text, MAX_JSON_COMMAS, MAX_JSON_DEPTH) !== countParsed(JSON.parse(text))
}

function countParsed(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const members: readonly unknown[] = Object.values(value)
  const own = Array.isArray(value) ? 0 : members.length
  return members.reduce<number>((sum, member) => sum + countParsed(member), own)
}

/** Makes `console.log` and `util.inspect` show instances of a class as their `toJSON()` does, secrets hidden. */
export function inspectAsJson(type: {
  readonly name: string
  readonly prototype: { toJSON(): object }
}): void {
  Object.defineProperty(type.prototype, Symbol.for('nodejs.util.inspect.custom'), {
    value(
      this: { toJSON(): object },
      _depth: number,
      _options: object,
      inspect: (value: unknown) => string,
    ): string {
      return `${type.name} ${inspect(this.toJSON())}`
    },
  })
}

// How many members the objects of a JSON text have down to a depth, by default the outermost one alone, or `null` as soon
// as the text is too deep or too large.
function countMembers(text: string, maxCommas: number, countedDepth = 1): number | null {
  let depth = 0
  let commas = 0
  let members = 0
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at)
        break
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (++depth > MAX_JSON_DEPTH) return null
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--
        break
      case COMMA:
        if (++commas > maxCommas) return null
        break
      case COLON:
        if (depth <= countedDepth) members++
    }
  }
  return members
}

// The index of the quote that closes the string opened at `start`, or the end of the text.
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === BACKSLASH) at++
    else if (char === QUOTE) return at
  }
  return text.length
}
