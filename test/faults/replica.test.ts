import { describe, expect, test } from 'vitest'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import { REPLICA_PROCESS } from './harness/bundle-worker.js'
import { useWorkerProgram } from './harness/worker-program.js'
import { FULL_REPLICA, runReplica } from './replica.js'
import { BROKEN_REPLICAS } from './replica/broken-replicas.js'
import { runBroken } from './replica/run-broken.js'

const LIMIT = 480_000
// Longer runs, and those of PostgreSQL, are in `npm run faults -- --only replica`.
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

describe('the checker', () => {
  test(
    'finds nothing in the replica as it is',
    async () => {
      expect(await runBroken()).toEqual([])
    },
    LIMIT,
  )

  test.concurrent.each(Object.entries(BROKEN_REPLICAS))(
    'catches a replica where %s',
    async (_, broken) => {
      const violations = await runBroken(broken)
      const found = new Set(violations.map(({ condition }) => condition))
      expect([...found]).toEqual(expect.arrayContaining([...broken.breaks]))
    },
    LIMIT,
  )
})
