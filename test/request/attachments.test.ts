import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { readAttached, attach } from '../../packages/tokenlib/src/http/view.js'

const author = {}

describe.each([
  ['an object', () => ({ a: 1 })],
  ['a frozen object', () => Object.freeze({ a: 1 })],
  ['a sealed instance', () => Object.seal(new Date(0))],
])('%s', (_, create) => {
  test('keeps what each author wrote, the last of each', () => {
    const [owner, other] = [create(), {}]
    expect(readAttached(owner, author)).toBeUndefined()
    attach(owner, author, 'first')
    attach(owner, other, null)
    expect(readAttached(owner, author)).toBe('first')
    expect(readAttached(owner, other)).toBeNull()
    attach(owner, author, 'second')
    expect(readAttached(owner, author)).toBe('second')
    expect(readAttached(create(), author)).toBeUndefined()
  })

  test('shows nothing of it', () => {
    const owner = create()
    attach(owner, author, { token: 'eyJ-secret' })
    expect(inspect(owner, { depth: 9, showHidden: true })).not.toContain('secret')
    expect(JSON.stringify(owner)).not.toContain('secret')
  })
})

test('a copy and a descendant have no notes of their own, and write their own', () => {
  const owner: { a: number } = { a: 1 }
  attach(owner, author, 'owner')
  for (const other of [{ ...owner }, Object.create(owner) as object, Object.assign({}, owner)]) {
    expect(readAttached(other, author)).toBeUndefined()
    attach(other, author, 'other')
    expect(readAttached(other, author)).toBe('other')
    expect(readAttached(owner, author)).toBe('owner')
  }
})

test('an object that is frozen later keeps what was written on it', () => {
  const owner = {}
  attach(owner, author, 1)
  Object.freeze(owner)
  expect(readAttached(owner, author)).toBe(1)
  attach(owner, author, 2)
  expect(readAttached(owner, author)).toBe(2)
})

test.each([null, undefined, 7, 'text'])('%s has none', (owner) => {
  expect(readAttached(owner as never, author)).toBeUndefined()
})

test('a stand-in that has something under every name has none', () => {
  const mock = new Proxy({}, { get: () => () => 'anything' })
  expect(readAttached(mock, author)).toBeUndefined()
})
