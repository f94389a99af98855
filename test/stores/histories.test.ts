import { expect, test } from 'vitest'
import { decideRotation } from '../../packages/tokenlib/src/kit.js'
import { RULE_VARIANTS } from '../model/rotation/variants.js'
import { checkHistories, type RunHistory } from './histories/check-histories.js'
import { createReferenceStore } from './histories/reference-store.js'
import { createHistoryClock, runHistory } from './histories/run-history.js'

// The same for every run, so that what is found once is found always.
const SIZES = { steps: 2000, seed: 1, endOnFailure: true }

const openStore = (rule: typeof decideRotation) => async (): Promise<RunHistory> => {
  const clock = createHistoryClock(1_800_000_000_000)
  const store = createReferenceStore(clock.now, rule)
  return (history) => runHistory({ stores: [store, store], clock }, history)
}

test('finds nothing in a store that follows the rule', async () => {
  const tally = await checkHistories(openStore(decideRotation), SIZES)
  expect(tally['steps']).toBeGreaterThanOrEqual(SIZES.steps)
})

test.each([...RULE_VARIANTS])('finds a store that %s', async (_mistake, rule) => {
  await expect(checkHistories(openStore(rule), SIZES)).rejects.toThrow('Property failed')
})
