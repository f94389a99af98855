const LENGTH = 22
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

// For every code unit there is, so that none needs to be checked before. Reading ids is most of what a look-up costs.
const DIGITS = new Int8Array(0x1_00_00).fill(-1)
for (let digit = 0; digit < ALPHABET.length; digit++) DIGITS[ALPHABET.charCodeAt(digit)] = digit

const words = new Int32Array(4)
const bytes = Buffer.alloc(16)

/**
 * The four words, big-endian, of an id of 128 bits in canonical base64url, or `null` for any other text. They hold
 * until the next call: there is one array for all.
 */
export function readIdWords(id: string): Int32Array | null {
  if (id.length !== LENGTH) return null
  const first = readFive(id, 0)
  const second = readFive(id, 5)
  const third = readFive(id, 10)
  const fourth = readFive(id, 15)
  const digit = readDigit(id, 20)
  const last = readDigit(id, 21)
  // RFC 4648 §3.5: of the last digit four bits are too much, and must be zero.
  if ((first | second | third | fourth | digit | last) < 0 || (last & 15) !== 0) return null
  words[0] = (first << 2) | (second >> 28)
  words[1] = (second << 4) | (third >> 26)
  words[2] = (third << 6) | (fourth >> 24)
  words[3] = (fourth << 8) | (digit << 2) | (last >> 4)
  return words
}

/** The id of four words. */
export function toId(w0: number, w1: number, w2: number, w3: number): string {
  bytes.writeInt32BE(w0, 0)
  bytes.writeInt32BE(w1, 4)
  bytes.writeInt32BE(w2, 8)
  bytes.writeInt32BE(w3, 12)
  return bytes.toString('base64url')
}

// 30 bits, or a negative number.
function readFive(id: string, at: number): number {
  const a = readDigit(id, at)
  const b = readDigit(id, at + 1)
  const c = readDigit(id, at + 2)
  const d = readDigit(id, at + 3)
  const e = readDigit(id, at + 4)
  return (a | b | c | d | e) < 0 ? -1 : (a << 24) | (b << 18) | (c << 12) | (d << 6) | e
}

function readDigit(id: string, at: number): number {
  return DIGITS[id.charCodeAt(at)] as number
}
