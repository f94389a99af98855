import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { startMysql } from '../helpers/servers/start-mysql.js'
import { startPostgres } from '../helpers/servers/start-postgres.js'
import { startRedis } from '../helpers/servers/start-redis.js'
import type { ClientName } from './harness/place.js'
import { runStoppedStore } from './stopped-store.js'

const LIMIT = 120_000

async function stop(server: RunningServer, client: ClientName): Promise<void> {
  // A deadline and a rate that a loaded machine keeps while the server is there. With both of its cores busy, it may serve
  // 150 checks per second through `mysql2`: of more than that, hardly one is answered in time.
  const config = { JWT_REVOCATION_TIMEOUT: '1s' }
  const outcome = await runStoppedStore(server, { client, stoppedMs: 3000, perSecond: 60, config })
  expect(outcome).toMatchObject({ revokedAccepted: 0, strange: 0, isRecovered: 1 })
  expect(outcome.answeredWhileStopped).toBeGreaterThan(0)
  expect(outcome.mostWaiting).toBeLessThan(1100)
}

describeWithOwnServer('redis', 'a Redis that stands still', () => {
  let server: RunningServer
  beforeAll(async () => void (server = await startRedis()), LIMIT)
  afterAll(() => server.stop())
  test.each(['ioredis', 'redis'] as const)(
    'lets no revoked token pass, and everything again when it goes on, by %s',
    (client) => stop(server, client),
    LIMIT,
  )
})

describeWithOwnServer('postgres', 'a PostgreSQL that stands still', () => {
  let server: RunningServer
  beforeAll(async () => void (server = await startPostgres()), LIMIT)
  afterAll(() => server.stop())
  test.each(['pg', 'postgres'] as const)(
    'lets no revoked token pass, and everything again when it goes on, by %s',
    (client) => stop(server, client),
    LIMIT,
  )
})

describeWithOwnServer('mysql', 'a MariaDB that stands still', () => {
  let server: RunningServer
  beforeAll(async () => void (server = await startMysql()), LIMIT)
  afterAll(() => server.stop())
  test.each(['mysql2', 'mariadb'] as const)(
    'lets no revoked token pass, and everything again when it goes on, by %s',
    (client) => stop(server, client),
    LIMIT,
  )
})
