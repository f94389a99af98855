import { ConfigurationError } from '../../errors.js'
import type { Connection, SqliteValue } from '../sqlite/connection.js'
import type { Endings } from '../sqlite/history.js'

/** What the store needs of the state of a Durable Object. */
export interface DurableObjectContext {
  readonly id: { toString(): string }
  readonly storage: {
    readonly sql: { exec(sql: string, ...values: SqliteValue[]): { toArray(): unknown[] } }
    transactionSync<T>(work: () => T): T
  }
}

/**
 * The storage of a Durable Object as a database.
 *
 * The object is the only one that uses it, and runs one piece of code at a time: nobody is ever in the way. What a call
 * has written is on several machines before its answer leaves the object.
 */
export function createStorageConnection({ storage }: DurableObjectContext): Connection {
  const run = (sql: string, values: readonly SqliteValue[]): unknown[] => {
    try {
      return storage.sql.exec(sql, ...values).toArray()
    } catch (error) {
      throw isWithoutSqlite(error) ? withoutSqlite(error) : error
    }
  }

  return {
    exec: (sql) => run(sql, []),
    prepare: (sql) => ({
      run(...values) {
        run(sql, values)
        // `rowsWritten` of the cursor counts the rows of indexes as well.
        const [row] = run('SELECT changes() AS changes', []) as [{ readonly changes: number }]
        return row
      },
      get: (...values) => run(sql, values)[0],
      all: (...values) => run(sql, values),
    }),
    // Statements such as BEGIN are refused here.
    transact: (_whenBusy, work) => storage.transactionSync(work),
    retryWhileBusy: async (attempt) => attempt(),
    assertInPlace() {},
    assertInPlaceLately() {},
  }
}

function isWithoutSqlite(error: unknown): boolean {
  return error instanceof Error && /SQL is not enabled|not backed by SQL/.test(error.message)
}

function withoutSqlite(cause: unknown): ConfigurationError {
  return new ConfigurationError(
    'The Durable Object has no SQLite storage: name its class in "new_sqlite_classes" of the migrations, ' +
      'not in "new_classes". A class that is deployed already cannot be changed; use another class name',
    { cause },
  )
}

/**
 * The histories that were lost, in a table of their own.
 *
 * A Worker has many isolates, and each finds out at its next request, which may be hours later. Without the table, each
 * would revoke again everything from before that request.
 */
export function createEndings(database: Connection, table: string): Endings {
  const find = database.prepare(`SELECT watermark FROM ${table} WHERE epoch = ?`)
  const save = database.prepare(`REPLACE INTO ${table} (epoch, watermark) VALUES (?, ?)`)

  return {
    read(epoch) {
      // Not before: it is needed only after a loss, which may have taken it as well.
      database.exec(`CREATE TABLE IF NOT EXISTS ${table} (
        epoch TEXT PRIMARY KEY NOT NULL, watermark INTEGER NOT NULL)`)
      const row = (find.get(epoch) ?? null) as { readonly watermark: number } | null
      return row === null ? null : row.watermark
    },
    record: (epoch, watermark) => void save.run(epoch, watermark),
  }
}
