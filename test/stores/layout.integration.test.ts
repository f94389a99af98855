import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import mysql from 'mysql2/promise'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTokens, PATIENT } from '../faults/harness/place.js'
import {
  describeWithMysql,
  describeWithPostgres,
  describeWithRedis,
} from '../helpers/servers/describe-with-servers.js'
import type { RevocationStore } from '../../packages/tokenlib/src/index.js'
import { createMysqlStore } from '../../packages/tokenlib/src/stores/mysql.js'
import { createPostgresStore } from '../../packages/tokenlib/src/stores/postgres.js'
import { createRedisStore } from '../../packages/tokenlib/src/stores/redis.js'
import { createSqliteStore } from '../../packages/tokenlib/src/stores/sqlite.js'
import { createFolder } from './sqlite-fixture.js'

const FOREVER = Number.MAX_SAFE_INTEGER

/** A store whose data can be marked as that of a later release. */
interface MarkedStore {
  /** A store on the same data, as a process that starts makes it. */
  open(): RevocationStore
  mark(version: number): Promise<void>
  readMark(): Promise<number>
}

function testNewerData(create: () => Promise<MarkedStore>): void {
  test('data of a newer release is refused, and keeps its version', async () => {
    const marked = await create()
    const before = createTokens(marked.open(), PATIENT)
    await before.ready()
    const { accessToken } = await before.sessions.open({ uid: 'ada' })
    await marked.mark(99)

    const tokens = createTokens(marked.open(), PATIENT)
    await expect(tokens.ready()).rejects.toMatchObject({
      code: 'CONFIGURATION_INVALID',
      message: expect.stringMatching(/version 99.*version 1/) as string,
    })
    await expect(tokens.verify(accessToken)).rejects.toMatchObject({ code: 'REVOCATION_UNAVAILABLE' })
    expect(await marked.readMark()).toBe(99)
  })
}

describeWithRedis('versions of the data in Redis', (url) => {
  const redis = new Redis(url, { lazyConnect: true })
  afterAll(() => redis.disconnect())
  testNewerData(async () => {
    const namespace = randomUUID()
    const meta = `{tokenlib:${namespace}}:meta`
    return {
      open: () => createRedisStore(redis, { namespace }),
      mark: async (version) => void (await redis.hset(meta, 'version', version)),
      readMark: async () => Number(await redis.hget(meta, 'version')),
    }
  })
})

describeWithPostgres('versions of the tables in PostgreSQL', (url) => {
  let pool: pg.Pool
  beforeAll(() => void (pool = new pg.Pool({ connectionString: url })))
  afterAll(() => pool.end())
  testNewerData(async () => {
    const prefix = `t${randomUUID().replaceAll('-', '').slice(0, 20)}_`
    const open = (): ReturnType<typeof createPostgresStore> => createPostgresStore(pool, { prefix })
    await open().migrate()
    return {
      open,
      async mark(version) {
        await pool.query(`update ${prefix}version set version = $1`, [version])
        // As every process does at its start: it leaves newer tables as they are.
        await open().migrate()
      },
      async readMark() {
        const { rows } = await pool.query<{ version: number }>(`select version from ${prefix}version`)
        return rows[0]!.version
      },
    }
  })
})

describeWithMysql('versions of the tables in MariaDB', (url) => {
  let pool: mysql.Pool
  beforeAll(() => void (pool = mysql.createPool(url)))
  afterAll(() => pool.end())
  testNewerData(async () => {
    const prefix = `t${randomUUID().replaceAll('-', '').slice(0, 20)}_`
    const open = (): ReturnType<typeof createMysqlStore> => createMysqlStore(pool, { prefix })
    await open().migrate()
    return {
      open,
      async mark(version) {
        await pool.query(`update ${prefix}version set version = ${version}`)
        await open().migrate()
      },
      async readMark() {
        const [rows] = await pool.query<mysql.RowDataPacket[]>(`select version from ${prefix}version`)
        return rows[0]?.['version'] as number
      },
    }
  })
})

describe('versions of the tables in SQLite', () => {
  const folder = createFolder()
  afterAll(() => folder.remove())
  testNewerData(async () => {
    const database = folder.open('layout.db')
    return {
      open: () => createSqliteStore(folder.open('layout.db')),
      mark: async (version) => database.exec(`UPDATE tokenlib_meta SET version = ${version}`),
      async readMark() {
        const row = database.prepare('SELECT version FROM tokenlib_meta').get()
        return (row as { readonly version: number }).version
      },
    }
  })

  test('tables of version 1 that keep no data of sessions get a column for it', async () => {
    const database = folder.open('without-data.db')
    const before = createSqliteStore(database)
    await before.prepare({ longestLifetime: 1000 })
    const session = { user: 'ada', expiresAt: FOREVER, until: FOREVER, ip: null, userAgent: null }
    const { sid } = await before.sessions!.open({ ...session, nonce: 'AAAAAAAAAAAAAA' })
    database.exec('ALTER TABLE tokenlib_sessions DROP COLUMN data')

    const stores = [folder.open('without-data.db'), folder.open('without-data.db')].map((handle) =>
      createSqliteStore(handle),
    )
    await Promise.all(stores.map((store) => store.prepare({ longestLifetime: 1000 })))
    expect(await stores[0]!.sessions!.get(sid, { idleMs: FOREVER })).toMatchObject({ data: null })
    expect(await stores[0]!.sessions!.writeData!(sid, '{}', null)).toBe(true)
    expect(await stores[1]!.sessions!.get(sid, { idleMs: FOREVER })).toMatchObject({ data: '{}' })
  })
})
