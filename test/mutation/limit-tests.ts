import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { afterEach, beforeEach, inject, type TestContext } from 'vitest'

// A test that takes too long to be run for every mutant is left out. The first run, without a mutant, measures them all,
// so there is no list of titles to go stale.
const LIMIT_MS = Number(process.env['MUTATION_TEST_LIMIT_MS'] ?? Infinity)
const SLOW_TESTS = process.env['MUTATION_SLOW_TESTS'] ?? ''

interface Stryker {
  currentTestId?: string | undefined
  hitLimit?: number | undefined
  mutantCoverage?: { perTest: Record<string, unknown> } | undefined
}
// Both are told by Stryker's runner.
const stryker = (globalThis as Record<string, unknown>)[inject('globalNamespace' as never)] as
  | Stryker
  | undefined
const isFirstRun = inject('mode' as never) === 'dry-run'

const slow = new Set(existsSync(SLOW_TESTS) ? readFileSync(SLOW_TESTS, 'utf8').split('\n') : [])
const describeTest = ({ file, fullTestName }: TestContext['task']): string => `${file.name} ${fullTestName}`

// Also in the first run of a later step: its results must be of the same tests.
beforeEach(({ task, skip }) => {
  if (slow.has(describeTest(task))) skip()
})

if (isFirstRun) {
  // Some tests move the monotonic clock until they are over, which is later than the hooks here.
  const readClock = performance.now.bind(performance)
  let start = 0
  let cpu = process.cpuUsage()
  beforeEach(() => {
    start = readClock()
    cpu = process.cpuUsage()
  })
  // Hooks after a test run in reverse order: Stryker's own, which forgets the id, comes later.
  afterEach(({ task }) => {
    const { currentTestId, mutantCoverage } = stryker ?? {}
    const { user, system } = process.cpuUsage(cpu)
    // What waits takes long without using the processor. On a busy machine every test takes long.
    const busy = Math.max(1, (loadavg()[0] ?? 0) / availableParallelism())
    const isSlow = (user + system) / 1000 > LIMIT_MS || readClock() - start > 5 * LIMIT_MS * busy
    if (!isSlow || currentTestId === undefined) return
    appendFileSync(SLOW_TESTS, `${describeTest(task)}\n`)
    // A mutant is tried with the tests that have reached it: this one has reached none.
    delete mutantCoverage?.perTest[currentTestId]
  })
} else {
  // Stryker ends an endless loop after a hundred times as many hits as in the first run. There it counts those of all
  // files so far with every file, so that loops went on until the deadline.
  if (stryker?.hitLimit !== undefined) stryker.hitLimit = Math.ceil(stryker.hitLimit / 20)

  // The first failure ends the run. Not with Vitest's `bail`: it sends the thread a message that nobody waits for, and
  // a thread that is used again could get it during the run of the next mutant.
  const shared = globalThis as { detectedMutant?: unknown }
  const mutant: unknown = inject('activeMutant' as never)
  // There is none if somebody runs these tests without Stryker.
  const isDetected = (): boolean => mutant !== undefined && shared.detectedMutant === mutant
  if (isDetected()) throw new Error('An earlier test has detected the mutant')
  beforeEach(({ skip }) => {
    if (isDetected()) skip()
  })
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') shared.detectedMutant = mutant
  })
}
