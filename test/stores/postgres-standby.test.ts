import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createPostgresStore, type PgClient } from 'tokenlib/postgres'
import { firstToken } from '../../packages/contracts/src/store-fixture.js'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import { findPostgres } from '../helpers/servers/find-servers.js'
import { findFreePort } from '../helpers/servers/free-port.js'
import { createGuardedFolder, type GuardedFolder } from '../helpers/servers/guarded-folder.js'
import { type RunningPostgres, runSql, startPostgres } from '../helpers/servers/start-postgres.js'

const NEEDS = { longestLifetime: 3_600_000 }
const FOREVER = Number.MAX_SAFE_INTEGER
const RULES = { graceMs: 10_000, idleMs: FOREVER, ip: null, userAgent: null }
const LIST = { limit: 1000, before: null, idleMs: FOREVER }
const WRONG = { code: 'CONFIGURATION_INVALID' }
const PATIENTLY = { timeout: 20_000 }

const token = (id: string) => ({ kind: 'token', id, notBefore: FOREVER, until: FOREVER }) as const

describeWithOwnServer('postgres', 'a standby of PostgreSQL', () => {
  let primary: RunningPostgres
  let folder: GuardedFolder
  let standby: ChildProcess
  let ended: Promise<unknown>
  let standbyUrl: string
  beforeAll(async () => {
    primary = await startPostgres()
    const { uid, gid } = statSync(primary.folder)
    const programs = findPostgres()!
    folder = createGuardedFolder('tokenlib-standby-', 'QUIT', { uid, gid })
    const data = join(folder.path, 'data')
    const copy = ['-D', data, '-d', primary.url, '-R', '-c', 'fast', '--no-sync']
    const options = { uid, gid, cwd: folder.path }
    await promisify(execFile)(join(dirname(programs.psql), 'pg_basebackup'), copy, options)
    const port = String(await findFreePort())
    // A standby stops when the primary may have more connections.
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: folder.path,
      dynamic_shared_memory_type: 'mmap',
      max_connections: await runSql(primary.url, 'show max_connections'),
    }
    const configuration = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    standby = spawn(programs.postgres, ['-D', data, '-p', port, ...configuration], {
      ...options,
      detached: true,
      stdio: 'ignore',
    })
    ended = once(standby, 'exit')
    folder.watch(standby.pid ?? null)
    standbyUrl = `postgres://postgres@127.0.0.1:${port}/postgres`
    await vi.waitFor(() => runSql(standbyUrl, 'select 1'), PATIENTLY)
  }, 60_000)
  afterAll(async () => {
    standby.kill('SIGQUIT')
    await ended
    await folder.remove()
    await primary.stop()
  })

  test('is not taken for a store that lost its data, when a proxy sends it what only reads', async () => {
    const pools = [primary.url, standbyUrl].map((connectionString) =>
      new pg.Pool({ connectionString }).on('error', () => undefined),
    )
    const [writing, late] = pools as [pg.Pool, pg.Pool]
    let reading = writing
    const client: PgClient = {
      query(statement, values) {
        const isWrite = /insert|update|delete|create/.test(JSON.stringify(statement))
        return (isWrite ? writing : reading).query(statement, values)
      },
    }
    const store = createPostgresStore(client, { namespace: 'proxy' })
    await store.migrate()
    await store.prepare(NEEDS)
    const isThere = async () =>
      (await late.query(`select from tokenlib_heads where namespace = 'proxy'`)).rows.length > 0
    await expect.poll(() => isThere().catch(() => false), PATIENTLY).toBe(true)
    await late.query('select pg_wal_replay_pause()')
    const { position } = await store.revoke([token('a')])

    reading = late
    await expect(store.lookup([token('a')])).rejects.toThrow('standby')
    await expect(store.sessions!.list('ada', LIST)).rejects.toThrow('standby')
    await expect(store.sessions!.present('x', firstToken('x'), RULES)).rejects.toThrow('standby')
    await expect(store.feed(position, { waitMs: 0 })).rejects.toThrow('standby')
    reading = writing
    expect(await store.lookup([token('a'), { kind: 'all', id: '' }])).toEqual([FOREVER, undefined])
    await late.query('select pg_wal_replay_resume()')
    for (const pool of pools) await pool.end()
  })

  test('is refused until it is promoted, and then begins another history', async () => {
    const pools = [primary.url, standbyUrl].map((connectionString) =>
      new pg.Pool({ connectionString }).on('error', () => undefined),
    )
    const [current, next] = pools as [pg.Pool, pg.Pool]
    // As a name that is moved from one server to the other.
    const client: Pick<pg.Pool, 'query'> = { query: current.query.bind(current) }
    const store = createPostgresStore(client)
    await store.migrate()
    await store.prepare(NEEDS)
    const { position } = await store.revoke([token('a')])
    // Everything written so far, not only rows of another namespace that came earlier.
    const written = await runSql(primary.url, 'select pg_current_wal_lsn()')
    const hasReplayed = () => runSql(standbyUrl, `select pg_last_wal_replay_lsn() >= '${written}'::pg_lsn`)
    await expect.poll(hasReplayed, PATIENTLY).toBe('t')

    await expect(createPostgresStore(next).prepare(NEEDS)).rejects.toMatchObject(WRONG)
    client.query = next.query.bind(next)
    await expect(store.lookup([token('a')])).rejects.toThrow('standby')
    await expect(store.sessions!.list('ada', LIST)).rejects.toThrow('standby')
    for (const call of [
      () => store.revoke([token('b')]),
      () => store.feed(position, { waitMs: 0 }),
      () => store.sessions!.rotate('x', firstToken('x'), RULES),
      () => store.prune(10),
    ])
      await expect(call()).rejects.toThrow()

    await next.query('select pg_promote()')
    expect(await store.lookup([token('a'), { kind: 'all', id: '' }])).toEqual([FOREVER, undefined])
    expect((await store.feed(position, { waitMs: 0 })).reset).toBe(true)
    const start = await store.feed(null, { waitMs: 0 })
    expect(start.entries.map(({ id }) => id)).toEqual(['a'])
    expect((await store.feed(start.next, { waitMs: 0 })).reset).toBe(false)
    for (const pool of pools) await pool.end()
  })
})
