import { accessSync, constants, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemClock } from 'tokenlib/kit'
import { inspectSqlite } from 'tokenlib/sqlite'
import type { SqliteProbe } from '../opened-store.js'
import type { PruningFacts } from './check-store.js'
import { type Latency, measureLatency } from './measure.js'
import { toMessage } from '../words.js'

/** What `doctor` knows about a SQLite file; `null` for what could not be read. */
export interface SqliteFacts {
  readonly path: string
  /** The mode of the least protected of its files, in octal as `ls` has it; `null` on Windows. */
  readonly mode: number | null
  readonly isOnNetwork: boolean
  /** How many names the file has. */
  readonly links: number
  readonly freeBytes: number
  readonly journalMode: string | null
  /** The first mistake that `quick_check` found, or `ok`. */
  readonly integrity: string
  /** `null` without tables. */
  readonly tablesVersion: number | null
  /** The version that this release creates. */
  readonly ownVersion: number
  readonly entries: number | null
  /** Why the file cannot be written, or `null`. */
  readonly writeError: string | null
  readonly pruning: PruningFacts | null
  /** By how much the time that the file trusts is ahead of this machine's clock. */
  readonly trustedLeadMs: number | null
  readonly latency: Latency | null
}

/** Reads everything that the checks need. Nothing is written. */
export async function readSqlite(probe: SqliteProbe, path: string, prefix: string): Promise<SqliteFacts> {
  const { tables, version: ownVersion, isOnNetwork } = inspectSqlite(path, prefix)
  const first = (sql: string): Record<string, unknown> | null => {
    try {
      return probe.all(sql)[0] ?? null
    } catch {
      // A damaged file, or one without the table.
      return null
    }
  }
  const version = first(`SELECT version FROM ${tables.meta} WHERE id = 1`)
  const now = Math.floor(systemClock())
  const ended = first(`SELECT count(*) AS ended, min(until) AS oldest FROM (
    SELECT until FROM ${tables.revocations} WHERE until <= ${now}
    UNION ALL SELECT until FROM ${tables.sessions} WHERE until <= ${now})`)
  const trusted = first(`SELECT trusted FROM ${tables.clock} WHERE id = 1`)
  const { bavail, bsize } = statfsSync(path)
  const lookup = `SELECT not_before FROM ${tables.revocations} WHERE (kind, id) IN
    (VALUES ('token', 'doctor'), ('session', 'doctor'), ('user', 'doctor'), ('key', 'doctor'), ('all', ''))`
  return {
    path,
    mode: readMode(path),
    isOnNetwork,
    links: statSync(path).nlink,
    freeBytes: bavail * bsize,
    journalMode: toText(first('PRAGMA journal_mode')?.['journal_mode']),
    integrity: readIntegrity(probe),
    tablesVersion: version === null ? null : Number(version['version']),
    ownVersion,
    entries: toNumber(first(`SELECT count(*) AS entries FROM ${tables.revocations}`)?.['entries']),
    writeError: readWriteError(probe, path, version === null ? null : tables.meta),
    pruning: ended && {
      ended: Number(ended['ended']),
      oldestMs: ended['oldest'] === null ? 0 : now - Number(ended['oldest']),
    },
    trustedLeadMs: trusted === null ? null : Number(trusted['trusted']) - now,
    latency: version === null ? null : await measureLatency(async () => probe.all(lookup)),
  }
}

// The WAL has the same rows as the file.
function readMode(path: string): number | null {
  if (process.platform === 'win32') return null
  const modes = [path, `${path}-wal`].map((name) => statSync(name, { throwIfNoEntry: false })?.mode ?? 0)
  return modes.reduce((all, mode) => all | (mode & 0o777), 0)
}

function readIntegrity(probe: SqliteProbe): string {
  try {
    return String(Object.values(probe.all('PRAGMA quick_check(1)')[0] ?? {})[0])
  } catch (error) {
    return toMessage(error)
  }
}

function readWriteError(probe: SqliteProbe, path: string, meta: string | null): string | null {
  try {
    for (const name of [path, dirname(path)]) accessSync(name, constants.W_OK)
  } catch {
    return 'this user may not write the file and its folder'
  }
  if (meta === null) return null
  try {
    probe.all('BEGIN IMMEDIATE')
    try {
      // No row has this id: it writes nothing, but fails if the file is read-only.
      probe.all(`DELETE FROM ${meta} WHERE id = 0`)
    } finally {
      probe.all('ROLLBACK')
    }
    return null
  } catch (error) {
    const text = toMessage(error)
    // Another process writes, so the file can be written.
    return /database (?:table |schema )?is locked/.test(text) ? null : text
  }
}

function toText(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function toNumber(value: unknown): number | null {
  return value === undefined || value === null ? null : Number(value)
}
