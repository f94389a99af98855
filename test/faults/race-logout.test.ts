import { expect, test } from 'vitest'
import {
  describeWithMysql,
  describeWithPostgres,
  describeWithRedis,
} from '../helpers/servers/describe-with-servers.js'
import type { Place } from './harness/place.js'
import { runRaceLogout } from './race-logout.js'

const LIMIT = 240_000
// Two thousand in `node tools/evidence/faults.js`.
const SCHEDULES = 80
const TITLE = `leave nothing of a session that is accepted after its logout, over ${SCHEDULES} schedules`

async function race(place: Place): Promise<void> {
  const outcome = await runRaceLogout(place, { schedules: SCHEDULES, seed: 1 })
  expect(outcome).toMatchObject({ schedules: SCHEDULES, survivors: 0, unanswered: 0 })
  // Otherwise there would have been no race.
  expect(outcome.refreshed).toBeGreaterThan(SCHEDULES / 20)
}

describeWithRedis('refreshes that race a logout on Redis', (url) => {
  test(TITLE, () => race({ client: 'ioredis', url }), LIMIT)
})

describeWithPostgres('refreshes that race a logout on PostgreSQL', (url) => {
  test(TITLE, () => race({ client: 'pg', url }), LIMIT)
})

describeWithMysql('refreshes that race a logout on MariaDB', (url) => {
  test(TITLE, () => race({ client: 'mysql2', url }), LIMIT)
})
