import fc from 'fast-check'
import { anyHistory, type History } from './history.js'
import type { Tally } from './run-history.js'

/** Runs one history on a place of its kind. */
export type RunHistory = (history: History) => Promise<Tally>

/** How much is run. */
export interface HistorySizes {
  readonly steps: number
  readonly seed: number
}

// Places that are in use at the same time: a server answers one while another waits.
const LANES = 8
// Histories in a row that share a place.
const PER_PLACE = 20

/** Runs random histories until so many steps were taken; rejects with the seed and the shortest history that differs. */
export async function checkHistories(
  openPlace: () => Promise<RunHistory>,
  { steps, seed }: HistorySizes,
): Promise<Tally> {
  const tally = { steps: 0 }
  const add = (name: string, times: number): void =>
    void Object.assign(tally, { [name]: ((tally as Tally)[name] ?? 0) + times })
  let next = seed
  const runLane = async (): Promise<void> => {
    while (tally.steps < steps) {
      const run = await openPlace()
      const property = fc.asyncProperty(anyHistory, async (history) => {
        for (const [name, times] of Object.entries(await run(history))) add(name, times)
        tally.steps += history.steps.length
      })
      await fc.assert(property, { seed: next++, numRuns: PER_PLACE })
    }
  }
  const lanes = await Promise.allSettled(Array.from({ length: LANES }, runLane))
  for (const lane of lanes) if (lane.status === 'rejected') throw lane.reason
  return tally
}
