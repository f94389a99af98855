import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { FOREVER, type LostData, type Revocation, type RevocationStore } from 'tokenlib/kit'
import { createPostgresStore, type PostgresClient } from 'tokenlib/postgres'
import { replicate, type ReplicaOptions } from 'tokenlib/replica'
import { describeWithPostgres } from '../helpers/servers/describe-with-servers.js'

const HOUR = 3_600_000
const ALL = { kind: 'all', id: '' } as const
const CLIENTS = {
  'a Pool of pg': (connectionString: string) =>
    new pg.Pool({ connectionString }).on('error', () => undefined),
  'a Pool of pg with one connection': (connectionString: string) =>
    new pg.Pool({ connectionString, max: 1 }).on('error', () => undefined),
  'sql of postgres': (url: string) => postgres(url, { fetch_types: false, max: 2 }),
}

const token = (id: string): Revocation => ({
  kind: 'token',
  id,
  notBefore: FOREVER,
  until: Date.now() + HOUR,
})

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await sleep(2)
}

describeWithPostgres('a replica of a PostgreSQL store', (url) => {
  const admin = new pg.Pool({ connectionString: url, max: 2 }).on('error', () => undefined)
  const revoker = new pg.Pool({ connectionString: url, max: 2 }).on('error', () => undefined)
  let namespace = ''
  let count = 0
  let store: RevocationStore
  const opened: RevocationStore[] = []

  beforeAll(() => createPostgresStore(revoker).migrate())
  beforeEach(async () => {
    namespace = `test${++count}`
    store = createPostgresStore(revoker, { namespace })
    await store.prepare({ longestLifetime: HOUR })
  })
  afterEach(async () => {
    for (const replica of opened.splice(0)) await replica.close()
  })
  afterAll(async () => {
    await revoker.end()
    await admin.end()
  })

  const open = async (
    client: PostgresClient,
    options: ReplicaOptions,
    onLostData: (loss: LostData) => void = () => undefined,
  ): Promise<RevocationStore> => {
    const replica = replicate(createPostgresStore(client, { namespace }), options)
    opened.push(replica)
    await replica.prepare({ longestLifetime: HOUR, onLostData })
    await replica.replica?.ready()
    return replica
  }

  /** The server processes of the connections that listen. */
  const readListeners = async (): Promise<readonly number[]> => {
    const { rows } = await admin.query<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and query ilike 'listen %'`,
    )
    return rows.map(({ pid }) => pid)
  }

  const lose = async (): Promise<void> => {
    for (const table of ['heads', 'revocations'])
      await admin.query(`delete from tokenlib_${table} where namespace = $1`, [namespace])
  }

  describe.each(Object.entries(CLIENTS))('through %s', (_, connect) => {
    let client: ReturnType<typeof connect>
    beforeEach(() => void (client = connect(url)))
    // Before the replicas are closed: their connections must not hold it up.
    afterEach(() => client.end())

    test('has what another process revokes without waiting for its next poll', async () => {
      const replica = await open(client, { bound: '1m' })
      await until(async () => (await readListeners()).length === 1)
      for (let round = 0; round < 5; round++) {
        await store.revoke([token(`t${round}`)])
        await until(async () => (await replica.lookup([token(`t${round}`)]))[0] === FOREVER)
      }
      await store.revoke([{ kind: 'user', id: 'ada', notBefore: 0, until: 0 }])
      await until(async () => (await replica.lookup([{ kind: 'user', id: 'ada' }]))[0] !== undefined)
      await store.restore?.([token('restored')])
      await until(async () => (await replica.lookup([token('restored')]))[0] === FOREVER)
      expect(await replica.lookup([token('t0'), token('another')])).toEqual([FOREVER, undefined])
    })

    test('listens again after its connection was cut, and reads what it missed', async () => {
      const replica = await open(client, { bound: '1m' })
      await until(async () => (await readListeners()).length === 1)
      const [before] = await readListeners()
      await admin.query('select pg_terminate_backend($1)', [before])
      await store.revoke([token('missed')])
      await until(async () => (await replica.lookup([token('missed')]))[0] === FOREVER)
      await until(async () => (await readListeners()).some((pid) => pid !== before))
      await store.revoke([token('next')])
      await until(async () => (await replica.lookup([token('next')]))[0] === FOREVER)
      expect(await replica.lookup([token('missed'), token('another')])).toEqual([FOREVER, undefined])
    })

    test('stops listening when it is closed', async () => {
      const replica = await open(client, { bound: '1m' })
      await until(async () => (await readListeners()).length === 1)
      await replica.close()
      await until(async () => (await readListeners()).length === 0)
      expect(await readListeners()).toEqual([])
    })

    test('gives back what the store lost, and nothing else is revoked', async () => {
      const losses: LostData[] = []
      const replica = await open(client, { bound: '200ms' }, (loss) => losses.push(loss))
      const end = Date.now() + HOUR
      const session = { user: 'ada', nonce: 'N'.repeat(14), expiresAt: end, until: end }
      const found = await replica.sessions?.open({ ...session, ip: null, userAgent: null })
      await replica.revoke([token('a'), token('b'), { kind: 'user', id: 'bob', notBefore: 0, until: 0 }])
      const keys = [token('a'), token('b'), { kind: 'user', id: 'bob' } as const]
      const known = await replica.lookup(keys)
      await lose()
      await until(async () => {
        const { rows } = await admin.query<{ count: string }>(
          `select count(*) from tokenlib_revocations where namespace = $1 and kind <> 'epoch'`,
          [namespace],
        )
        return Number(rows[0]?.count) === 3
      })
      const fresh = createPostgresStore(admin, { namespace })
      await fresh.prepare({ longestLifetime: HOUR })
      expect(await fresh.lookup([...keys, ALL])).toEqual([...known, undefined])
      expect(await fresh.sessions?.get(found?.sid ?? '', { idleMs: FOREVER })).not.toBeNull()
      expect(losses).toEqual([])
    })
  })

  test('polls where it cannot listen: with a single connection', async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const single = createPostgresStore(client, { namespace })
    expect(single.watch).toBeUndefined()
    const replica = await open(client, { bound: '100ms' })
    await store.revoke([token('a')])
    await until(async () => (await replica.lookup([token('a')]))[0] === FOREVER)
    await replica.close()
    await client.end()
  })

  test('finds by polling what a role revokes that may not notify', async () => {
    const role = `quiet_${process.pid}`
    await admin.query(`create role ${role} login password 'quiet'`)
    await admin.query('revoke execute on function pg_notify(text, text) from public')
    await admin.query(`grant select, insert, update, delete on all tables in schema public to ${role}`)
    const address = Object.assign(new URL(url), { username: role, password: 'quiet' })
    const quiet = new pg.Pool({ connectionString: address.href, max: 1 }).on('error', () => undefined)
    try {
      await expect(quiet.query(`select pg_notify('x', '')`)).rejects.toMatchObject({ code: '42501' })
      const other = createPostgresStore(quiet, { namespace })
      await other.prepare({ longestLifetime: HOUR })
      const replica = await open(revoker, { bound: '100ms' })
      await other.revoke([token('a')])
      await other.restore?.([token('b')])
      await until(async () => (await replica.lookup([token('a'), token('b')])).every((at) => at === FOREVER))
    } finally {
      await quiet.end()
      await admin.query('grant execute on function pg_notify(text, text) to public')
      await admin.query(`drop owned by ${role}`)
      await admin.query(`drop role ${role}`)
    }
  })
})
