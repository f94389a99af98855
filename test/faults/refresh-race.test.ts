import { expect, test } from 'vitest'
import {
  describeWithMysql,
  describeWithPostgres,
  describeWithRedis,
} from '../helpers/servers/describe-with-servers.js'
import type { Place } from './harness/place.js'
import { useWorkerProgram } from './harness/worker-program.js'
import { type RefreshRaceSizes, runRefreshRace } from './refresh-race.js'

const LIMIT = 240_000
const program = useWorkerProgram()

async function race(place: Place, sizes: RefreshRaceSizes): Promise<void> {
  const outcome = await runRefreshRace(program(), place, sizes)
  const all = 2 * sizes.rounds * sizes.perProcess
  expect(outcome).toMatchObject({
    refreshes: all,
    succeeded: all,
    falseReuse: 0,
    failures: 0,
    forkedRounds: 0,
    generation: 2,
  })
  // Otherwise there would have been no race.
  expect(outcome.overlappingRounds).toBeGreaterThan(sizes.rounds / 10)
}

describeWithRedis('two processes that refresh one token at once, on Redis', (url) => {
  test(
    'all get the same successor generation, round after round',
    () => race({ client: 'ioredis', url }, { rounds: 20, perProcess: 25 }),
    LIMIT,
  )
})

describeWithPostgres('two processes that refresh one token at once, on PostgreSQL', (url) => {
  test(
    'all get the same successor generation, round after round',
    () => race({ client: 'pg', url }, { rounds: 20, perProcess: 25 }),
    LIMIT,
  )
})

describeWithMysql('two processes that refresh one token at once, on MariaDB', (url) => {
  test(
    'all get the same successor generation, round after round',
    () => race({ client: 'mysql2', url }, { rounds: 20, perProcess: 25 }),
    LIMIT,
  )
})
