import { describe, expect, test } from 'vitest'
import { MOST_AHEAD, MOST_SET_BACK, raiseWatermark } from '../../src/revocation/revocation.js'
import { NOW } from '../helpers/manager.js'

const now = NOW * 1000

describe('a watermark', () => {
  test.each([
    ['the clock of the store, where nothing is later', now - 5, now - 5, now],
    ['what the process gave, up to a minute ahead', now + MOST_AHEAD, 0, now + MOST_AHEAD],
    ['a minute ahead, where the process gave more', now + MOST_AHEAD + 1, 0, now + MOST_AHEAD],
    ['the newest session, up to an hour ahead', now, now + MOST_SET_BACK, now + MOST_SET_BACK],
    ['an hour ahead, where a session started later', now, now + MOST_SET_BACK + 1, now + MOST_SET_BACK],
  ])('is raised to %s', (_what, given, newestStart, expected) => {
    expect(raiseWatermark(given, newestStart, now)).toBe(expected)
  })
})
