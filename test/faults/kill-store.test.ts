import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { startMysql } from '../helpers/servers/start-mysql.js'
import { startPostgres } from '../helpers/servers/start-postgres.js'
import { startRedis } from '../helpers/servers/start-redis.js'
import { DURABLE_REDIS } from './harness/durable-redis.js'
import { type KillStoreSizes, runKillStore } from './kill-store.js'

const LIMIT = 240_000
const TITLE = 'has kept every acknowledged logout, and managers go on by themselves'

async function kill(server: RunningServer, sizes: KillStoreSizes): Promise<void> {
  const outcome = await runKillStore(server, sizes)
  expect(outcome).toMatchObject({
    kills: sizes.kills,
    lost: 0,
    lostAtTheEnd: 0,
    revokedAccepted: 0,
    strange: 0,
    massLogouts: 0,
    stuck: 0,
  })
  expect(outcome.acknowledged).toBeGreaterThanOrEqual(sizes.kills)
  expect(outcome.moreDescriptors).toBeLessThanOrEqual(2)
}

describeWithOwnServer('redis', 'a Redis that is killed at the moment it acknowledges', () => {
  let server: RunningServer
  beforeAll(async () => void (server = await startRedis(DURABLE_REDIS)), LIMIT)
  afterAll(() => server.stop())
  test(
    TITLE,
    () => kill(server, { kills: 6, clients: ['ioredis', 'redis'], signals: ['SIGKILL'], isDurable: true }),
    LIMIT,
  )
})

describeWithOwnServer('postgres', 'a PostgreSQL that is killed at the moment it acknowledges', () => {
  let server: RunningServer
  beforeAll(async () => void (server = await startPostgres()), LIMIT)
  afterAll(() => server.stop())
  test(
    TITLE,
    () =>
      kill(server, {
        kills: 3,
        clients: ['pg', 'postgres'],
        signals: ['SIGQUIT', 'SIGQUIT', 'SIGKILL'],
        isDurable: true,
      }),
    LIMIT,
  )
})

describeWithOwnServer('mysql', 'a MariaDB that is killed at the moment it acknowledges', () => {
  let server: RunningServer
  beforeAll(async () => void (server = await startMysql()), LIMIT)
  afterAll(() => server.stop())
  test(
    TITLE,
    () => kill(server, { kills: 3, clients: ['mysql2', 'mariadb'], signals: ['SIGKILL'], isDurable: true }),
    LIMIT,
  )
})
