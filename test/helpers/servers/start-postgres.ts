import { execFile, execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findPostgres, findProgram } from './find-servers.js'
import { createGuardedFolder, type GuardedFolder, type Owner } from './guarded-folder.js'
import { type RunningServer, startServerProcess } from './server-process.js'

/** Lines of postgresql.conf by name. */
export type PostgresSettings = Readonly<Record<string, string>>

/** A PostgreSQL of the caller's own. */
export interface RunningPostgres extends RunningServer {
  /** Makes an empty database and returns its URL. */
  createDatabase(name?: string): Promise<string>
}

/**
 * Starts a PostgreSQL of the caller's own, durable as a real one unless `settings` say otherwise; with the URL of a
 * primary it is a standby of that one.
 */
export async function startPostgres(
  settings: PostgresSettings = {},
  primaryUrl?: string,
): Promise<RunningPostgres> {
  const binaries = findPostgres()
  if (binaries === null) throw new Error('There is no PostgreSQL server on this machine.')
  const owner = findOwner()
  const folder = createGuardedFolder('tokenlib-postgres-', 'QUIT', owner)
  const data = join(folder.path, 'data')
  if (primaryUrl === undefined) {
    const options = ['--auth=trust', '-U', 'postgres', '--no-sync', '--locale=C', '--encoding=UTF8']
    await fillFolder(binaries.initdb, ['-D', data, ...options], folder, owner)
  } else {
    await fillFolder(
      binaries.basebackup,
      ['-D', data, '-d', primaryUrl, '-R', ...BACKUP_OPTIONS],
      folder,
      owner,
    )
  }
  const configuration = Object.entries({
    ...DEFAULTS,
    unix_socket_directories: folder.path,
    ...settings,
  }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = await startServerProcess({
    command: binaries.postgres,
    args: (port) => ['-D', data, '-p', String(port), ...configuration],
    url: (port) => `postgres://postgres@127.0.0.1:${port}/postgres`,
    folder,
    owner,
    endSignal: 'SIGQUIT',
    afterEnd: () => removeSharedMemory(data),
  })
  return Object.assign(server, { createDatabase: (name?: string) => createDatabase(server.url, name) })
}

/** Makes an empty database on the server of `url`, and returns its URL. */
export async function createDatabase(url: string, name: string = createDatabaseName()): Promise<string> {
  await runSql(url, `CREATE DATABASE "${name}" TEMPLATE template0`)
  return withDatabase(url, name)
}

/** A database name that nobody else uses. */
export function createDatabaseName(): string {
  return `tokenlib_${randomUUID().replaceAll('-', '')}`
}

/** The URL of another database on the same server. */
export function withDatabase(url: string, name: string): string {
  const other = new URL(url)
  other.pathname = `/${name}`
  return other.href
}

/** Runs SQL with psql, and returns the rows as text: one per line, columns split by `|`. */
export async function runSql(url: string, sql: string): Promise<string> {
  const psql = findPostgres()?.psql ?? findProgram('psql')
  if (psql === null) throw new Error('There is no psql on this machine.')
  const { stdout } = await promisify(execFile)(psql, ['-XAtq', '-v', 'ON_ERROR_STOP=1', '-c', sql, url])
  return stdout.trim()
}

/** Copies the data of a running server into a folder that its user may write to. */
export async function backUpPostgres(url: string, path: string): Promise<void> {
  const binaries = findPostgres()
  if (binaries === null) throw new Error('There is no PostgreSQL server on this machine.')
  await promisify(execFile)(binaries.basebackup, ['-D', path, '-d', url, ...BACKUP_OPTIONS], {
    ...findOwner(),
    cwd: '/',
  })
}

// As soon as possible, and not safe from a loss of power.
const BACKUP_OPTIONS = ['-c', 'fast', '--no-sync']

const DEFAULTS: PostgresSettings = {
  listen_addresses: '127.0.0.1',
  max_connections: '200',
  // In files below the data folder, so that it goes with the folder even after a kill -9.
  dynamic_shared_memory_type: 'mmap',
}

/** PostgreSQL refuses to run as root. */
function findOwner(): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = ['-u', '-g'].map((option) =>
        Number(execFileSync('id', [option, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })),
      )
      return { uid: uid as number, gid: gid as number }
    } catch {}
  }
  throw new Error('PostgreSQL refuses to run as root, and there is no user "postgres" or "nobody".')
}

/** Runs a program that makes a data folder; removes the folder around it if that fails. */
async function fillFolder(
  program: string,
  args: readonly string[],
  folder: GuardedFolder,
  owner?: Owner,
): Promise<void> {
  const child = spawn(program, args, {
    ...owner,
    cwd: folder.path,
    detached: true,
    env: { ...process.env, LC_ALL: 'C' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  folder.watch(child.pid ?? null)
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  const [code] = (await once(child, 'close')) as [number | null]
  folder.watch(null)
  if (code === 0) return
  await folder.remove()
  throw new Error(`${program} failed:\n${errors}`)
}

/** A server that was killed leaves a segment of shared memory behind, and some systems have room for only 32. */
function removeSharedMemory(data: string): void {
  try {
    const line = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[6] ?? ''
    execFileSync('ipcrm', ['-m', line.trim().split(/\s+/)[1] ?? ''], { stdio: 'ignore' })
  } catch {}
}
