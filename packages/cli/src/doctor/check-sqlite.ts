import { checkPruning, checkSpace } from './check-store.js'
import { type Check, createFinding, ok } from './findings.js'
import type { SqliteFacts } from './read-sqlite.js'
import { toCount, toDurationText } from '../words.js'

const checkFileSystem: Check<SqliteFacts> = ({ isOnNetwork, links, path }) => {
  if (isOnNetwork) {
    return createFinding('sqlite-filesystem', 'error', {
      title: 'The file is on a network file system: processes would miss revocations.',
      detail: 'The index of the WAL is shared memory, which other machines do not share.',
      fix: 'Move it to a local disk, or use Redis or PostgreSQL.',
    })
  }
  if (links > 1) {
    return createFinding('sqlite-filesystem', 'error', {
      title: `The file has ${links} names (hard links): through another name processes have another WAL.`,
      fix: `Find the others and use one path: find <folder> -samefile ${path}`,
    })
  }
  return ok('sqlite-filesystem', 'The file is on a local disk.')
}

const checkJournal: Check<SqliteFacts> = ({ journalMode, tablesVersion }) => {
  if (journalMode === 'wal') return ok('sqlite-journal', 'The file is in WAL mode.')
  // The store sets it when it starts.
  if (tablesVersion === null) return null
  return createFinding('sqlite-journal', 'warning', {
    title: `The file is in ${journalMode ?? 'an unknown'} mode, not in WAL mode: readers wait for writers.`,
    detail: 'The store sets WAL mode when it starts, so another program has changed it.',
    fix: 'Restart the application, and let no other program change journal_mode.',
  })
}

const checkTables: Check<SqliteFacts> = ({ tablesVersion, ownVersion }) => {
  // Follow the store's rule: a later release may allow this one to use its tables.
  if (tablesVersion !== null && tablesVersion <= ownVersion)
    return ok('sqlite-tables', `The tables have version ${tablesVersion}.`)
  if (tablesVersion === null) {
    return createFinding('sqlite-tables', 'note', {
      title: 'The file has no tables of the store yet.',
      detail: 'The store creates them when the application starts.',
      fix: 'If the application has run before, compare the path and --namespace (the prefix) with its own.',
    })
  }
  return createFinding('sqlite-tables', 'error', {
    title: `The tables have version ${tablesVersion}, and this release has version ${ownVersion}.`,
    fix: 'Use the release that made them, or another prefix.',
  })
}

const checkPermissions: Check<SqliteFacts> = ({ mode, path }) => {
  if (mode === null) return null
  const octal = mode.toString(8)
  if ((mode & 0o007) === 0)
    return ok('sqlite-permissions', `Only its owner and group can use the file (${octal}).`)
  const isWritable = (mode & 0o002) !== 0
  return createFinding('sqlite-permissions', isWritable ? 'error' : 'warning', {
    title: `Every user on this machine can ${isWritable ? 'write' : 'read'} the file (mode ${octal}).`,
    detail: isWritable
      ? 'Anyone who can write it can remove revocations.'
      : 'It has the ids of users and sessions, addresses and browsers.',
    fix: `Run: chmod o-rwx ${path}*`,
  })
}

const checkIntegrity: Check<SqliteFacts> = ({ integrity }) => {
  if (integrity === 'ok') return ok('sqlite-integrity', 'quick_check found nothing.')
  return createFinding('sqlite-integrity', 'error', {
    title: `The file is damaged: ${integrity.replace(/\s+/g, ' ').slice(0, 100)}`,
    detail: 'Revocations may be missing.',
    fix: 'Stop the application, restore a backup made by VACUUM INTO, and call tokens.revoke.all() before it accepts requests.',
  })
}

const checkWritable: Check<SqliteFacts> = ({ writeError }) => {
  if (writeError === null) return ok('store-writable', 'This user can write the file.')
  return createFinding('store-writable', 'error', {
    title: `The file cannot be written: ${writeError}.`,
    fix: 'Run doctor as the user of the application; let that user write the file and its folder.',
  })
}

// Like `TRUSTED_STEP_MS`: up to an hour ahead is accepted.
const MAX_TRUSTED_LEAD_MS = 3_600_000

const checkTrustedTime: Check<SqliteFacts> = ({ trustedLeadMs }) => {
  if (trustedLeadMs === null) return null
  if (trustedLeadMs <= MAX_TRUSTED_LEAD_MS) return ok('store-clock', 'The file trusts no time in the future.')
  return createFinding('store-clock', 'error', {
    title: `The file trusts a time that is ${toDurationText(trustedLeadMs / 1000)} ahead of this machine's clock.`,
    detail:
      'A process ran with a wrong clock, or this clock is behind. Revocations may have been deleted too early.',
    fix: 'Set the clock (timedatectl). If a process ran with a wrong one for a day: npx tokenlib revoke all',
  })
}

const checkHistory: Check<SqliteFacts> = ({ entries }) =>
  entries === null ? null : ok('store-history', `The file has ${toCount(entries, 'revocation')}.`)

/** The checks of a SQLite file. */
export const SQLITE_CHECKS: readonly Check<SqliteFacts>[] = [
  checkWritable,
  checkHistory,
  checkTrustedTime,
  ({ pruning }) => pruning && checkPruning(pruning),
  checkFileSystem,
  checkJournal,
  checkTables,
  checkPermissions,
  checkIntegrity,
  ({ freeBytes }) => checkSpace(freeBytes),
]
