import mysql from 'mysql2/promise'
import { afterAll, beforeAll } from 'vitest'
import { createMysqlStore, type MysqlClient } from 'tokenlib/mysql'
import { storeContract } from '@tokenlib/contracts'
import { describeWithMysql } from '../helpers/servers/describe-with-servers.js'
import { WHOLE_CONTRACT } from './contract-parts.js'

/** A pool of one of the libraries, and how to close it. */
export interface Connection {
  readonly client: MysqlClient
  end(): Promise<void>
}

/** Runs the contract of stores on MariaDB, through one kind of pool. */
export function describeMysql(
  name: string,
  connect: (url: string) => Connection,
  runner = WHOLE_CONTRACT,
): void {
  describeWithMysql(`MariaDB through ${name}`, (url) => {
    const admin = mysql.createPool({ uri: url, connectionLimit: 2, namedPlaceholders: true })
    const connection = connect(url)
    beforeAll(() => createMysqlStore(connection.client).migrate())
    afterAll(async () => {
      await connection.end()
      await admin.end()
    })

    storeContract(
      name,
      {
        open: (namespace, clock) =>
          createMysqlStore(connection.client, { namespace, clock, onWarning: () => undefined }),
        isShared: true,
        limitsSessions: true,
        spends: true,
        keepsData: true,
        isReplicable: true,
        isWatchable: false,
        async wipe(place) {
          for (const table of ['heads', 'revocations', 'sessions', 'spent']) {
            await admin.execute(`delete from tokenlib_${table} where namespace = ?`, [place])
          }
        },
        async count(place) {
          const [rows] = await admin.query<mysql.RowDataPacket[]>(
            `select (select count(*) from tokenlib_revocations
                where namespace = :place and kind not in ('epoch', 'turn', 'link')) +
              (select count(*) from tokenlib_sessions where namespace = :place) +
              (select count(*) from tokenlib_spent where namespace = :place) as kept`,
            { place },
          )
          return Number(rows[0]?.['kept'])
        },
      },
      runner,
    )
  })
}
