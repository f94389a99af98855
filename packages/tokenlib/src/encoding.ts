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

/** A copy of an ASCII text that does not keep the longer text it is a part of in memory. */
export function copyText(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}

/** The text behind a base64url text in its one canonical spelling, or `null` for any other, and for bad UTF-8. */
export function readBase64urlText(encoded: string): string | null {
  const bytes = encoded.length > scratch.length ? Buffer.alloc(encoded.length) : scratch
  const size = bytes.write(encoded, 'base64url')
  const text = bytes.toString('utf8', 0, size)
  if (bytes.toString('base64url', 0, size) !== encoded) return null
  // What is not UTF-8 reads as this character, which a text may also hold by itself.
  return text.includes('\uFFFD') && !isUtf8(bytes.subarray(0, size)) ? null : text
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
