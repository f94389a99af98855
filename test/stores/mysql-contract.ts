import mysql from 'mysql2/promise'
import { afterAll, beforeAll } from 'vitest'
import { createMysqlStore, type MysqlClient, type MysqlPool } from 'tokenlib/mysql'
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

/** A pool whose server says that it is MySQL, so that the store asks it for nothing that only MariaDB knows. */
export function asMysql(pool: mysql.Pool): MysqlPool {
  return {
    async getConnection() {
      const connection = await pool.getConnection()
      return {
        query: (text) => connection.query(text),
        async execute(statement, values) {
          if (statement.sql.includes('in_transaction')) throw new Error('MySQL does not know in_transaction')
          const [rows, fields] = await connection.execute(statement, values)
          if (!statement.sql.startsWith('show variables')) return [rows, fields]
          const settings = rows as unknown as readonly (readonly [string, string])[]
          return [settings.map(([name, value]) => [name, name === 'version' ? '8.0.40' : value]), fields]
        },
        release: () => connection.release(),
        destroy: () => connection.destroy(),
      }
    },
  }
}
