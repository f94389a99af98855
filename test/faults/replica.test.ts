import { expect, test } from 'vitest'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import { REPLICA_PROCESS } from './harness/bundle-worker.js'
import { useWorkerProgram } from './harness/worker-program.js'
import { FULL_REPLICA, runReplica } from './replica.js'
import { checkHistory } from './replica/check-history.js'
import { runSteps } from './replica/scripted-steps.js'

const LIMIT = 480_000
// Longer runs, and those of PostgreSQL, are in `node tools/evidence/faults.js --only replica`.
const SIZES = { ...FULL_REPLICA, seeds: 1, seconds: 20 }

describeWithOwnServer(
  'redis',
  'replicas of a Redis that crashes, freezes, loses data and is out of reach',
  () => {
    const program = useWorkerProgram(REPLICA_PROCESS)
    test(
      'accept nothing later than the bound, refuse nothing that is not revoked, and have everything in the end',
      async () => {
        const outcome = await runReplica(program(), SIZES)
        expect(outcome.violations).toEqual([])
        expect(outcome.operations).toBeGreaterThan(25_000)
        expect(outcome.revocations).toBeGreaterThan(500)
      },
      LIMIT,
    )
  },
)

test(
  'replicas of a store that does what a script says break no condition',
  async () => {
    const histories = Object.entries(await runSteps())
    expect(histories.length).toBeGreaterThan(10)
    const violations = histories.flatMap(([step, history]) =>
      checkHistory(history).map((violation) => ({ step, ...violation })),
    )
    expect(violations).toEqual([])
  },
  LIMIT,
)
