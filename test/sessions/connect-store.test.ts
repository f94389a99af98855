import { expect, test } from 'vitest'
import { systemRandom } from '../../src/claims/ids.js'
import { FOREVER } from '../../src/revocation/revocation.js'
import { resolveRules } from '../../src/sessions/connect-store.js'

const OPTIONS = {
  now: () => 0,
  random: systemRandom,
  emit: () => {},
  timeoutMs: 2000,
  lifetimes: [900, 86_400],
  leeway: 0,
  grace: 10,
  idle: 3600,
} as const

test('revocations are kept for the leeway after the expiry of a token, five minutes at least', () => {
  for (const [leeway, retentionMs] of [
    [0, 300_000],
    [300, 300_000],
    [301, 301_000],
    [3600, 3_600_000],
  ] as const) {
    expect(resolveRules({ ...OPTIONS, leeway })).toMatchObject({
      retentionMs,
      longestLifetime: 86_400_000 + retentionMs,
    })
  }
})

test('durations become milliseconds, and those that never end the largest number there is', () => {
  expect(resolveRules(OPTIONS)).toMatchObject({ graceMs: 10_000, idleMs: 3_600_000 })
  expect(resolveRules({ ...OPTIONS, lifetimes: [900, false], idle: false })).toMatchObject({
    longestLifetime: FOREVER,
    idleMs: FOREVER,
  })
})
