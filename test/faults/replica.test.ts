import { describe, expect, test } from 'vitest'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import { REPLICA_PROCESS } from './harness/bundle-worker.js'
import { useWorkerProgram } from './harness/worker-program.js'
import { runReplica } from './replica.js'
import { BROKEN_REPLICAS } from './replica/broken-replicas.js'
import { runBroken } from './replica/run-broken.js'

const LIMIT = 240_000
// Losses of data, five verifiers, twice the load and longer runs are in `npm run faults -- --only replica`.
const SIZES = {
  store: 'redis',
  seeds: 6,
  firstSeed: 1,
  seconds: 8,
  atOnce: 3,
  perRun: {
    verifiers: 3,
    revokers: 2,
    checksPerSecond: 400,
    revocationsPerSecond: 30,
    clients: 1,
    rotationsPerSecond: 20,
    stormSize: 1000,
    losesData: false,
  },
} as const

describeWithOwnServer('redis', 'replicas of a Redis that crashes, freezes and is out of reach', () => {
  const program = useWorkerProgram(REPLICA_PROCESS)
  test(
    'accept nothing later than the bound, refuse nothing that is not revoked, and have everything in the end',
    async () => {
      const outcome = await runReplica(program(), SIZES)
      expect(outcome.violations).toEqual([])
      expect(outcome.operations).toBeGreaterThan(50_000)
      expect(outcome.revocations).toBeGreaterThan(1000)
    },
    LIMIT,
  )
})

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
