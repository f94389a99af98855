import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { readNote, writeNote } from '../../src/request/notes.js'
import { countNotes } from '../helpers/count-notes.js'

const author = {}

describe.each([
  ['an object', () => ({ a: 1 })],
  ['a frozen object', () => Object.freeze({ a: 1 })],
  ['a sealed instance', () => Object.seal(new Date(0))],
])('%s', (_, create) => {
  test('keeps what each author wrote, the last of each', () => {
    const [owner, other] = [create(), {}]
    expect(readNote(owner, author)).toBeUndefined()
    writeNote(owner, author, 'first')
    writeNote(owner, other, null)
    expect(readNote(owner, author)).toBe('first')
    expect(readNote(owner, other)).toBeNull()
    writeNote(owner, author, 'second')
    expect(readNote(owner, author)).toBe('second')
    expect(readNote(create(), author)).toBeUndefined()
  })

  test('has one note of an author, however often that author writes', () => {
    const [owner, other] = [create(), {}]
    writeNote(owner, author, 0)
    writeNote(owner, other, 'other')
    const before = countNotes()
    for (let count = 1; count <= 1000; count++) writeNote(owner, author, count)
    expect(countNotes()).toBeLessThanOrEqual(before)
    expect([readNote(owner, author), readNote(owner, other)]).toEqual([1000, 'other'])
  })

  test('shows nothing of it', () => {
    const owner = create()
    writeNote(owner, author, { token: 'eyJ-secret' })
    expect(inspect(owner, { depth: 9, showHidden: true })).not.toContain('secret')
    expect(JSON.stringify(owner)).not.toContain('secret')
  })
})

test('a copy and a descendant have no notes of their own, and write their own', () => {
  const owner: { a: number } = { a: 1 }
  writeNote(owner, author, 'owner')
  for (const other of [{ ...owner }, Object.create(owner) as object, Object.assign({}, owner)]) {
    expect(readNote(other, author)).toBeUndefined()
    writeNote(other, author, 'other')
    expect(readNote(other, author)).toBe('other')
    expect(readNote(owner, author)).toBe('owner')
  }
})

test('an object that is frozen later keeps what was written on it', () => {
  const owner = {}
  writeNote(owner, author, 1)
  Object.freeze(owner)
  expect(readNote(owner, author)).toBe(1)
  writeNote(owner, author, 2)
  expect(readNote(owner, author)).toBe(2)
})

test.each([null, undefined, 7, 'text'])('%s has none', (owner) => {
  expect(readNote(owner as never, author)).toBeUndefined()
})

test('a stand-in that has something under every name has none', () => {
  const mock = new Proxy({}, { get: () => () => 'anything' })
  expect(readNote(mock, author)).toBeUndefined()
})
