import { join } from 'node:path'
import mysql from 'mysql2/promise'
import { copyData, follow, type RunningMysql, runSql, startMysql } from '../../helpers/servers/start-mysql.js'
import type { StoreServers } from './servers.js'
import { startWithStandby } from './with-standby.js'

// A server that was a standby has the whole binary log, so that any other can follow it from the beginning.
const SETTINGS = {
  'log-bin': 'log',
  'sync-binlog': '1',
  'loose-log-slave-updates': 'ON',
  // For a backup of a standby that is restored as a primary.
  'loose-skip-slave-start': 'ON',
  'loose-skip-replica-start': 'ON',
  // What MySQL needs and MariaDB does not know.
  'loose-gtid-mode': 'ON',
  'loose-enforce-gtid-consistency': 'ON',
}

/** A MariaDB, or a MySQL, with a standby. */
export function startMysqlServers(): Promise<StoreServers> {
  let servers = 0
  let marks = 0
  const start = (): Promise<RunningMysql> => startMysql({ ...SETTINGS, 'server-id': String(++servers) })
  return startWithStandby({
    client: 'mariadb',
    async start() {
      const primary = await start()
      await runSql(primary.url, 'create table marks (mark int primary key)')
      return primary
    },
    async startStandby(_primary, port) {
      const standby = await start()
      await runSql(standby.url, 'set global read_only = 1')
      await follow(standby.url, port)
      return standby
    },
    async mark(primary) {
      const mark = ++marks
      await runSql(primary.url, `insert into marks values (${mark})`)
      const sql = `select mark from marks where mark = ${mark}`
      // The table may not be there yet.
      return async (standby) => (await runSql(standby.url, sql).catch(() => [])).length > 0
    },
    async promote(standby) {
      await runSql(standby.url, 'stop replica')
      await runSql(standby.url, 'set global read_only = 0')
    },
    // Of the standby: a running server cannot be copied.
    async backUp(_primary, standby, path) {
      await standby.kill('SIGKILL')
      copyData(join(standby.folder, 'data'), path)
    },
    connect: (uri) => mysql.createPool({ uri, connectionLimit: 1 }),
  })
}
