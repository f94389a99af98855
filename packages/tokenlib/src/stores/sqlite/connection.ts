/** What this store binds to a statement. */
export type SqliteValue = string | number | null

/** A prepared statement. */
export interface SqliteStatement {
  run(...values: SqliteValue[]): { readonly changes: number | bigint }
  /** The first row. Without one, some clients return `undefined`, and others `null`. */
  get(...values: SqliteValue[]): unknown
  all(...values: SqliteValue[]): unknown[]
}

/** What to do while another process writes: wait and let nothing else run in this one, or throw at once. */
export type WhenBusy = 'wait' | 'throw'

/** A database as the tables of a store need it, whether it is a file or the storage of a Durable Object. */
export interface Connection {
  /** Runs statements without values. */
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  /** Runs `work` in a transaction that may write: all of what it does is durable afterwards, or nothing is done. */
  transact<T>(whenBusy: WhenBusy, work: () => T): T
  /** Tries again while other processes are in the way; the first attempt is made at once. */
  retryWhileBusy<T>(attempt: () => T): Promise<T>
  /** Throws if what is read or written now would not be the data that other processes see. */
  assertInPlace(): void
  /** The same for reads, which are many: it may rely on a check of a moment ago. */
  assertInPlaceLately(): void
}

// By the text of SQLite itself: every client passes it on, and each has its own codes.

/** Whether a table or a column is missing: it was dropped, or the data is a copy made by an earlier release. */
export function isLayoutIncomplete(error: unknown): boolean {
  return error instanceof Error && /no such (table|column)/.test(error.message)
}
