import { expect, test } from 'vitest'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import { REPLICA_PROCESS } from './harness/bundle-worker.js'
import { useWorkerProgram } from './harness/worker-program.js'
import { FULL_REPLICA, runReplica } from './replica.js'

// Longer runs, and those of PostgreSQL and MariaDB, are in `node tools/evidence/faults.js --only replica`.
const SIZES = { ...FULL_REPLICA, seeds: 1, seconds: 12 }

describeWithOwnServer(
  'redis',
  'replicas of a Redis that crashes, freezes, loses data and is out of reach',
  () => {
    const program = useWorkerProgram(REPLICA_PROCESS)
    test('accept nothing later than the bound, refuse nothing that is not revoked, and have everything in the end', async () => {
      const outcome = await runReplica(program(), SIZES)
      expect(outcome.violations).toEqual([])
      expect(outcome.operations).toBeGreaterThan(15_000)
      expect(outcome.revocations).toBeGreaterThan(300)
    }, 480_000)
  },
)
