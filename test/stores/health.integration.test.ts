import mysql from 'mysql2/promise'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import type { RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import { createMysqlStore } from '../../packages/tokenlib/src/stores/mysql.js'
import { createPostgresStore } from '../../packages/tokenlib/src/stores/postgres.js'
import { createRedisStore } from '../../packages/tokenlib/src/stores/redis.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { SECRET } from '../helpers/manager.js'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { startMysql } from '../helpers/servers/start-mysql.js'
import { startPostgres } from '../helpers/servers/start-postgres.js'
import { start } from './redis-fixture.js'

const openRedis = async (): Promise<{ server: RunningServer; store: RevocationStore }> => {
  const { server, client } = await start()
  return { server, store: createRedisStore(client) }
}

const openPostgres = async (): Promise<{ server: RunningServer; store: RevocationStore }> => {
  const server = await startPostgres()
  onTestFinished(() => server.stop())
  const pool = new pg.Pool({ connectionString: server.url, max: 4 }).on('error', () => undefined)
  onTestFinished(() => pool.end())
  const store = createPostgresStore(pool)
  await store.migrate()
  return { server, store }
}

const openMysql = async (): Promise<{ server: RunningServer; store: RevocationStore }> => {
  const server = await startMysql()
  onTestFinished(() => server.stop())
  const pool = mysql.createPool(server.url)
  onTestFinished(() => pool.end())
  const store = createMysqlStore(pool)
  await store.migrate()
  return { server, store }
}

const createManager = (store: RevocationStore): TokenManager =>
  new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_REVOCATION_TIMEOUT: '1s' }),
    store,
  })

const DOWN = { status: 'down', canCheck: false, canWrite: false, error: expect.any(Error) as Error }
const DEGRADED = { status: 'degraded', canCheck: true, canWrite: false, error: expect.any(Error) as Error }
const UP = { status: 'up', canCheck: true, canWrite: true, error: null }
const PATIENT = { timeout: 30_000, interval: 100 }

for (const [kind, open] of [
  ['redis', openRedis],
  ['postgres', openPostgres],
  ['mysql', openMysql],
] as const) {
  describeWithOwnServer(kind, `health of a manager whose ${kind} is gone, without a replica`, () => {
    test('it can do nothing', async () => {
      const { server, store } = await open()
      const tokens = createManager(store)
      await tokens.ready()
      expect(await tokens.health()).toMatchObject({ ...UP, replica: null })
      await server.kill('SIGSTOP')
      try {
        expect(await tokens.health()).toMatchObject({ ...DOWN, replica: null })
      } finally {
        await server.kill('SIGCONT')
      }
      await vi.waitFor(async () => expect(await tokens.health()).toMatchObject(UP), PATIENT)
    }, 60_000)
  })
}

// How a copy gets old does not depend on the store.
describeWithOwnServer('redis', 'health of a manager whose redis is gone, with a replica', () => {
  test('it can check tokens for as long as the copy is fresh', async () => {
    const { server, store } = await openRedis()
    const replicated = replicate(store, { bound: '5s' })
    onTestFinished(() => replicated.close())
    const tokens = createManager(replicated)
    await tokens.ready()
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    expect(await tokens.health()).toMatchObject({ ...UP, replica: { isFresh: true } })

    await server.kill('SIGSTOP')
    try {
      expect(await tokens.health()).toMatchObject({ ...DEGRADED, replica: { isFresh: true } })
      await tokens.verify(accessToken)
      const refused = { code: 'REVOCATION_UNAVAILABLE' }
      await expect(tokens.sessions.open({ uid: 'ada' })).rejects.toMatchObject(refused)
      await vi.waitFor(async () => expect(await tokens.health()).toMatchObject(DOWN), PATIENT)
      await expect(tokens.verify(accessToken)).rejects.toMatchObject(refused)
    } finally {
      await server.kill('SIGCONT')
    }
    await vi.waitFor(async () => expect(await tokens.health()).toMatchObject(UP), PATIENT)
    await tokens.sessions.open({ uid: 'ada' })
  }, 90_000)
})

describeWithOwnServer('postgres', 'a PostgreSQL that only reads', () => {
  test('checks tokens, and takes no logins', async () => {
    const server = await startPostgres()
    onTestFinished(() => server.stop())
    const pool = new pg.Pool({ connectionString: server.url }).on('error', () => undefined)
    onTestFinished(() => pool.end())
    const store = createPostgresStore(pool)
    await store.migrate()
    const tokens = createManager(store)
    await tokens.ready()
    await pool.query('alter system set default_transaction_read_only = on')
    await pool.query('select pg_reload_conf()')
    await vi.waitFor(async () => expect(await tokens.health()).toMatchObject(DEGRADED), PATIENT)
  })
})
