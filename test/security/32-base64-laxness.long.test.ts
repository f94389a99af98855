import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import { attack, describeAttacks, type Lab } from './harness/attack.js'
import { forgeAs, openAs } from './harness/keys-for.js'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
// What a lenient decoder skips, or reads as something else.
const LENIENT = [0, 9, 10, 11, 12, 13, 32, 0x2b, 0x2d, 0x2e, 0x2f, 0x3d, 0x5f, 0x7f, 0x80, 0x85, 0xa0, 0xff]
const ALL_BYTES = Array.from({ length: 256 }, (_, byte) => byte)
const COMMON = ['HS256', 'HS512', 'RS256', 'ES256'] as const

/** Tries every other spelling that `respell` makes of an honest token. */
async function tryAll(
  lab: Lab,
  algorithms: readonly Algorithm[],
  respell: (token: string) => Iterable<string>,
): Promise<void> {
  for (const algorithm of algorithms) {
    const verifier = await openAs(lab, algorithm)
    const honest = forgeAs(algorithm)
    for (const token of respell(honest)) if (token !== honest) await verifier.refuses(token)
  }
}

function* insert(token: string, places: Iterable<number>, bytes: readonly number[]): Iterable<string> {
  for (const at of places) {
    for (const byte of bytes) yield token.slice(0, at) + String.fromCharCode(byte) + token.slice(at)
  }
}

/** The places near the ends of the segments, and every 29th place in between: every position in a group of four. */
function* somePlaces(token: string): Iterable<number> {
  const ends = [0, token.indexOf('.'), token.lastIndexOf('.'), token.length]
  for (let at = 0; at <= token.length; at++) {
    if (at % 29 === 0 || ends.some((end) => Math.abs(end - at) < 5)) yield at
  }
}

/** The last characters of a segment often have bits that mean nothing. */
function* replaceLast(token: string): Iterable<string> {
  const segments = token.split('.')
  for (const at of segments.keys()) {
    for (const character of ALPHABET) {
      yield segments.with(at, (segments[at] ?? '').slice(0, -1) + character).join('.')
    }
  }
}

function* padSegments(token: string): Iterable<string> {
  const segments = token.split('.')
  for (const at of segments.keys()) {
    for (const end of ['=', '==', '===', '====', '%3D', ' ', '\t', '\n', '\r\n', '\0', 'A===', '\u200B']) {
      yield segments.with(at, (segments[at] ?? '') + end).join('.')
      yield segments.with(at, end + (segments[at] ?? '')).join('.')
    }
  }
}

/** Standard base64, percent encoding, and letters that only look the same. */
function* replaceAlphabet(token: string): Iterable<string> {
  yield token.replaceAll('-', '+')
  yield token.replaceAll('_', '/')
  yield token.replaceAll('-', '+').replaceAll('_', '/')
  yield token.replaceAll('-', '%2D').replaceAll('_', '%5F')
  yield token.replaceAll('.', '%2E')
  yield token.replaceAll('.', '\u3002')
  yield token.replace('e', 'е')
  yield token.replaceAll(/[A-Z]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0))
  // A code unit whose low byte is the letter.
  for (const at of [0, 1, token.indexOf('.') + 1, token.lastIndexOf('.') + 1, token.length - 1]) {
    yield token.slice(0, at) + String.fromCharCode(token.charCodeAt(at) + 0x100) + token.slice(at + 1)
  }
  yield token.toLowerCase()
  yield token.toUpperCase()
}

describeAttacks('a second spelling of the same token (CVE-2026-102269, RFC 4648 §3.5, RFC 7515 §2)', () => {
  attack('what lenient decoders skip at every place of a token', (lab) =>
    tryAll(lab, ['HS256'], (token) =>
      insert(
        token,
        Array.from(token, (_, at) => at),
        LENIENT,
      ),
    ),
  )

  attack('every byte at many places of a token', (lab) =>
    tryAll(lab, COMMON, (token) => insert(token, somePlaces(token), ALL_BYTES)),
  )

  attack('every byte at many places of an EdDSA token', (lab) =>
    tryAll(lab, ['EdDSA'], (token) => insert(token, somePlaces(token), ALL_BYTES)),
  )

  attack('every other last character of a segment of an HMAC token', (lab) =>
    tryAll(lab, ['HS256', 'HS512'], replaceLast),
  )

  attack('every other last character of a segment of an RSA or ECDSA token', (lab) =>
    tryAll(lab, ['RS256', 'ES256'], replaceLast),
  )

  attack('every other last character of a segment of an EdDSA token', (lab) =>
    tryAll(lab, ['EdDSA'], replaceLast),
  )

  attack('padding, white space and line ends around a segment', (lab) => tryAll(lab, COMMON, padSegments))

  attack('other alphabets', (lab) => tryAll(lab, COMMON, replaceAlphabet))
})
