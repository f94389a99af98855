import { DatabaseSync } from '@photostructure/sqlite'
import { chmodSync, closeSync, existsSync, linkSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSqliteStore } from 'tokenlib/sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type DoctorRun, runDoctor } from './run-doctor.js'

describe('doctor and a SQLite file', () => {
  let folder: string
  let path: string
  let database: InstanceType<typeof DatabaseSync>

  const check = (...args: string[]): Promise<DoctorRun> =>
    runDoctor(['--json', '--store', `sqlite:${path}`, ...args])

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tokenlib-doctor-'))
    path = join(folder, 'tokens.db')
    database = new DatabaseSync(path)
    const store = createSqliteStore(database)
    await store.prepare({ longestLifetime: 60_000 })
    await store.revoke([{ kind: 'token', id: 'a', notBefore: 1, until: 4_102_444_800_000 }])
    // Writes down the time that the file trusts.
    await store.prune(1)
    await store.close()
    chmodSync(path, 0o600)
    chmodSync(`${path}-wal`, 0o600)
  })
  afterEach(() => {
    database.close()
    rmSync(folder, { recursive: true })
  })

  const readChanges = (): unknown => database.prepare('PRAGMA data_version').get()

  test('that is set up well has nothing to fix, and nothing is written', async () => {
    const before = readChanges()
    const { exitCode, document, levels } = await check()
    expect(document.findings.filter(({ level }) => level === 'error')).toEqual([])
    expect(exitCode).toBe(0)
    expect(levels).toMatchObject({
      'sqlite-filesystem': 'ok',
      'sqlite-journal': 'ok',
      'sqlite-tables': 'ok',
      'sqlite-permissions': 'ok',
      'sqlite-integrity': 'ok',
      'store-writable': 'ok',
      'store-history': 'ok',
      'store-pruning': 'ok',
      'store-clock': 'ok',
      'store-latency': 'ok',
    })
    expect(readChanges()).toEqual(before)
  })

  test('tables of a newer release are an error, as they are for the store', async () => {
    database.exec('UPDATE tokenlib_meta SET version = 2')
    expect((await check()).levels).toMatchObject({ 'sqlite-tables': 'error' })
  })

  test.each([
    [0o644, 'warning'],
    [0o666, 'error'],
    [0o660, 'ok'],
  ])('a mode of %o is found as %s', async (mode, level) => {
    chmodSync(path, mode)
    expect((await check()).levels['sqlite-permissions']).toBe(level)
  })

  test('a hard link is an error', async () => {
    linkSync(path, join(folder, 'other.db'))
    expect((await check()).levels['sqlite-filesystem']).toBe('error')
  })

  test('another journal mode is a warning', async () => {
    database.exec('PRAGMA journal_mode = DELETE')
    expect((await check()).levels['sqlite-journal']).toBe('warning')
  })

  test('tables of another version are an error, and no tables are a note and stay away', async () => {
    database.exec('UPDATE tokenlib_meta SET version = 99')
    expect((await check()).levels['sqlite-tables']).toBe('error')
    const { levels } = await check('--namespace', 'other_')
    expect(levels['sqlite-tables']).toBe('note')
    expect(database.prepare(`SELECT name FROM sqlite_master WHERE name LIKE 'other_%'`).all()).toEqual([])
  })

  test('expired rows are counted', async () => {
    database.exec(`INSERT INTO tokenlib_revocations (kind, id, not_before, until)
      WITH RECURSIVE n(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < 100000)
      SELECT 'token', 'x' || at, 0, 1000 FROM n`)
    expect((await check()).levels['store-pruning']).toBe('warning')
  })

  test('a trusted time in the future is an error', async () => {
    database.exec('UPDATE tokenlib_clock SET trusted = 4102444800000')
    expect((await check()).levels['store-clock']).toBe('error')
  })

  test('a damaged file is an error', async () => {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    const file = openSync(path, 'r+')
    // Behind the first page, whose header is read when the file is opened.
    writeSync(file, Buffer.alloc(8192, 0x55), 0, 8192, 4096)
    closeSync(file)
    expect((await check()).levels['sqlite-integrity']).toBe('error')
  })

  test('a writer at the same time is no trouble', async () => {
    database.exec('BEGIN IMMEDIATE')
    expect((await check()).levels['store-writable']).toBe('ok')
    database.exec('ROLLBACK')
  })

  test('a file that does not exist is not created', async () => {
    const other = join(folder, 'other.db')
    const { exitCode, find } = await runDoctor(['--json', '--store', `sqlite:${other}`])
    expect(exitCode).toBe(3)
    expect(find('store-reachable')).toMatchObject({
      level: 'error',
      fix: expect.stringContaining('Check the path'),
    })
    expect(existsSync(other)).toBe(false)
  })

  test('a replica of a process becomes fresh, without a change of the data', async () => {
    const before = readChanges()
    const { levels, document } = await check('--replica')
    expect(levels['replica-fresh']).toBe('ok')
    expect(document.replica).toMatchObject({ entries: 1, isWoken: null })
    expect(readChanges()).toEqual(before)
  })
})
