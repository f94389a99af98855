import { execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import mysql from 'mysql2/promise'
import { findMysql, type MysqlBinaries } from './find-servers.js'
import { createGuardedFolder, type GuardedFolder, type Owner } from './guarded-folder.js'
import { type RunningServer, startServerProcess } from './server-process.js'

/** Options of the server by name. */
export type MysqlSettings = Readonly<Record<string, string>>

/** A MariaDB or MySQL of the caller's own. */
export interface RunningMysql extends RunningServer {
  /** Makes an empty database and returns its URL. */
  createDatabase(name?: string): Promise<string>
}

/**
 * Starts a MariaDB, or a MySQL, of the caller's own, durable as a real one unless `settings` say otherwise. `data` is a
 * copy of the data folder of another one, to start from.
 */
export async function startMysql(settings: MysqlSettings = {}, data?: string): Promise<RunningMysql> {
  const binaries = findMysql()
  if (binaries === null) throw new Error('There is no MariaDB server on this machine.')
  const owner = findOwner()
  const folder = createGuardedFolder('tokenlib-mysql-', 'KILL', owner)
  const place = join(folder.path, 'data')
  if (data === undefined) await initialize(binaries, place, folder, owner)
  else copyData(data, place)
  const init = join(folder.path, 'init.sql')
  writeFileSync(init, INIT)
  const options = { ...DEFAULTS, 'init-file': init, ...settings }
  const server = await startServerProcess({
    command: binaries.server,
    args: (port) => [
      '--no-defaults',
      `--datadir=${place}`,
      `--socket=${join(folder.path, 'socket')}`,
      `--pid-file=${join(folder.path, 'pid')}`,
      `--port=${port}`,
      ...Object.entries(options).map(([name, value]) => `--${name}=${value}`),
    ],
    url: (port) => `mysql://tokenlib@127.0.0.1:${port}/tokenlib`,
    folder,
    owner,
    endSignal: 'SIGKILL',
    isReady: /ready for connections\.\s+Version/,
  })
  return Object.assign(server, { createDatabase: (name?: string) => createDatabase(server.url, name) })
}

/** Copies the data folder of a server that was stopped. */
export function copyData(from: string, to: string): void {
  cpSync(from, to, { recursive: true })
  const owner = findOwner()
  if (owner !== undefined) execFileSync('chown', ['-R', `${owner.uid}:${owner.gid}`, to])
}

/** Makes an empty database on the server of `url`, and returns its URL. */
export async function createDatabase(url: string, name: string = createDatabaseName()): Promise<string> {
  await runSql(url, `create database \`${name}\``)
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

/** Runs a statement on a connection of its own, and returns its rows. */
export async function runSql(
  url: string,
  sql: string,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const connection = await mysql.createConnection(url)
  try {
    const [rows] = await connection.query(sql)
    return rows as Record<string, unknown>[]
  } finally {
    await connection.end()
  }
}

/** Makes a server follow the one on a port. */
export async function follow(replica: string, port: number): Promise<void> {
  const [server] = await runSql(replica, 'select version() as version')
  const from = { host: `'127.0.0.1'`, port, user: `'tokenlib'` }
  const toOptions = (prefix: string, more: object): string =>
    Object.entries({ ...from, ...more })
      .map(([name, value]) => `${prefix}_${name} = ${value}`)
      .join()
  await runSql(
    replica,
    String(server?.['version']).includes('MariaDB')
      ? `change master to ${toOptions('master', { use_gtid: 'slave_pos' })}`
      : `change replication source to ${toOptions('source', { auto_position: 1 })}, get_source_public_key = 1`,
  )
  await runSql(replica, 'start replica')
}

const INIT = `create database if not exists tokenlib;
create user if not exists 'tokenlib'@'%';
grant all on *.* to 'tokenlib'@'%' with grant option;
`

const DEFAULTS: MysqlSettings = {
  'bind-address': '127.0.0.1',
  'skip-name-resolve': 'ON',
  'performance-schema': 'OFF',
  'max-connections': '300',
  'innodb-buffer-pool-size': '64M',
  // MySQL would listen on a second port, which has one number for all servers, and wants a folder of its distribution.
  'loose-mysqlx': 'OFF',
  'secure-file-priv': '',
}

/** The server refuses to run as root. */
function findOwner(): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (const name of ['mysql', 'nobody']) {
    try {
      const [uid, gid] = ['-u', '-g'].map((option) =>
        Number(execFileSync('id', [option, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })),
      )
      return { uid: uid as number, gid: gid as number }
    } catch {}
  }
  throw new Error('MariaDB refuses to run as root, and there is no user "mysql" or "nobody".')
}

/** Makes a data folder; removes the folder around it if that fails. */
async function initialize(
  { server, install }: MysqlBinaries,
  data: string,
  folder: GuardedFolder,
  owner: Owner | undefined,
): Promise<void> {
  const [command, args] =
    install === null
      ? [server, ['--no-defaults', '--initialize-insecure', `--datadir=${data}`]]
      : [
          install,
          [
            '--no-defaults',
            `--datadir=${data}`,
            '--auth-root-authentication-method=normal',
            '--skip-test-db',
          ],
        ]
  if (owner !== undefined) chownSync(folder.path, owner.uid, owner.gid)
  const child = spawn(command, args, {
    ...owner,
    cwd: folder.path,
    detached: true,
    env: { ...process.env, LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  folder.watch(child.pid ?? null)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  const [code] = (await once(child, 'close')) as [number | null]
  folder.watch(null)
  if (code === 0) return
  await folder.remove()
  throw new Error(`${command} failed:\n${output}`)
}
