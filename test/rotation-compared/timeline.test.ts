import { expect, test } from 'vitest'
import { createRandom } from '../fuzz/random.js'
import { createTimeline } from './timeline.js'

test('what is due runs in the order of time, then in the order in which it was added', () => {
  const [timeline, random] = [createTimeline(), createRandom(1, 0)]
  const ran: { moment: number; order: number }[] = []
  const added: typeof ran = []
  for (let order = 0; order < 1000; order++) {
    const moment = random.integer(100)
    added.push({ moment, order })
    timeline.at(moment, () => {
      expect(timeline.now()).toBe(moment)
      ran.push({ moment, order })
    })
  }
  timeline.runUntil(100)
  expect(ran).toEqual(added.toSorted((one, other) => one.moment - other.moment || one.order - other.order))
})

test('what is added on the way runs too, the past is now, and what is due after the end does not run', () => {
  const timeline = createTimeline()
  const ran: string[] = []
  timeline.at(10, () => {
    timeline.at(5, () => ran.push(`late ${timeline.now()}`))
    timeline.at(20, () => ran.push(`next ${timeline.now()}`))
    timeline.at(31, () => ran.push('never'))
  })
  timeline.runUntil(30)
  expect(ran).toEqual(['late 10', 'next 20'])
  expect(timeline.now()).toBe(30)
})
