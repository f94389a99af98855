import { createHash } from 'node:crypto'
import { ConfigurationError } from '../../errors.js'

/** A Pool or Client of `pg`, or of a package that answers in the same way. */
export interface PgClient {
  query(statement: NamedStatement | string, values: Value[]): Promise<{ readonly rows: readonly unknown[] }>
}

/** A statement that `pg` prepares once on each connection. */
export interface NamedStatement {
  name: string
  text: string
}

/** The `sql` function of `postgres`. */
export interface PostgresJsClient {
  unsafe(
    text: string,
    values: Value[],
    options: { readonly prepare: boolean },
  ): PromiseLike<readonly unknown[]>
}

/** A client of PostgreSQL that the application made, configured, and will close. */
export type PostgresClient = PgClient | PostgresJsClient

/** What a statement may be given; lists travel as one text of JSON, which every client passes on as it is. */
export type Value = string | number | null

/** A database, as the store uses it. */
export interface Database {
  /**
   * Runs a statement that answers with one text of JSON; `null` where it has no row.
   *
   * One text, because applications teach their clients to rename columns and to read a `bigint` as they like.
   */
  query<Answer>(statement: string, values: readonly Value[]): Promise<Answer | null>
}

/** The database behind a client, which is told by its shape; `pg` plans named statements once on each connection. */
export function toDatabase(client: PostgresClient, namedStatements: boolean): Database {
  const run = toRun(client, namedStatements)
  return {
    async query<Answer>(statement: string, values: readonly Value[]) {
      const [row] = await run(statement, [...values])
      const [text] = typeof row === 'object' && row !== null ? (Object.values(row) as unknown[]) : []
      return typeof text === 'string' ? (JSON.parse(text) as Answer) : null
    },
  }
}

type Run = (statement: string, values: Value[]) => PromiseLike<readonly unknown[]>

function toRun(client: PostgresClient, namedStatements: boolean): Run {
  if ('unsafe' in client && typeof client.unsafe === 'function') {
    // Prepared by a name, unless the application told its client not to: without, `postgres` needs two round trips.
    return (statement, values) => client.unsafe(statement, values, { prepare: true })
  }
  if ('query' in client && typeof client.query === 'function') {
    // Without a name by default: behind a pooler, the next statement may reach a connection that does not know it.
    const name = namedStatements ? createNames() : (text: string) => text
    return async (statement, values) => (await client.query(name(statement), values)).rows
  }
  throw new ConfigurationError(
    'createPostgresStore takes a Pool or Client of the package pg, or the sql function of the package postgres',
  )
}

/** `pg` wants one text for each name, also where two versions of this library share a connection. */
function createNames(): (text: string) => NamedStatement {
  const names = new Map<string, string>()
  return (text) => {
    const name = names.get(text) ?? `tokenlib_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
    names.set(text, name)
    return { name, text }
  }
}
