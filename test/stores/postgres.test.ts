import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPostgresStore, type PostgresClient, type PostgresStoreOptions } from 'tokenlib/stores/postgres'
import { storeContract } from 'tokenlib/testing'
import { describeWithPostgres } from '../helpers/servers/describe-with-servers.js'

interface Connection {
  readonly client: PostgresClient
  readonly options?: PostgresStoreOptions
  open?(): Promise<unknown>
  end(): Promise<void>
}

const CLIENTS: Record<string, (url: string) => Connection> = {
  'a Pool of pg': (connectionString) => {
    const client = new pg.Pool({ connectionString }).on('error', () => undefined)
    return { client, end: () => client.end() }
  },
  'a Pool of pg with named statements': (connectionString) => {
    const client = new pg.Pool({ connectionString }).on('error', () => undefined)
    return { client, options: { namedStatements: true }, end: () => client.end() }
  },
  'a Client of pg': (connectionString) => {
    const client = new pg.Client({ connectionString })
    return { client, open: () => client.connect(), end: () => client.end() }
  },
  'sql of postgres': (url) => {
    const client = postgres(url)
    return { client, end: () => client.end() }
  },
  'sql of postgres, without prepared statements, with its own names and types': (url) => {
    const client = postgres(url, {
      prepare: false,
      transform: postgres.pascal,
      types: { bigint: postgres.BigInt },
    })
    return { client, end: () => client.end() }
  },
}

for (const [name, connect] of Object.entries(CLIENTS)) {
  describeWithPostgres(`PostgreSQL through ${name}`, (url) => {
    const admin = new pg.Pool({ connectionString: url, max: 2 }).on('error', () => undefined)
    const connection = connect(url)
    beforeAll(async () => {
      await connection.open?.()
      await createPostgresStore(connection.client).migrate()
    })
    afterAll(async () => {
      await connection.end()
      await admin.end()
    })

    test('rejects a text that PostgreSQL cannot hold, and takes the next', async () => {
      const store = createPostgresStore(connection.client, connection.options)
      await store.prepare({ longestLifetime: 1000 })
      const session = { user: 'ada', nonce: 'N'.repeat(14), expiresAt: 0, until: 0, ip: null }
      const open = (userAgent: string) => store.sessions?.open({ ...session, userAgent })
      await expect(open('a\0b')).rejects.toThrow()
      await expect(open('a\uD800b')).resolves.toMatchObject({ sid: expect.any(String) as string })
    })

    storeContract(
      name,
      {
        open: (namespace, clock) =>
          createPostgresStore(connection.client, {
            ...connection.options,
            namespace,
            clock,
            onWarning: () => undefined,
          }),
        isShared: true,
        async wipe(place) {
          for (const table of ['heads', 'revocations', 'sessions']) {
            await admin.query(`delete from tokenlib_${table} where namespace = $1`, [place])
          }
        },
        async count(place) {
          const { rows } = await admin.query<{ kept: string }>(
            `select (select count(*) from tokenlib_revocations where namespace = $1 and kind <> 'epoch') +
              (select count(*) from tokenlib_sessions where namespace = $1) as kept`,
            [place],
          )
          return Number(rows[0]?.kept)
        },
      },
      { afterAll, beforeAll, describe, test },
    )
  })
}
