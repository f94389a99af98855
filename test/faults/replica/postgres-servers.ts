import pg from 'pg'
import { backUpPostgres, runSql, startPostgres } from '../../helpers/servers/start-postgres.js'
import type { StoreServers } from './servers.js'
import { startWithStandby } from './with-standby.js'

/** A PostgreSQL with a standby. */
export function startPostgresServers(): Promise<StoreServers> {
  return startWithStandby({
    client: 'pg',
    start: startPostgres,
    startStandby: ({ url }, port) =>
      startPostgres({}, Object.assign(new URL(url), { port: String(port) }).href),
    async mark(primary) {
      const wanted = await runSql(primary.url, 'select pg_current_wal_lsn()')
      const sql = `select pg_last_wal_replay_lsn() >= '${wanted}'`
      return async (standby) => (await runSql(standby.url, sql)) === 't'
    },
    // It waits until the standby has become a primary.
    promote: (standby) => runSql(standby.url, 'select pg_promote()'),
    backUp: (primary, _standby, path) => backUpPostgres(primary.url, path),
    connect: (connectionString) => new pg.Pool({ connectionString, max: 1 }).on('error', () => undefined),
  })
}
