import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createShownWindows, type Sighting } from './shown-windows.js'

const randomText = (size: number): string => randomBytes(size).toString('base64url')

function findAll(texts: readonly string[], secret: string): [at: number, sighting: Sighting][] {
  const windows = createShownWindows()
  texts.forEach((text, number) => windows.add({ origin: `text ${number}`, text }))
  const found: [number, Sighting][] = []
  windows.search(secret, (at, sighting) => found.push([at, sighting]))
  return found
}

describe('eight characters of a secret are found', () => {
  const secret = randomText(48)

  test.each(Array.from({ length: secret.length - 7 }, (_, at) => at))('from character %i on', (at) => {
    const text = `a text with |${secret.slice(at, at + 8)}| in it`
    expect(findAll(['another text', text], secret)).toEqual([
      [at, { origin: 'text 1', text, offset: 'a text with |'.length }],
    ])
  })

  test.each([
    ['at the beginning of a text', (piece: string) => `${piece}|`],
    ['at its end', (piece: string) => `|${piece}`],
    ['as all of it', (piece: string) => piece],
  ])('%s', (_, show) => {
    expect(findAll([show(secret.slice(0, 8))], secret).map(([at]) => at)).toEqual([0])
    expect(findAll([show(secret.slice(-8))], secret).map(([at]) => at)).toEqual([secret.length - 8])
  })

  test('where a line is broken or filled up with spaces', () => {
    expect(findAll(['[\n   97,  45,\n  116 ]'], '97, 45, 116')).toHaveLength('97, 45, 116'.length - 7)
  })

  test.each(['grüße-aus-köln', 'пароль-от-базы', '密码密码密码密码密码', 'p😀ssword😀😀'])(
    'in any script: %s',
    (word) => {
      expect(findAll([`it is ${word.slice(1, 9)}.`], word).map(([at]) => at)).toEqual([1])
    },
  )

  test('among a hundred thousand others', () => {
    const texts = Array.from({ length: 5000 }, () => randomText(24))
    const piece = texts[1234]?.slice(10, 18) ?? ''
    const found = findAll(texts, `|${piece}|`)
    expect(found.map(([at, { origin, offset }]) => [at, origin, offset])).toEqual([[1, 'text 1234', 10]])
    for (const text of texts.slice(0, 300)) expect(findAll([text], text)).toHaveLength(text.length - 7)
  })
})

describe('nothing else is found', () => {
  const secret = randomText(48)

  test.each(Array.from({ length: secret.length - 6 }, (_, at) => at))('seven characters from %i on', (at) => {
    expect(findAll([`|${secret.slice(at, at + 7)}|`], secret)).toEqual([])
  })

  test.each([
    ['a character that differs in the middle', (piece: string) => `${piece.slice(0, 4)}|${piece.slice(5)}`],
    ['the same characters in another order', (piece: string) => [...piece].toReversed().join('')],
    ['the halves the other way round', (piece: string) => piece.slice(4) + piece.slice(0, 4)],
    // 'a' and 'á' have the same last seven bits.
    [
      'a letter with the same bits beyond ASCII',
      (piece: string) => piece.replace(/^./, (c) => String.fromCharCode(c.charCodeAt(0) + 128)),
    ],
  ])('%s', (_, change) => {
    const piece = 'abcdefgh'
    expect(findAll([`it is ${change(piece)}.`], piece)).toEqual([])
    expect(findAll([`it is ${piece}.`], change(piece))).toEqual([])
    expect(findAll([`it is ${piece}.`], piece)).toHaveLength(1)
  })

  test('bytes that are no UTF-8, unless there are four characters between them', () => {
    const text = Buffer.from([...Array<number>(12).fill(0xff), 0x61, 0x62, 0x63, 0x64, 0xff, 0xff]).toString()
    expect(findAll([text], text.slice(0, 15))).toEqual([])
    expect(findAll([text], text.slice(0, 16)).map(([at]) => at)).toEqual([8])
  })

  test('an empty text, and one that is shorter than a window', () => {
    expect(findAll(['', 'abcdefg'], 'abcdefg')).toEqual([])
  })
})
