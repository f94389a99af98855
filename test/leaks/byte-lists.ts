// `[ 97, 45, 116, 101 ]` and `<Buffer 61 2d 74 65>`, as `util.inspect` and `JSON.stringify` write bytes.
const NUMBERS = /\b\d{1,3}(?:,\s*\d{1,3}){3,}/g
const PAIRS = /\b[\da-f]{2}(?: [\da-f]{2}){3,}/g

/** The lists of bytes in a text, in hex: eight characters of a list of numbers are two bytes, which prove nothing. */
export function readByteLists(text: string): string[] {
  const numbers = Array.from(text.matchAll(NUMBERS), ([list]) =>
    Buffer.from(list.split(',').map(Number)).toString('hex'),
  )
  const pairs = Array.from(text.matchAll(PAIRS), ([list]) => list.replaceAll(' ', ''))
  return [...numbers, ...pairs]
}
