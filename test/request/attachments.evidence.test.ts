import { expect, test } from 'vitest'
import { readAttached, attach } from '../../packages/tokenlib/src/http/view.js'
import { countAttachments } from '../helpers/count-attachments.js'

// It walks the heap, which is small only in a process of its own.
test.each([
  ['an object', () => ({ a: 1 })],
  ['a frozen object', () => Object.freeze({ a: 1 })],
  ['a sealed instance', () => Object.seal(new Date(0))],
])('%s has one note of an author, however often that author writes', (_, create) => {
  const [owner, author, other] = [create(), {}, {}]
  attach(owner, author, 0)
  attach(owner, other, 'other')
  const before = countAttachments()
  for (let count = 1; count <= 1000; count++) attach(owner, author, count)
  expect(countAttachments()).toBeLessThanOrEqual(before)
  expect([readAttached(owner, author), readAttached(owner, other)]).toEqual([1000, 'other'])
})
