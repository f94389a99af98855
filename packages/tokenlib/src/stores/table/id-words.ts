const LENGTH = 22
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

// For every code unit there is, so that none needs to be checked before. Reading ids is most of what a look-up costs.
const DIGITS = new Int8Array(0x1_00_00).fill(-1)
for (let digit = 0; digit < ALPHABET.length; digit++) DIGITS[ALPHABET.charCodeAt(digit)] = digit

/** The words that were read last, big-endian: one array for all, good until the next call. */
export const idWords: Int32Array = new Int32Array(4)

const bytes = Buffer.alloc(16)

/** Reads words 0 and 1 of an id of 128 bits in base64url; `false` for a text that is none. */
export function readIdHead(id: string): boolean {
  if (id.length !== LENGTH) return false
  const first = readFive(id, 0)
  const second = readFive(id, 5)
  const shared = readDigit(id, 10)
  idWords[0] = (first << 2) | (second >> 28)
  idWords[1] = (second << 4) | (shared >> 2)
  return (first | second | shared) >= 0
}

/** Reads words 2 and 3, which are enough to tell that an id is not there; `false` for a text that is none. */
export function readIdTail(id: string): boolean {
  if (id.length !== LENGTH) return false
  const shared = readDigit(id, 10)
  const third = readFive(id, 11)
  const fourth = readFive(id, 16)
  const last = readDigit(id, 21)
  idWords[2] = (shared << 30) | third
  idWords[3] = (fourth << 2) | (last >> 4)
  // RFC 4648 §3.5: of the last digit four bits are too much, and must be zero.
  return (shared | third | fourth | last) >= 0 && (last & 15) === 0
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
