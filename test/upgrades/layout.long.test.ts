import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'
import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { RevocationStore, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createPostgresStore } from '../../packages/tokenlib/src/stores/postgres.js'
import { createRedisStore } from '../../packages/tokenlib/src/stores/redis.js'
import { createSqliteStore } from '../../packages/tokenlib/src/stores/sqlite.js'
import { createTokens, PATIENT } from '../faults/harness/place.js'
import { describeWithPostgres, describeWithRedis } from '../helpers/servers/describe-with-servers.js'

/** A store whose data can be marked as that of a later release. */
interface MarkedStore {
  /** A store on the same data, as a process that starts makes it. */
  open(): RevocationStore
  /** Writes the version, and the oldest version whose releases can use the data, unless it is null. */
  mark(version: number, oldest: number | null): Promise<void>
  readMark(): Promise<{ readonly version: number; readonly oldest: number | null }>
}

const createManager = (store: RevocationStore): TokenManager => createTokens(store, PATIENT)

function layoutTests(own: number, create: () => Promise<MarkedStore>): void {
  test('data that a newer release lets this one use is used, and keeps its version', async () => {
    const marked = await create()
    const before = createManager(marked.open())
    await before.ready()
    const { accessToken, refreshToken } = await before.createTokenPair({ uid: 'ada' })
    await marked.mark(99, own)

    const tokens = createManager(marked.open())
    await tokens.ready()
    const next = await tokens.refresh(refreshToken)
    await tokens.revokeUser('ada')
    for (const token of [accessToken, next.accessToken]) {
      await expect(tokens.verifyToken(token)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
    }
    expect(await marked.readMark()).toEqual({ version: 99, oldest: own })
  })

  test.each([null, own + 1])('data of a newer release is refused: oldest %s', async (oldest) => {
    const marked = await create()
    const before = createManager(marked.open())
    await before.ready()
    const { accessToken } = await before.createTokenPair({ uid: 'ada' })
    await marked.mark(99, oldest)

    const tokens = createManager(marked.open())
    await expect(tokens.ready()).rejects.toMatchObject({
      code: 'CONFIGURATION_INVALID',
      message: expect.stringMatching(new RegExp(`version 99.*version ${own}`)) as string,
    })
    await expect(tokens.verifyToken(accessToken)).rejects.toMatchObject({ code: 'REVOCATION_UNAVAILABLE' })
    expect(await marked.readMark()).toEqual({ version: 99, oldest })
  })
}

describeWithRedis('versions of the data in Redis', (url) => {
  const redis = new Redis(url, { lazyConnect: true })
  afterAll(() => redis.disconnect())
  layoutTests(1, async () => {
    const namespace = randomUUID()
    const meta = `{tokenlib:${namespace}}:meta`
    return {
      open: () => createRedisStore(redis, { namespace }),
      async mark(version, oldest) {
        await redis.hset(meta, 'version', version, ...(oldest === null ? [] : ['oldest', oldest]))
      },
      async readMark() {
        const [version, oldest] = await redis.hmget(meta, 'version', 'oldest')
        return { version: Number(version), oldest: oldest == null ? null : Number(oldest) }
      },
    }
  })
})

describeWithPostgres('versions of the tables in PostgreSQL', (url) => {
  let pool: pg.Pool
  beforeAll(() => void (pool = new pg.Pool({ connectionString: url })))
  afterAll(() => pool.end())
  layoutTests(3, async () => {
    const prefix = `t${randomUUID().replaceAll('-', '').slice(0, 20)}_`
    const store = (): ReturnType<typeof createPostgresStore> => createPostgresStore(pool, { prefix })
    await store().migrate()
    return {
      open: store,
      async mark(version, oldest) {
        await pool.query(`update ${prefix}version set version = $1, oldest = $2`, [version, oldest])
        // As every process does at its start: it leaves newer tables as they are.
        await store().migrate()
      },
      async readMark() {
        const { rows } = await pool.query<{ version: number; oldest: number | null }>(
          `select * from ${prefix}version`,
        )
        return rows[0]!
      },
    }
  })
})

describe('versions of the tables in SQLite', () => {
  let folder: string
  beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'tokenlib-layout-'))))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  layoutTests(1, async () => {
    const path = join(folder, `${randomUUID()}.db`)
    const connect = (): DatabaseSyncInstance => {
      const database = new DatabaseSync(path)
      onTestFinished(() => database.close())
      return database
    }
    return {
      open: () => createSqliteStore(connect()),
      async mark(version, oldest) {
        const database = connect()
        if (oldest !== null) database.exec('ALTER TABLE tokenlib_meta ADD COLUMN oldest INTEGER')
        const set = oldest === null ? '' : `, oldest = ${oldest}`
        database.exec(`UPDATE tokenlib_meta SET version = ${version}${set}`)
      },
      async readMark() {
        const row = connect().prepare('SELECT * FROM tokenlib_meta').get()
        const { version, oldest = null } = row as { version: number; oldest?: number | null }
        return { version, oldest }
      },
    }
  })
})
