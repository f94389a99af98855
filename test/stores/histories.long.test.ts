import { Redis } from 'ioredis'
import mysql from 'mysql2/promise'
import pg from 'pg'
import { createMemoryStore } from 'tokenlib/memory'
import { createMysqlStore } from 'tokenlib/mysql'
import { createPostgresStore } from 'tokenlib/postgres'
import { createRedisStore } from 'tokenlib/redis'
import { createSqliteStore } from 'tokenlib/sqlite'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createId, systemRandom } from '../../packages/tokenlib/src/tokens/ids.js'
import { type Clock, FOREVER, type RevocationStore } from '../../packages/tokenlib/src/kit.js'
import {
  describeWithOwnServer,
  describeWithMysql,
  describeWithPostgres,
  describeWithRedis,
} from '../helpers/servers/describe-with-servers.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { startWorkerd } from '../helpers/servers/start-workerd.js'
import { WORKERS } from './durable-objects/workers.js'
import { CLIENTS, createFolder } from './sqlite-fixture.js'
import { checkHistories, type RunHistory } from './histories/check-histories.js'
import type { HistoryStore } from './histories/reference-store.js'
import { createHistoryClock, runHistory, type Tally } from './histories/run-history.js'

const STEPS = Number(process.env['HISTORY_STEPS'] ?? 2000)

describe('a store in memory', () => {
  testHistories(async () => {
    const clock = createHistoryClock(Date.now())
    const store = await prepare(createMemoryStore({ clock: clock.now }))
    return (history) => runHistory({ stores: [store, store], clock }, history)
  })
})

for (const [name, openDatabase] of Object.entries(CLIENTS)) {
  describe(`a store on ${name}`, () => {
    const folder = createFolder(openDatabase)
    afterAll(() => folder.remove())
    testHistories(openTwice((place, clock) => createSqliteStore(folder.open(place), { clock })))
  })
}

describeWithRedis('a store on Redis', (url) => {
  const client = new Redis(url)
  afterAll(() => client.disconnect())
  testHistories(openTwice((namespace, clock) => createRedisStore(client, { namespace, clock })))
})

describeWithPostgres('a store on PostgreSQL', (url) => {
  const client = new pg.Pool({ connectionString: url }).on('error', () => undefined)
  beforeAll(() => createPostgresStore(client).migrate())
  afterAll(() => client.end())
  testHistories(openTwice((namespace, clock) => createPostgresStore(client, { namespace, clock })))
})

describeWithMysql('a store on MariaDB', (url) => {
  const client = mysql.createPool(url)
  beforeAll(() => createMysqlStore(client).migrate())
  afterAll(() => client.end())
  testHistories(openTwice((namespace, clock) => createMysqlStore(client, { namespace, clock })))
})

describeWithOwnServer('workerd', 'a store in Durable Objects', () => {
  let server: RunningServer
  beforeAll(async () => void (server = await startWorkerd(WORKERS)), 60_000)
  afterAll(() => server.stop())
  testHistories((place) => async (history) => {
    const body = JSON.stringify({ place, history })
    const response = await fetch(`${server.url}/history`, { method: 'POST', body })
    const { value, error } = (await response.json()) as { value?: Tally; error?: { message: string } }
    if (value === undefined) throw new Error(error?.message)
    return value
  })
})

// `HISTORY_SEED` repeats the histories of an earlier run.
function testHistories(openPlace: (place: string) => RunHistory | Promise<RunHistory>): void {
  const seed = Number(process.env['HISTORY_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
  test(`answers as the rule does, in ${STEPS} steps of random histories from seed ${seed} on`, async () => {
    const tally = await checkHistories(async () => openPlace(createPlaceName()), { steps: STEPS, seed })
    // Otherwise the histories would not show much.
    expect(Object.keys(tally)).toEqual(expect.arrayContaining(OUTCOMES))
  }, 1_800_000)
}

const OUTCOMES = ['repeated', 'kept', 'advanced', 'superseded', 'reused', 'ended', 'opened', 'full']

// Letters and digits only: a place may become a file, a schema or a part of a key.
function createPlaceName(): string {
  const id = createId(systemRandom).replaceAll(/[^a-z0-9]/gi, '')
  return `test${id.toLowerCase()}`
}

// As two processes would have them.
function openTwice(
  open: (place: string, clock: Clock) => RevocationStore,
): (place: string) => Promise<RunHistory> {
  return async (place) => {
    const clock = createHistoryClock(Date.now())
    const stores = [await prepare(open(place, clock.now)), await prepare(open(place, clock.now))] as const
    return (history) => runHistory({ stores, clock }, history)
  }
}

async function prepare(store: RevocationStore): Promise<HistoryStore> {
  onTestFinished(() => store.close())
  await store.prepare({ longestLifetime: FOREVER })
  return store as HistoryStore
}
