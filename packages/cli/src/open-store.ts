import { CommandError, EXIT } from './exit.js'
import { openMysql } from './open-mysql.js'
import { openPostgres } from './open-postgres.js'
import { openRedis } from './open-redis.js'
import { openSqlite } from './open-sqlite.js'
import type { OpenedStore, OpenStoreOptions } from './opened-store.js'

export type { OpenedStore, OpenStoreOptions, PostgresProbe, RedisProbe, SqliteProbe } from './opened-store.js'

const OPENERS: Readonly<Record<string, (url: string, options: OpenStoreOptions) => Promise<OpenedStore>>> = {
  'redis:': openRedis,
  'rediss:': openRedis,
  'postgres:': openPostgres,
  'postgresql:': openPostgres,
  'mysql:': openMysql,
  'mariadb:': openMysql,
  'sqlite:': openSqlite,
}

/** Opens the store at an address; `CommandError` if it is wrong, unavailable, or lacks a driver. */
export async function openStore(url: string, options: OpenStoreOptions): Promise<OpenedStore> {
  const open = OPENERS[/^[a-z]+:/.exec(url)?.[0] ?? '']
  if (open === undefined) {
    throw new CommandError(
      'The address of a store begins with redis://, rediss://, postgres://, postgresql://, mysql://, mariadb:// or sqlite:',
      EXIT.usage,
    )
  }
  return open(url, options)
}
