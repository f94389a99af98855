import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readBase64url } from '../../packages/tokenlib/src/encoding.js'
import { idWords, readIdHead, readIdTail, toId } from '../../packages/tokenlib/src/tokens/ids.js'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

function read(id: string): number[] | null {
  idWords.fill(0x55)
  const isHead = readIdHead(id)
  const isTail = readIdTail(id)
  return isHead && isTail ? [...idWords] : null
}

function expected(id: string): number[] | null {
  const bytes = readBase64url(id)
  return bytes?.length === 16 ? [0, 4, 8, 12].map((at) => bytes.readInt32BE(at)) : null
}

test('words are those that Buffer reads, and make the same id again', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
      const id = Buffer.from(bytes).toString('base64url')
      const [w0, w1, w2, w3] = read(id) as [number, number, number, number]
      expect([w0, w1, w2, w3]).toEqual(expected(id))
      expect(toId(w0, w1, w2, w3)).toBe(id)
    }),
  )
})

test('any other text is refused, wherever it is wrong', () => {
  const digit = fc.constantFrom(...ALPHABET, '+', '/', '=', ' ', '\0', '\u0141', '\u{ffff}', '\u{e1}')
  fc.assert(
    fc.property(fc.array(digit, { minLength: 20, maxLength: 24 }), (digits) => {
      const id = digits.join('')
      expect(read(id)).toEqual(expected(id))
    }),
  )
  const good = 'AZkCo3QAabcdefghij-_0w'
  expect(read(good)).not.toBeNull()
  for (let at = 0; at < good.length; at++) {
    for (const wrong of ['+', '/', '=', '.', '\u0141', '\u{4130}']) {
      expect(read(good.slice(0, at) + wrong + good.slice(at + 1)), `${wrong} at ${at}`).toBeNull()
    }
  }
})

test('of the sixteen spellings of the last digit one is good', () => {
  const good = [...ALPHABET].filter((last) => read(`AZkCo3QAabcdefghij-_0${last}`) !== null)
  expect(good).toEqual(['A', 'Q', 'g', 'w'])
})
