import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, test } from 'vitest'
import {
  CLAIM_AGE_MS,
  moveTrust,
  NO_TRUST,
  type Trust,
  TRUSTED_STEP_MS,
} from '../../packages/tokenlib/src/stores/sqlite/pruner.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const START = 1_800_000_000_000
const TRUSTING: Trust = { trusted: START, claim: null }

const write = (trust: Trust, ...times: readonly number[]): Trust => times.reduce(moveTrust, trust)

/** A write every half hour. */
const steadily = (from: number, to: number): number[] =>
  Array.from({ length: Math.floor((to - from) / (HOUR / 2)) + 1 }, (_, at) => from + (at * HOUR) / 2)

describe('the time that a SQLite file trusts', () => {
  test('follows writes that are at most an hour apart', () => {
    deepEqual(write(TRUSTING, START + 1, START + TRUSTED_STEP_MS), {
      trusted: START + TRUSTED_STEP_MS,
      claim: null,
    })
    equal(write(TRUSTING, ...steadily(START, START + 3 * DAY)).trusted, START + 3 * DAY)
  })

  test('does not follow a larger step', () => {
    const at = START + TRUSTED_STEP_MS + 1
    deepEqual(write(TRUSTING, at), { trusted: START, claim: { from: at, to: at } })
  })

  test('never goes back', () => {
    deepEqual(write(TRUSTING, START - DAY, 0), TRUSTING)
    const claimed = write(TRUSTING, START + DAY)
    deepEqual(write(claimed, START - 1), claimed)
  })

  test('is not moved by a claim that one write near it refutes', () => {
    const wrong = steadily(START + 25 * DAY, START + 26 * DAY - 5 * HOUR)
    deepEqual(write(TRUSTING, ...wrong, START + HOUR), { trusted: START + HOUR, claim: null })
  })

  test('is not moved by a claim when an earlier one takes its place', () => {
    const refuted = write(TRUSTING, ...steadily(START + 25 * DAY, START + 25 * DAY + 19 * HOUR), START + DAY)
    deepEqual(refuted, { trusted: START, claim: { from: START + DAY, to: START + DAY } })
  })

  test('follows a claim that writes have shown for long enough', () => {
    const from = START + 3 * DAY
    equal(write(TRUSTING, ...steadily(from, from + CLAIM_AGE_MS - HOUR / 2)).trusted, START)
    deepEqual(write(TRUSTING, ...steadily(from, from + CLAIM_AGE_MS)), {
      trusted: from + CLAIM_AGE_MS,
      claim: null,
    })
    deepEqual(write(NO_TRUST, ...steadily(from, from + CLAIM_AGE_MS)), {
      trusted: from + CLAIM_AGE_MS,
      claim: null,
    })
  })

  test('follows daily writes one day behind', () => {
    for (let day = 2; day < 30; day++) {
      const days = Array.from({ length: day }, (_, at) => START + (at + 1) * DAY)
      equal(write(TRUSTING, ...days).trusted, START + (day - 1) * DAY)
    }
  })

  test('is not moved by a wrong day among daily writes', () => {
    const days = [1, 2, 3, 28, 5, 6, 7].map((day) => START + day * DAY)
    for (let count = 1; count <= days.length; count++) {
      const { trusted } = write(TRUSTING, ...days.slice(0, count))
      ok(trusted <= START + 6 * DAY, `day ${(trusted - START) / DAY}`)
    }
    equal(write(TRUSTING, ...days).trusted, START + 6 * DAY)
  })

  test('stays with the right clocks, however wrong ones write among them', () => {
    for (const lead of [2 * HOUR, 5 * HOUR, DAY, 25 * DAY, 10_000 * DAY]) {
      for (const initial of [TRUSTING, NO_TRUST, { ...TRUSTING, trusted: START - DAY }]) {
        let trust = initial
        for (const now of steadily(START, START + 4 * DAY)) {
          trust = write(trust, now, now + lead, now + lead + 1000)
          ok(trust.trusted <= now, `${lead / HOUR} h ahead`)
        }
        // And is not held up by them.
        ok(trust.trusted >= START + 3 * DAY, `${lead / HOUR} h ahead: ${(trust.trusted - START) / HOUR} h`)
      }
    }
  })
})
