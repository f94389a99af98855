import { startMysqlServers } from './mysql-servers.js'
import { startPostgresServers } from './postgres-servers.js'
import { startRedisServers } from './redis-servers.js'
import type { StoreServers } from './servers.js'

const STARTS = { redis: startRedisServers, postgres: startPostgresServers, mysql: startMysqlServers }

/** The stores that a run can have. */
export type StoreKind = keyof typeof STARTS

/** Their names. */
export const STORE_KINDS = Object.keys(STARTS) as readonly StoreKind[]

/** Starts the servers of a run. */
export function startServers(kind: StoreKind): Promise<StoreServers> {
  return STARTS[kind]()
}
