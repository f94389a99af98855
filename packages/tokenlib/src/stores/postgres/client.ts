import { createHash } from 'node:crypto'
import { ConfigurationError } from '../../errors.js'
import { startTimer } from '../../runtime.js'
import type { Scheduler, Timer } from '../../time.js'
import { toRetryDelay } from '../store-parts.js'

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

/** What a statement may be given; lists travel as one JSON text, which every client passes on unchanged. */
export type Value = string | number | null

/** A database, as the store uses it. */
export interface Database {
  // One text, because applications teach their clients to rename columns and to read a `bigint` as they like.
  /** Runs a statement that returns one JSON text; `null` if it returns no row. */
  query<Answer>(statement: string, values: readonly Value[]): Promise<Answer | null>
}

/** The database behind a client. The driver is recognised by the client's shape. */
export function toDatabase(client: PostgresClient, namedStatements: boolean): Database {
  const run = toRun(client, namedStatements)
  return {
    async query<Answer>(statement: string, values: readonly Value[]) {
      // The last row, not the first: `postgres` counts on after an answer that a lost connection cut short, and leaves
      // a hole before the only row of the next one. Taken for no row, that would be a loss, which revokes everything.
      const row = (await run(statement, [...values])).at(-1)
      const [text] = typeof row === 'object' && row !== null ? (Object.values(row) as unknown[]) : []
      return typeof text === 'string' ? (JSON.parse(text) as Answer) : null
    },
  }
}

function toRun(
  client: PostgresClient,
  namedStatements: boolean,
): (statement: string, values: Value[]) => PromiseLike<readonly unknown[]> {
  // The address of a server is a string, and `in` throws for strings.
  const isObject = client instanceof Object
  if (isObject && 'unsafe' in client && typeof client.unsafe === 'function') {
    // Prepared by a name, unless the application told its client not to: without, `postgres` needs two round trips.
    return (statement, values) => client.unsafe(statement, values, { prepare: true })
  }
  if (isObject && 'query' in client && typeof client.query === 'function') {
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

interface PgListener {
  connect(): Promise<unknown>
  query(text: string): Promise<unknown>
  on(event: 'error' | 'notification' | 'end', listener: () => void): unknown
  end(): Promise<unknown>
  unref?(): void
}

interface PgPool {
  readonly Client: new (options: unknown) => PgListener
  readonly options: unknown
  readonly ending?: boolean
}

interface ListeningSql {
  listen(
    channel: string,
    onNotify: () => void,
    onListen: () => void,
  ): Promise<{ unlisten(): Promise<unknown> }>
}

/** Calls the listener soon after each notification on a channel. Returns an unsubscribe function. */
export type Watch = (channel: string, listener: () => void) => () => void

/** The channel of a namespace; a hash, since names are cut at 63 bytes, and a namespace may be any text. */
export function toChannel({ heads }: { readonly heads: string }, namespace: string): string {
  return `tokenlib_${createHash('sha256').update(`${heads} ${namespace}`).digest('hex').slice(0, 32)}`
}

/** The member of a statement's answer that announces a change; it is delivered when the statement is committed. */
export function notifySql(channel: string): string {
  return `, 'notified', pg_catalog.pg_notify('${channel}', '')::pg_catalog.text`
}

/** A statement that announces nothing. */
export function withoutNotify(statement: string, channel: string): string {
  return statement.replace(notifySql(channel), '')
}

// A full queue of notifications, and a role or a server that has no notifications.
const REFUSALS = new Set(['54000', '42501', '42883', '0A000'])

/** A database that sends a statement again without its notification if the server refuses it; readers poll as well. */
export function withoutFailedNotify(database: Database, channel: string): Database {
  const notify = notifySql(channel)
  return {
    async query(statement, values) {
      try {
        return await database.query(statement, values)
      } catch (error) {
        const code = (error as { readonly code?: unknown } | null)?.code
        if (!REFUSALS.has(String(code)) || !statement.includes(notify)) throw error
        return database.query(withoutNotify(statement, channel), values)
      }
    },
  }
}

/** How channels are watched through a client; `null` for a `Client` of `pg`, a single connection of the application. */
export function readWatch(client: PostgresClient, scheduler: Scheduler): Watch | null {
  if ('listen' in client && typeof client.listen === 'function') {
    return (channel, listener) => watchSql(client as unknown as ListeningSql, channel, listener)
  }
  if ('Client' in client && typeof client.Client === 'function' && 'options' in client) {
    return (channel, listener) => watchPool(client as unknown as PgPool, channel, listener, scheduler)
  }
  return null
}

const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 30_000

// On a connection outside the pool: a pool of one could do nothing else, and `pool.end()` would wait for it. Errors are
// ignored, because readers poll as well.
function watchPool(pool: PgPool, channel: string, listener: () => void, scheduler: Scheduler): () => void {
  let isStopped = false
  let connection: PgListener | null = null
  let timer: Timer | undefined
  let failures = 0

  const listen = async (opened: PgListener): Promise<void> => {
    await opened.connect()
    await opened.query(`listen "${channel}"`)
    // A process that has nothing else to do may end.
    opened.unref?.()
    failures = 0
    // For what was announced while nobody listened.
    if (!isStopped) listener()
  }

  const connect = (): void => {
    let isOver = false
    const retry = (): void => {
      if (isOver || isStopped || pool.ending === true) return
      isOver = true
      timer = startTimer(scheduler, connect, toRetryDelay(failures++, FIRST_RETRY_MS, MAX_RETRY_MS))
    }
    try {
      const opened = new pool.Client(pool.options)
      connection = opened
      // Without a listener, an error would end the process.
      opened.on('error', () => undefined)
      opened.on('end', retry)
      opened.on('notification', () => {
        if (!isStopped) listener()
      })
      listen(opened).catch(() => {
        end(opened)
        retry()
      })
    } catch {
      retry()
    }
  }

  connect()
  return () => {
    isStopped = true
    scheduler.clearTimeout(timer)
    if (connection !== null) end(connection)
  }
}

function end(connection: PgListener): void {
  connection.end().catch(() => undefined)
}

// It connects and listens again by itself, with pauses that grow.
function watchSql(sql: ListeningSql, channel: string, listener: () => void): () => void {
  let isStopped = false
  const wake = (): void => {
    if (!isStopped) listener()
  }
  const listening = sql.listen(channel, wake, wake)
  listening.catch(() => undefined)
  return () => {
    isStopped = true
    listening.then((channels) => channels.unlisten()).catch(() => undefined)
  }
}
