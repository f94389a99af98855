import type { RevocationStore } from 'tokenlib'
import type { MysqlInspection } from 'tokenlib/mysql'
import type { PostgresInspection } from 'tokenlib/postgres'

/** Sends commands to a Redis server. */
export interface RedisProbe {
  command(name: string, ...args: string[]): Promise<unknown>
}

/** Looks at the tables of a store in a database server. */
export interface TablesProbe<Inspection> {
  /** What the server answers with an error, rejects as the client has it. */
  readonly inspection: Inspection
  /** Whether an error is an answer of the server, and not about the connection or a shutdown. */
  readonly isAnswer: (error: unknown) => boolean
}

/** Looks at the tables of a store in MySQL or MariaDB. */
export type MysqlProbe = TablesProbe<MysqlInspection>

/** Looks at the tables of a store in PostgreSQL, and runs statements. */
export interface PostgresProbe extends TablesProbe<PostgresInspection> {
  query(
    sql: string,
    values?: readonly (string | number | null)[],
  ): Promise<readonly Record<string, unknown>[]>
}

/** Runs statements in a SQLite database. */
export interface SqliteProbe {
  all(sql: string): readonly Record<string, unknown>[]
}

interface Opened<Kind extends string, Client> {
  readonly kind: Kind
  /** Without a password, for messages. */
  readonly url: string
  /** The namespace, or the prefix of the tables in SQLite. */
  readonly namespace: string
  readonly store: RevocationStore
  /** The client, for commands that look at the server itself. */
  readonly client: Client
  /** Closes the connection; never rejects, and never waits long. */
  close(): Promise<void>
}

/** A store that the command line has opened by its address. */
export type OpenedStore =
  | Opened<'redis', RedisProbe>
  | Opened<'postgres', PostgresProbe>
  | Opened<'mysql', MysqlProbe>
  | Opened<'sqlite', SqliteProbe>

/** How a store is opened. */
export interface OpenStoreOptions {
  /** `null` for the default of the store. */
  readonly namespace: string | null
  /** The folder whose `node_modules` has the driver. */
  readonly drivers: string
  /** For connecting, and for each call. */
  readonly timeoutMs: number
}
