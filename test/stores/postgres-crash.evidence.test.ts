import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createPostgresStore, type PostgresClient, type PostgresStore } from 'tokenlib/postgres'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import { type RunningPostgres, runSql, startPostgres } from '../helpers/servers/start-postgres.js'

const NEEDS = { longestLifetime: 3_600_000 }
const FOREVER = Number.MAX_SAFE_INTEGER
const PATIENTLY = { timeout: 20_000 }
const WRONG = { code: 'CONFIGURATION_INVALID' }

const token = (id: string) => ({ kind: 'token', id, notBefore: FOREVER, until: FOREVER }) as const

/** Revokes until it is told to end; failures are what the tests are about. */
function revokeOn(store: PostgresStore, name: string) {
  const acknowledged: string[] = []
  let failures = 0
  const ending = new AbortController()
  const running = (async () => {
    for (let at = 0; !ending.signal.aborted; at++) {
      const id = `${name}-${at}`
      await store.revoke([token(id)]).then(
        () => acknowledged.push(id),
        // A client may reject at once, and then nobody else would ever get a turn.
        () => pause(20, failures++),
      )
    }
  })()
  return {
    acknowledged,
    failures: () => failures,
    async end() {
      ending.abort()
      await running
    },
  }
}

const CLIENTS: Record<string, (url: string) => [PostgresClient, () => Promise<void>]> = {
  'a Pool of pg': (connectionString) => {
    const pool = new pg.Pool({ connectionString }).on('error', () => undefined)
    // Without a listener, the loss of an idle connection ends the process.
    pool.on('error', () => undefined)
    return [pool, () => pool.end()]
  },
  'sql of postgres': (url) => {
    // With fetch_types, a connection that is lost while it begins ends the process:
    // https://github.com/porsager/postgres/issues/1192
    const sql = postgres(url, { fetch_types: false, backoff: () => 0.1, onnotice: () => undefined })
    return [sql, () => sql.end({ timeout: 1 })]
  },
}

describeWithOwnServer('postgres', 'a PostgreSQL that fails', () => {
  let server: RunningPostgres
  let url: string
  beforeAll(async () => {
    server = await startPostgres()
    url = await server.createDatabase()
  }, 60_000)
  afterAll(() => server.stop())

  for (const [name, connect] of Object.entries(CLIENTS)) {
    const ends: (() => Promise<void>)[] = []
    afterEach(async () => {
      for (const end of ends.splice(0)) await end()
    })
    const open = async (namespace: string): Promise<PostgresStore> => {
      const [client, end] = connect(url)
      ends.push(end)
      const store = createPostgresStore(client, { namespace })
      await store.migrate()
      await store.prepare(NEEDS)
      return store
    }
    const expectAll = async (store: PostgresStore, ids: readonly string[]): Promise<void> => {
      expect(ids.length).toBeGreaterThan(0)
      const found = await store.lookup(ids.map(token))
      expect(ids.filter((_, at) => found[at] !== FOREVER)).toEqual([])
    }

    test(`keeps what was acknowledged over immediate stops, through ${name}`, async () => {
      const store = await open(`stops ${name}`)
      const ids: string[] = []
      for (const round of [1, 2, 3]) {
        const writers = Array.from({ length: 5 }, (_, at) => revokeOn(store, `${round}-${at}`))
        await expect
          .poll(() => writers.every(({ acknowledged }) => acknowledged.length > 5), PATIENTLY)
          .toBe(true)
        await server.kill('SIGQUIT')
        await expect.poll(() => writers.every(({ failures }) => failures() > 0), PATIENTLY).toBe(true)
        await expect(store.lookup([token('x')])).rejects.toThrow()
        await server.restart()
        const counts = writers.map(({ acknowledged }) => acknowledged.length)
        await expect
          .poll(
            () => writers.every(({ acknowledged }, at) => acknowledged.length > counts[at]! + 2),
            PATIENTLY,
          )
          .toBe(true)
        await Promise.all(writers.map((writer) => writer.end()))
        ids.push(...writers.flatMap(({ acknowledged }) => acknowledged))
        await expectAll(store, ids)
      }
      expect(await store.lookup([{ kind: 'all', id: '' }])).toEqual([undefined])
    }, 120_000)

    test(`rejects when its connections are cut, and goes on, through ${name}`, async () => {
      const store = await open(`cuts ${name}`)
      const writers = Array.from({ length: 5 }, (_, at) => revokeOn(store, String(at)))
      const cut = () =>
        runSql(
          server.url,
          `select pg_terminate_backend(pid) from pg_stat_activity where backend_type =
          'client backend' and pid <> pg_backend_pid()`,
        )
      while (!writers.every(({ failures }) => failures() > 1)) await cut()
      const counts = writers.map(({ acknowledged }) => acknowledged.length)
      await expect
        .poll(() => writers.every(({ acknowledged }, at) => acknowledged.length > counts[at]! + 2), PATIENTLY)
        .toBe(true)
      await Promise.all(writers.map((writer) => writer.end()))
      await expectAll(
        store,
        writers.flatMap(({ acknowledged }) => acknowledged),
      )
    })
  }
})

describeWithOwnServer('postgres', 'a PostgreSQL that is careless', () => {
  test.each(['fsync', 'full_page_writes'])('is refused with %s off', async (setting) => {
    const server = await startPostgres({ [setting]: 'off' })
    const pool = new pg.Pool({ connectionString: server.url }).on('error', () => undefined)
    await createPostgresStore(pool).migrate()
    await expect(createPostgresStore(pool).prepare(NEEDS)).rejects.toMatchObject(WRONG)
    await createPostgresStore(pool, { allowVolatile: true }).prepare(NEEDS)
    await pool.end()
    await server.stop()
  })
})
