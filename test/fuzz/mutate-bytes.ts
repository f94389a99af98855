import type { Random } from './random.js'

type Edit = (bytes: Buffer, random: Random) => Buffer

/** A change of the bytes of a JSON document. */
export function editBytes(random: Random): (text: string) => Buffer {
  const edit = random.pick(EDITS)
  return (text) => edit(Buffer.from(text), random)
}

const insert = (bytes: Buffer, at: number, ...added: readonly number[]): Buffer =>
  Buffer.concat([bytes.subarray(0, at), Buffer.from(added), bytes.subarray(at)])

// Where the first text value begins: what is put there stays inside of a string.
const inText = (bytes: Buffer): number => bytes.indexOf(':"') + 2

const EDITS: readonly Edit[] = [
  // A byte order mark, once and twice (RFC 8259 §8.1).
  (bytes) => insert(bytes, 0, 0xef, 0xbb, 0xbf),
  (bytes) => insert(bytes, 0, 0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf),
  (bytes) => insert(bytes, inText(bytes), 0xef, 0xbb, 0xbf),
  // Not UTF-8: a lone byte, an overlong slash, a surrogate, a number above all characters, half a character.
  (bytes) => insert(bytes, inText(bytes), 0xff),
  (bytes) => insert(bytes, inText(bytes), 0xc0, 0xaf),
  (bytes) => insert(bytes, inText(bytes), 0xed, 0xa0, 0x80),
  (bytes) => insert(bytes, inText(bytes), 0xf5, 0x80, 0x80, 0x80),
  (bytes) => insert(bytes, inText(bytes), 0xe2, 0x82),
  (bytes) => Buffer.from(bytes.toString(), 'utf16le'),
  // JSON's white space, other white space, and what is no JSON.
  (bytes, random) =>
    Buffer.concat([Buffer.from(random.pick([' ', '\t\r\n', '   '])), bytes, Buffer.from('\n')]),
  (bytes) => Buffer.from(bytes.toString().replaceAll('":', '" :\n')),
  (bytes, random) =>
    Buffer.concat([bytes, Buffer.from(random.pick(['\u00a0', '\f', '\0', '}', '{}', '//', ',']))]),
  (bytes) => Buffer.from(bytes.toString().replace(/\}$/, ',}')),
  (bytes) => Buffer.from(bytes.toString().replaceAll('"', "'")),
  (bytes, random) => bytes.subarray(0, random.integer(bytes.length)),
  // Any byte changed, put in or taken out.
  (bytes, random) => {
    const changed = Buffer.from(bytes)
    changed[random.integer(bytes.length)] = random.integer(256)
    return changed
  },
  (bytes, random) => {
    const changed = Buffer.from(bytes)
    const at = random.integer(bytes.length)
    changed[at] = (changed[at] as number) ^ (1 << random.integer(8))
    return changed
  },
  (bytes, random) => insert(bytes, random.integer(bytes.length + 1), random.integer(256)),
  (bytes, random) => {
    const at = random.integer(bytes.length)
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random.integer(3))])
  },
]
