import pg from 'pg'
import { createPostgresStore, migrationSql } from 'tokenlib/postgres'
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { describeWithOwnServer, describeWithPostgres } from '../../helpers/servers/describe-with-servers.js'
import { startPostgres } from '../../helpers/servers/start-postgres.js'
import { type DoctorRun, runDoctor } from './run-doctor.js'

const LATER = 4_102_444_800_000

describeWithPostgres('doctor and a PostgreSQL server', (url) => {
  let pool: pg.Pool

  const check = (address = url, ...args: string[]): Promise<DoctorRun> =>
    runDoctor(['--json', '--store', address, ...args])

  beforeAll(() => {
    pool = new pg.Pool({ connectionString: url }).on('error', () => undefined)
  })
  beforeEach(async () => {
    const store = createPostgresStore(pool)
    await store.migrate()
    await store.prepare({ longestLifetime: 60_000 })
    await store.close()
  })
  afterEach(async () => {
    await pool.query(
      'drop table if exists tokenlib_version, tokenlib_heads, tokenlib_revocations, tokenlib_sessions, tokenlib_spent',
    )
  })
  afterAll(() => pool.end())

  let roles = 0

  /** A role of its own with some settings and rights, and its address. */
  async function createRole(...statements: string[]): Promise<string> {
    const role = `doctor_${process.pid}_${++roles}`
    await pool.query(`create role ${role} login password 'hunter2-of-postgres'`)
    onTestFinished(async () => {
      await pool.query(`drop owned by ${role}`)
      await pool.query(`drop role ${role}`)
    })
    for (const statement of statements) await pool.query(statement.replaceAll('ROLE', role))
    const address = new URL(url)
    address.username = role
    address.password = 'hunter2-of-postgres'
    return address.href
  }

  const GRANTS = [
    'grant select, insert, update, delete on tokenlib_heads, tokenlib_revocations, tokenlib_sessions, tokenlib_spent to ROLE',
    'grant select on tokenlib_version to ROLE',
  ]

  async function readHeads(): Promise<unknown> {
    return (await pool.query('select * from tokenlib_heads')).rows
  }

  test('that is set up well has nothing to fix, and nothing is written', async () => {
    const before = await readHeads()
    const address = await createRole(...GRANTS, "alter role ROLE set statement_timeout = '5s'")
    const { exitCode, document, levels, output } = await check(address)
    expect(document.findings.filter(({ level }) => level === 'error')).toEqual([])
    expect(exitCode).toBe(0)
    expect(levels).toMatchObject({
      'postgres-version': 'ok',
      'postgres-standby': 'ok',
      'postgres-durability': 'ok',
      'postgres-isolation': 'ok',
      'postgres-tables': 'ok',
      'postgres-indexes': 'ok',
      'postgres-unlogged': 'ok',
      'postgres-vacuum': 'ok',
      'postgres-timeout': 'ok',
      'postgres-connections': 'ok',
      'store-accepted': 'ok',
      'store-writable': 'ok',
      'store-history': 'ok',
      'store-pruning': 'ok',
      'store-latency': 'ok',
      'store-clock': 'ok',
    })
    expect(document.store).toMatchObject({ kind: 'postgres', latency: { samples: 20 } })
    expect(output).not.toContain('hunter2')
    expect(await readHeads()).toEqual(before)
  })

  test.each([
    ['postgres-durability', "alter role ROLE set synchronous_commit = 'off'", 'synchronous_commit'],
    [
      'postgres-isolation',
      "alter role ROLE set default_transaction_isolation = 'serializable'",
      'serializable',
    ],
    ['store-writable', 'revoke delete on tokenlib_sessions from ROLE', 'delete on tokenlib_sessions'],
    ['store-writable', 'revoke select on tokenlib_version from ROLE', 'select on tokenlib_version'],
  ])('%s is found, once, after %s', async (id, statement, words) => {
    const { document, find, exitCode } = await check(await createRole(...GRANTS, statement))
    expect(find(id)?.title).toContain(words)
    expect(document.findings.filter(({ level }) => level === 'error').map((finding) => finding.id)).toEqual([
      id,
    ])
    expect(exitCode).toBe(1)
  })

  test.each([
    ['postgres-unlogged', 'error', 'alter table tokenlib_sessions set unlogged'],
    ['postgres-indexes', 'error', 'DROP change'],
    ['postgres-indexes', 'error', 'INVALID change'],
    ['postgres-indexes', 'error', 'alter table tokenlib_heads drop constraint tokenlib_heads_pkey'],
    ['postgres-vacuum', 'warning', 'alter table tokenlib_sessions set (autovacuum_enabled = false)'],
    ['postgres-tables', 'error', 'drop table tokenlib_sessions'],
    ['postgres-timeout', 'note', 'select 1'],
    ['store-history', 'note', 'truncate tokenlib_heads, tokenlib_revocations'],
    ['store-history', 'error', 'truncate tokenlib_revocations'],
  ])('%s is found as %s after: %s', async (id, level, statement) => {
    const [word = '', part] = statement.split(' ')
    if (word === 'DROP' || word === 'INVALID') {
      const { rows } = await pool.query<{ name: string }>(
        `select indexrelid::regclass::text as name from pg_index
         where indrelid = 'tokenlib_revocations'::regclass and pg_get_indexdef(indexrelid) like '%''${part} ''%'`,
      )
      const name = rows[0]?.name
      await pool.query(
        word === 'DROP'
          ? `drop index ${name}`
          : `update pg_index set indisvalid = false where indexrelid = '${name}'::regclass`,
      )
    } else {
      await pool.query(statement)
    }
    expect((await check()).levels[id]).toBe(level)
  })

  test('the index that is missing can be created by the statement in the finding', async () => {
    await pool.query(`do $$ declare name regclass; begin
      for name in select indexrelid from pg_index where indrelid = 'tokenlib_sessions'::regclass and not indisprimary
      loop execute 'drop index ' || name; end loop; end $$`)
    const created: string[] = []
    for (let finding = (await check()).find('postgres-indexes'); finding?.level === 'error';) {
      created.push(finding.fix.replace(/^Run on \S+: /, ''))
      await pool.query(created.at(-1) as string)
      finding = (await check()).find('postgres-indexes')
    }
    expect(created).toHaveLength(3)
  })

  test('tables of an older version, and no tables at all, are errors that say how to migrate', async () => {
    await pool.query(
      'drop table tokenlib_version, tokenlib_heads, tokenlib_revocations, tokenlib_sessions, tokenlib_spent',
    )
    const { find, exitCode } = await check()
    expect(find('postgres-tables')).toMatchObject({ level: 'error' })
    expect(exitCode).toBe(1)
    await pool.query(migrationSql())
    expect((await check()).levels['postgres-tables']).toBe('ok')
    await pool.query('update tokenlib_version set version = 0')
    expect((await check()).find('postgres-tables')?.title).toContain('version 0')
    await pool.query('update tokenlib_version set version = 1')
  })

  test('a server that stops answering is an error, in addition to what is wrong with the configuration', async () => {
    const client = await pool.connect()
    await client.query('begin; lock table tokenlib_heads in access exclusive mode')
    const { exitCode, levels } = await runDoctor(['--json', '--store', url, '--timeout', '500ms'], {
      JWT_SECRET_KEY: 'secret',
    })
    await client.query('rollback')
    client.release()
    expect(exitCode).toBe(3)
    expect(levels).toMatchObject({ 'store-reachable': 'error', 'secret-strength': 'error' })
  })

  test('expired rows are counted', async () => {
    await pool.query(`insert into tokenlib_revocations (not_before, until, change, namespace, kind, id)
      select 0, 1000, n, '', 'token', 'x' || n from generate_series(1, 100000) n`)
    expect((await check()).levels['store-pruning']).toBe('warning')
  })

  test('a replica of a process becomes fresh and is woken, without a change of the data', async () => {
    const store = createPostgresStore(pool)
    await store.prepare({ longestLifetime: 60_000 })
    await store.revoke([{ kind: 'token', id: 'a', notBefore: Number.MAX_SAFE_INTEGER, until: LATER }])
    await store.close()
    const before = await readHeads()
    const { levels, document } = await check(url, '--replica')
    expect(levels).toMatchObject({ 'replica-fresh': 'ok', 'replica-wakeups': 'ok' })
    expect(document.replica).toMatchObject({ entries: 1, isWoken: true })
    expect(await readHeads()).toEqual(before)
  })
})

describeWithOwnServer('postgres', 'doctor and PostgreSQL servers of its own', () => {
  test('a server without fsync, and a standby, are found', async () => {
    const server = await startPostgres({ fsync: 'off', full_page_writes: 'off' })
    onTestFinished(() => server.stop())
    const pool = new pg.Pool({ connectionString: server.url }).on('error', () => undefined)
    await createPostgresStore(pool).migrate()
    await pool.end()
    const primary = await runDoctor(['--json', '--store', server.url])
    expect(primary.find('postgres-durability')?.title).toContain('fsync and full_page_writes')
    const standby = await startPostgres({}, server.url)
    onTestFinished(() => standby.stop())
    const { levels, exitCode } = await runDoctor(['--json', '--store', standby.url])
    expect(levels['postgres-standby']).toBe('error')
    expect(exitCode).toBe(1)
    expect((await runDoctor(['--json', '--store', server.url])).levels['postgres-failover']).toBe('note')
    await server.kill()
    expect((await runDoctor(['--json', '--store', server.url])).exitCode).toBe(3)
  })
})
