import { createRequire } from 'node:module'
import { createSqliteStore, type SqliteDatabase } from 'tokenlib/sqlite'
import type { Revocation, RevocationKey } from '../../packages/tokenlib/src/revocation/revocation.js'
import type { PresentedToken, RotationOptions } from '../../packages/tokenlib/src/revocation/rotation.js'

/** What another process can be asked to do. */
export interface Requests {
  prepare(longestLifetime: number): unknown
  revoke(batch: readonly Revocation[]): unknown
  /** Ends without any clearing up as soon as the revocation is acknowledged. */
  revokeAndDie(batch: readonly Revocation[]): unknown
  /** Revokes tokens whose ids are the prefix and a number, one after the other. */
  revokeMany(prefix: string, count: number, until: number): unknown
  lookup(keys: readonly RevocationKey[]): unknown
  prune(limit: number): unknown
  rotate(sid: string, token: PresentedToken, options: RotationOptions): unknown
  exec(sql: string): unknown
}

/** One of them, with its arguments. */
export type Request = {
  [Name in keyof Requests]: { readonly name: Name; readonly values: Parameters<Requests[Name]> }
}[keyof Requests]

// The process of another program that shares the file: `sqlite-process.ts` bundles this, and starts it.
const [client = '', path = '', lead = '0'] = process.argv.slice(2)
// The clock of a machine that is wrong from the start.
const rightClock = Date.now
Date.now = () => rightClock() + Number(lead)
const { DatabaseSync } = createRequire(import.meta.url)(client) as {
  DatabaseSync: new (path: string) => SqliteDatabase
}
const database = new DatabaseSync(path)
const store = createSqliteStore(database)

const requests: Requests = {
  prepare: (longestLifetime) => store.prepare({ longestLifetime }),
  revoke: (batch) => store.revoke(batch),
  async revokeAndDie(batch) {
    await store.revoke(batch)
    process.kill(process.pid, 'SIGKILL')
  },
  async revokeMany(prefix, count, until) {
    for (let at = 0; at < count; at++) {
      await store.revoke([{ kind: 'token', id: `${prefix}${at}`, notBefore: Number.MAX_SAFE_INTEGER, until }])
      // A turn of the loop, as between two requests.
      await new Promise((resolve) => setImmediate(resolve))
    }
  },
  // JSON has no undefined.
  lookup: async (keys) => (await store.lookup(keys)).map((found) => found ?? null),
  prune: (limit) => store.prune(limit),
  rotate: (sid, token, options) => store.sessions?.rotate(sid, token, options),
  exec: (sql) => void database.exec(sql),
}

async function answer({ name, values }: Request): Promise<void> {
  try {
    const run = requests[name] as (...values: unknown[]) => unknown
    process.send?.({ value: await run(...values) })
  } catch (error) {
    process.send?.({ error: error instanceof Error ? error.message : 'unknown' })
  }
}

process.on('message', (message: Request) => void answer(message))
