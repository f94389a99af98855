import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPostgresStore, type PostgresClient, type PostgresStoreOptions } from 'tokenlib/postgres'
import { storeContract } from '@tokenlib/contracts'
import { describeWithPostgres } from '../helpers/servers/describe-with-servers.js'
import { WHOLE_CONTRACT } from './contract-parts.js'

/** A client of one of the libraries, and how to close it. */
export interface Connection {
  readonly client: PostgresClient
  readonly options?: PostgresStoreOptions
  /** A single connection cannot listen as well. */
  readonly canWatch?: false
  open?(): Promise<unknown>
  end(): Promise<void>
}

/** Runs the contract of stores on PostgreSQL, through one kind of client. */
export function describePostgres(
  name: string,
  connect: (url: string) => Connection,
  runner = WHOLE_CONTRACT,
): void {
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
        limitsSessions: true,
        keepsData: true,
        spends: true,
        isReplicable: connection.canWatch ?? true,
        async wipe(place) {
          for (const table of ['heads', 'revocations', 'sessions', 'spent']) {
            await admin.query(`delete from tokenlib_${table} where namespace = $1`, [place])
          }
        },
        async count(place) {
          const { rows } = await admin.query<{ kept: string }>(
            `select (select count(*) from tokenlib_revocations where namespace = $1 and kind not in ('epoch', 'turn')) +
              (select count(*) from tokenlib_sessions where namespace = $1) +
              (select count(*) from tokenlib_spent where namespace = $1) as kept`,
            [place],
          )
          return Number(rows[0]?.kept)
        },
      },
      runner,
    )
  })
}
