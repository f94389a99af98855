import { expect, test } from 'vitest'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { startMysql } from '../helpers/servers/start-mysql.js'
import { startPostgres } from '../helpers/servers/start-postgres.js'
import { startRedis } from '../helpers/servers/start-redis.js'
import { runFlappingStore } from './flapping-store.js'
import { DURABLE_REDIS } from './harness/durable-redis.js'
import type { ClientName } from './harness/place.js'

const LIMIT = 120_000

async function flap(server: RunningServer, flaps: number, clients: readonly ClientName[]): Promise<void> {
  try {
    const outcome = await runFlappingStore(server, { flaps, clients })
    expect(outcome).toMatchObject({ revokedAccepted: 0, strange: 0, stuck: 0 })
    expect(outcome.moreDescriptors).toBeLessThanOrEqual(2)
  } finally {
    await server.stop()
  }
}

describeWithOwnServer('redis', 'a Redis that goes and comes', () => {
  test(
    'leaves no descriptor behind',
    async () => flap(await startRedis(DURABLE_REDIS), 8, ['ioredis', 'redis']),
    LIMIT,
  )
})

describeWithOwnServer('postgres', 'a PostgreSQL that goes and comes', () => {
  test('leaves no descriptor behind', async () => flap(await startPostgres(), 2, ['pg', 'postgres']), LIMIT)
})

describeWithOwnServer('mysql', 'a MariaDB that goes and comes', () => {
  test('leaves no descriptor behind', async () => flap(await startMysql(), 4, ['mysql2', 'mariadb']), LIMIT)
})
