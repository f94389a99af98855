/** What this store binds to a statement. */
export type SqliteValue = string | number | null

/** A prepared statement. */
export interface SqliteStatement {
  run(...values: SqliteValue[]): { readonly changes: number | bigint }
  get(...values: SqliteValue[]): unknown
  all(...values: SqliteValue[]): unknown[]
}

/** An open handle: a `DatabaseSync` of `node:sqlite` or of `@photostructure/sqlite`, or one of `better-sqlite3`. */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  /** Whether a transaction is open, as `node:sqlite` calls it. */
  readonly isTransaction?: boolean
  /** Whether a transaction is open, as `better-sqlite3` calls it. */
  readonly inTransaction?: boolean
}

// By the text of SQLite itself: every client passes it on, and each has its own codes.

/** Whether another connection has what this one needs. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && /database (table |schema )?is locked/.test(error.message)
}

/** Whether a table is gone. */
export function isMissingTable(error: unknown): boolean {
  return error instanceof Error && error.message.includes('no such table')
}

/** Whether the handle, the file or its folder may only be read. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof Error && error.message.includes('readonly database')
}
