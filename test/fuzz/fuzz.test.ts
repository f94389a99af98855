import { beforeAll, describe, expect, test } from 'vitest'
import { MUTATIONS } from './create-case.js'
import { ORACLE_CHOICES } from './judge.js'
import { describeDisagreement } from './report-fuzz.js'
import { type FuzzResult, runFuzz } from './run-fuzz.js'
import { STRICTNESS } from './strictness.js'

const LIMIT = 300_000
const SEED = 20_260_101
const TOKENS = 10_000

describe(`${TOKENS} tokens of seed ${SEED}, judged by us and by jose`, () => {
  let result: FuzzResult
  beforeAll(async () => void (result = await runFuzz({ seed: SEED, tokens: TOKENS })), LIMIT)

  test('there is no disagreement without a documented reason', () => {
    const shown = result.disagreements.slice(0, 3).map((found) => describeDisagreement(SEED, found))
    expect(shown).toEqual([])
  })

  test('many tokens are accepted by both, and many refused by both', () => {
    expect(result.tokens).toBe(TOKENS)
    expect(result.accepted).toBeGreaterThan(TOKENS / 5)
    expect(result.refused).toBeGreaterThan(TOKENS / 3)
  })

  test.each(Object.keys(STRICTNESS))('a token is refused by us alone for this alone: %s', (rule) => {
    expect(result.strict.get(rule)).toBeGreaterThan(0)
  })

  test.each(Object.values(ORACLE_CHOICES))('a token is refused by the oracle alone: %s', (choice) => {
    expect(result.oracleChoices.get(choice)).toBeGreaterThan(0)
  })

  test('both accept tokens of every algorithm and kind of key', () => {
    const without = [...result.acceptedBySetup].filter(([, count]) => count === 0)
    expect(without).toEqual([])
    expect(result.acceptedBySetup.size).toBeGreaterThan(14)
  })

  test('every mutation was tried', () => {
    const without = [...result.mutations].filter(([, count]) => count === 0)
    expect(without).toEqual([])
    expect(result.mutations.size).toBe(MUTATIONS.length)
  })
})
