import crypto from 'node:crypto'
import { readBase64urlDigit, readCode } from '../encoding.js'

/**
 * Whether a text is the HMAC-SHA-256 of an input, in canonical base64url.
 *
 * After `false`, ask `node:crypto`: inputs that are long or not ASCII are not checked here.
 */
export type FastMacCheck = (input: string, encoded: string) => boolean

/**
 * Checks the MACs of one secret in JavaScript. `null` for a secret that it does not take, and in FIPS mode.
 *
 * With a text as short as a token, `createHmac` spends most of its time on objects and on calls of native code, not on
 * hashing. Here compiled code allocates nothing, and neither branches nor addresses depend on the secret.
 */
export function createFastMacCheck(secret: Uint8Array): FastMacCheck | null {
  if (secret.length > BLOCK_BYTES || isFips()) return null
  const inner = absorbSecret(secret, 0x36)
  const outer = absorbSecret(secret, 0x5c)
  return (input, encoded) => {
    if (input.length > MAX_INPUT_LENGTH || !readMac(encoded)) return false
    state.set(inner)
    if (!absorbText(input)) return false
    absorbDigest(outer)
    // The bits after the last byte, which must be zero.
    let difference = expected[STATE_WORDS] as number
    for (let at = 0; at < STATE_WORDS; at++) {
      difference |= (state[at] as number) ^ (expected[at] as number)
    }
    return difference === 0
  }
}

// 1 in Node, and always `true` in workerd. Some runtimes lack the function, or throw.
function isFips(): boolean {
  try {
    return Boolean(crypto.getFips?.())
  } catch {
    return true
  }
}

// Native code is faster beyond that.
const MAX_INPUT_LENGTH = 1024

const BLOCK_BYTES = 64
const BLOCK_WORDS = 16
const STATE_WORDS = 8
const ROUNDS = 64
// Of 32 bytes in base64url.
const MAC_LENGTH = 43

// FIPS 180-4 §5.3.3
const INITIAL_STATE = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
]

// FIPS 180-4 §4.2.2
const CONSTANTS = new Int32Array([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
  0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
  0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
  0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
  0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
  0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
  0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
  0xc67178f2,
])

// Shared by all secrets, because a check runs to its end without a pause.
const state = new Int32Array(STATE_WORDS)
const expected = new Int32Array(STATE_WORDS + 1)
// Begins with the block to absorb.
const schedule = new Int32Array(ROUNDS)

// The state after the first block of a MAC (RFC 2104 §2).
function absorbSecret(secret: Uint8Array, mask: number): Int32Array {
  state.set(INITIAL_STATE)
  for (let word = 0; word < BLOCK_WORDS; word++) {
    const [a = 0, b = 0, c = 0, d = 0] = secret.subarray(4 * word)
    schedule[word] = ((a ^ mask) << 24) | ((b ^ mask) << 16) | ((c ^ mask) << 8) | (d ^ mask)
  }
  absorbBlock()
  return state.slice()
}

// Absorbs a text and its padding (FIPS 180-4 §5.1.1). Returns whether it is ASCII.
function absorbText(text: string): boolean {
  const { length } = text
  let codes = 0
  let at = 0
  for (; at + BLOCK_BYTES <= length; at += BLOCK_BYTES) {
    for (let word = 0; word < BLOCK_WORDS; word++) {
      const a = readCode(text, at + 4 * word)
      const b = readCode(text, at + 4 * word + 1)
      const c = readCode(text, at + 4 * word + 2)
      const d = readCode(text, at + 4 * word + 3)
      codes |= a | b | c | d
      schedule[word] = (a << 24) | (b << 16) | (c << 8) | d
    }
    absorbBlock()
  }
  const rest = length - at
  clearBlock(0)
  for (let byte = 0; byte < rest; byte++) {
    const code = readCode(text, at + byte)
    codes |= code
    addByte(byte, code)
  }
  addByte(rest, 0x80)
  // The length takes the last eight bytes.
  if (rest + 8 >= BLOCK_BYTES) {
    absorbBlock()
    clearBlock(0)
  }
  schedule[BLOCK_WORDS - 1] = 8 * (BLOCK_BYTES + length)
  absorbBlock()
  return codes < 0x80
}

// Absorbs the digest in `state`, in the outer state.
function absorbDigest(outer: Int32Array): void {
  schedule.set(state)
  clearBlock(STATE_WORDS)
  addByte(4 * STATE_WORDS, 0x80)
  schedule[BLOCK_WORDS - 1] = 8 * (BLOCK_BYTES + 4 * STATE_WORDS)
  state.set(outer)
  absorbBlock()
}

function clearBlock(from: number): void {
  for (let word = from; word < BLOCK_WORDS; word++) schedule[word] = 0
}

function addByte(at: number, byte: number): void {
  schedule[at >> 2] = (schedule[at >> 2] as number) | (byte << (24 - 8 * (at & 3)))
}

// FIPS 180-4 §6.2.2. `| 0` keeps V8 from computing sums in floating point.
function absorbBlock(): void {
  for (let at = BLOCK_WORDS; at < ROUNDS; at++) {
    const x = schedule[at - 15] as number
    const y = schedule[at - 2] as number
    const sigma0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)
    const sigma1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10)
    schedule[at] = (sigma1 + (schedule[at - 7] as number) + sigma0 + (schedule[at - 16] as number)) | 0
  }
  let a = state[0] as number
  let b = state[1] as number
  let c = state[2] as number
  let d = state[3] as number
  let e = state[4] as number
  let f = state[5] as number
  let g = state[6] as number
  let h = state[7] as number
  for (let at = 0; at < ROUNDS; at++) {
    const sum1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))
    const choice = (e & f) ^ (~e & g)
    const first = (h + sum1 + choice + (CONSTANTS[at] as number) + (schedule[at] as number)) | 0
    const sum0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const second = (sum0 + majority) | 0
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  state[0] = ((state[0] as number) + a) | 0
  state[1] = ((state[1] as number) + b) | 0
  state[2] = ((state[2] as number) + c) | 0
  state[3] = ((state[3] as number) + d) | 0
  state[4] = ((state[4] as number) + e) | 0
  state[5] = ((state[5] as number) + f) | 0
  state[6] = ((state[6] as number) + g) | 0
  state[7] = ((state[7] as number) + h) | 0
}

// Reads a MAC into `expected`. Returns `false` for a text that is not 32 bytes of base64url.
function readMac(encoded: string): boolean {
  if (encoded.length !== MAC_LENGTH) return false
  expected.fill(0)
  let digits = 0
  for (let at = 0; at < MAC_LENGTH; at++) {
    const digit = readBase64urlDigit(encoded, at)
    digits |= digit
    const word = (6 * at) >> 5
    const shift = 26 - ((6 * at) & 31)
    if (shift >= 0) expected[word] = (expected[word] as number) | (digit << shift)
    else {
      expected[word] = (expected[word] as number) | (digit >> -shift)
      expected[word + 1] = digit << (32 + shift)
    }
  }
  return digits >= 0
}
