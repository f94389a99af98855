import { describe, expect, test } from 'vitest'
import {
  MAX_WATERMARK_LEAD_MS,
  MAX_SESSION_LEAD_MS,
  raiseWatermark,
} from '../../packages/tokenlib/src/revocation/revocation.js'
import { NOW } from '../helpers/manager.js'

const now = NOW * 1000

describe('a watermark', () => {
  test.each([
    ['the clock of the store, where nothing is later', now - 5, now - 5, now],
    [
      'what the process gave, up to a minute ahead',
      now + MAX_WATERMARK_LEAD_MS,
      0,
      now + MAX_WATERMARK_LEAD_MS,
    ],
    [
      'a minute ahead, where the process gave more',
      now + MAX_WATERMARK_LEAD_MS + 1,
      0,
      now + MAX_WATERMARK_LEAD_MS,
    ],
    ['the newest session, up to an hour ahead', now, now + MAX_SESSION_LEAD_MS, now + MAX_SESSION_LEAD_MS],
    [
      'an hour ahead, where a session started later',
      now,
      now + MAX_SESSION_LEAD_MS + 1,
      now + MAX_SESSION_LEAD_MS,
    ],
  ])('is raised to %s', (_what, given, newestStart, expected) => {
    expect(raiseWatermark(given, newestStart, now)).toBe(expected)
  })
})
