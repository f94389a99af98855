import pg from 'pg'
import postgres from 'postgres'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createPostgresStore, migrationSql, type PostgresClient } from 'tokenlib/postgres'
import { describeWithPostgres } from '../helpers/servers/describe-with-servers.js'
import { childOf, firstToken } from '../../packages/contracts/src/store-fixture.js'

const FOREVER = Number.MAX_SAFE_INTEGER
const NEEDS = { longestLifetime: 3_600_000 }
const ALL = { kind: 'all', id: '' } as const
const REVOKE_ALL = { ...ALL, notBefore: 0, until: 0 }
const RULES = { graceMs: 0, idleMs: FOREVER, ip: null, userAgent: null }
const LIST = { limit: 10, before: null, idleMs: FOREVER }
const LOGIN = { user: 'ada', expiresAt: FOREVER, until: FOREVER, ip: null, userAgent: null }
const TABLES = ['version', 'heads', 'revocations', 'sessions', 'spent'].map((name) => `tokenlib_${name}`)

let nonces = 0
const login = () => ({ ...LOGIN, nonce: String(++nonces).padStart(14, 'n') })

// A pool of one connection: whatever an application leaves behind on it, the next statement of a store finds.
describeWithPostgres('a connection whose settings somebody has changed', (url) => {
  let pool: pg.Pool
  let names = 0
  beforeEach(async () => {
    pool = new pg.Pool({ connectionString: url, max: 1 }).on('error', () => undefined)
    onTestFinished(() => pool.end())
    await createPostgresStore(pool).migrate()
  })

  /** A store of its own in a schema of its own, and one of its sessions. */
  const openTenant = async (client: PostgresClient = pool, namespace = `tenant ${++names}`) => {
    const schema = `tenant_${++names}`
    const store = createPostgresStore(client, { schema, namespace })
    await store.migrate()
    await store.prepare(NEEDS)
    const { sid } = await store.sessions!.open(login())
    return { schema, namespace, store, sid }
  }

  const openDefault = async (namespace: string, client: PostgresClient = pool) => {
    const store = createPostgresStore(client, { namespace })
    await store.prepare(NEEDS)
    const { sid } = await store.sessions!.open(login())
    return { store, sid }
  }

  test.each(['pg', 'pg with named statements', 'postgres'])(
    'revokes nothing in the tables of another tenant: %s',
    async (kind) => {
      const sql = postgres(url, { max: 1, fetch_types: false })
      onTestFinished(() => sql.end())
      const client = kind === 'postgres' ? sql : pool
      const tenant = await openTenant(client, 'shared')
      const store = createPostgresStore(client, {
        namespace: 'shared',
        namedStatements: kind === 'pg with named statements',
      })
      await store.prepare(NEEDS)
      const { sid } = await store.sessions!.open(login())

      const leak = `set search_path = ${tenant.schema}`
      await (kind === 'postgres' ? sql.unsafe(leak) : pool.query(leak))
      await store.revoke([REVOKE_ALL])

      expect(await tenant.store.lookup([ALL])).toEqual([undefined])
      expect(await tenant.store.sessions!.rotate(tenant.sid, firstToken(tenant.sid), RULES)).toMatchObject({
        outcome: 'advanced',
      })
      expect(await store.lookup([ALL])).toEqual([expect.any(Number)])
      expect(await store.sessions!.rotate(sid, firstToken(sid), RULES)).toMatchObject({ outcome: 'ended' })
    },
  )

  test('checks tokens by its own tables, not by temporary ones of the same names', async () => {
    const { store, sid } = await openDefault('temporary')
    const token = { kind: 'token', id: 'stolen', notBefore: FOREVER, until: FOREVER } as const
    // The copies are from before the revocation, so they would say that nothing is revoked.
    for (const name of TABLES) {
      await pool.query(`create temp table ${name} (like public.${name} including all)`)
      await pool.query(`insert into pg_temp.${name} select * from public.${name}`)
    }
    await store.revoke([token])
    await pool.query('delete from pg_temp.tokenlib_revocations where kind = $1', ['token'])

    expect(await store.lookup([token])).toEqual([FOREVER])
    expect(await store.sessions!.rotate(sid, firstToken(sid), RULES)).toMatchObject({ outcome: 'advanced' })
    const { rows } = await pool.query('select generation from public.tokenlib_sessions where sid = $1', [sid])
    expect(rows).toEqual([{ generation: '1' }])
  })

  test('calls no function and uses no type of another schema', async () => {
    await pool.query(HOSTILE)
    // Named before pg_catalog, so that its functions are found first. Types of temporary tables always are.
    await pool.query('set search_path = hostile, pg_catalog, public')
    for (const name of ['text', 'json', 'regclass', 'oid']) await pool.query(`create temp table "${name}" ()`)

    const store = createPostgresStore(pool, { namespace: 'hostile', schema: 'besieged' })
    await store.migrate()
    await store.prepare(NEEDS)
    const sessions = store.sessions!
    const { sid, startedAt } = await sessions.open(login())
    expect(Math.abs(startedAt - Date.now())).toBeLessThan(60_000)
    const limited = await sessions.openLimited!(login(), { max: 1, whenFull: 'endOldest', idleMs: FOREVER })
    expect(limited).toMatchObject({ outcome: 'opened', ended: [sid] })
    const other = await sessions.open(login())
    const token = firstToken(other.sid)
    expect(await sessions.rotate(other.sid, token, RULES)).toMatchObject({ outcome: 'advanced' })
    expect(await sessions.present(other.sid, token, RULES)).toEqual({ outcome: 'current' })
    expect((await sessions.list('ada', LIST)).map((found) => found.sid)).toContain(other.sid)
    expect(await sessions.get(sid, RULES)).toBeNull()
    const key = { kind: 'token', id: 'x' } as const
    await store.revoke([{ ...key, notBefore: FOREVER, until: FOREVER }])
    await store.revoke([{ kind: 'user', id: 'ada', notBefore: 0, until: 0 }])
    await store.restore!([{ ...key, notBefore: FOREVER, until: FOREVER }])
    expect(await store.lookup([key])).toEqual([FOREVER])
    expect(await sessions.rotate(other.sid, childOf(token, startedAt), RULES)).toMatchObject({
      outcome: 'ended',
    })
    const { entries } = await store.feed(null, { waitMs: 0 })
    expect(entries.map(({ kind }) => kind).toSorted()).toEqual(['session', 'token', 'user'])
    expect(await store.prune(10)).toBe(0)
  })

  test('gets its tables in public, whatever the search_path is', async () => {
    const schema = `elsewhere_${++names}`
    await pool.query(`create schema ${schema}`)
    await pool.query(`set search_path = ${schema}`)
    await pool.query(migrationSql({ prefix: 'placed_' }))
    await createPostgresStore(pool, { prefix: 'placed_' }).prepare(NEEDS)
    const { rows } = await pool.query(
      `select distinct schemaname from pg_tables where tablename like 'placed\\_%'`,
    )
    expect(rows).toEqual([{ schemaname: 'public' }])
  })
})

// Functions with the names and exact types of those in pg_catalog; each call fails.
const HOSTILE = `create schema hostile;
do $do$
declare
  found record;
begin
  for found in
    select p.proname as name, pg_catalog.pg_get_function_identity_arguments(p.oid) as arguments,
      pg_catalog.pg_get_function_result(p.oid) as result
    from pg_catalog.pg_proc p
    where p.pronamespace = 'pg_catalog'::pg_catalog.regnamespace and p.prokind = 'f' and p.provariadic = 0
      and p.proname in ('clock_timestamp', 'pg_is_in_recovery', 'floor', 'abs', 'substr', 'to_hex', 'translate', 'encode',
        'int8send', 'pg_notify', 'hashtextextended', 'pg_try_advisory_xact_lock', 'pg_advisory_xact_lock',
        'json_array_elements', 'pg_walfile_name', 'pg_current_wal_lsn', 'pg_postmaster_start_time',
        'pg_current_xact_id', 'current_setting', 'to_regclass', 'to_regnamespace', 'pg_get_indexdef')
      and pg_catalog.pg_get_function_identity_arguments(p.oid) !~ 'any|OUT'
  loop
    execute pg_catalog.format('create function hostile.%I(%s) returns %s language plpgsql as $f$ begin
      raise exception ''hostile.%s was called''; end $f$', found.name, found.arguments, found.result, found.name);
  end loop;
end $do$`
