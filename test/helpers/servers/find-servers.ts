import { execFileSync } from 'node:child_process'
import { accessSync, constants, readdirSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { findRuntime } from '../../../tools/runtimes/runtime-binaries.js'

/** Where the programs of Redis, or of Valkey, are. */
export interface RedisBinaries {
  readonly server: string
}

/** Where the programs of PostgreSQL are. */
export interface PostgresBinaries {
  readonly postgres: string
  readonly initdb: string
  readonly psql: string
  readonly basebackup: string
}

/** Where the programs of MariaDB are, or of MySQL, which needs no other one to make a data folder. */
export interface MysqlBinaries {
  readonly server: string
  readonly install: string | null
}

/** Where the programs are that check a model. */
export interface SpinBinaries {
  readonly spin: string
  readonly compiler: string
}

/** The Redis or Valkey of this machine, or null. */
export function findRedis(): RedisBinaries | null {
  const server = findProgram('redis-server') ?? findProgram('valkey-server')
  return server === null ? null : { server }
}

/** The newest PostgreSQL of this machine, or null; distributions keep its server out of PATH. */
export function findPostgres(): PostgresBinaries | null {
  const folders = [...pathFolders(), ...POSTGRES_PLACES.flatMap(newestFirst)]
  const folder = folders.find(holdsPostgres) ?? askPgConfig()
  if (folder === null) return null
  return {
    postgres: join(folder, 'postgres'),
    initdb: join(folder, 'initdb'),
    psql: join(folder, 'psql'),
    basebackup: join(folder, 'pg_basebackup'),
  }
}

/** The MariaDB of this machine, else its MySQL, or null; `MYSQL_PATH` names the `mysqld` of a MySQL instead. */
export function findMysql(): MysqlBinaries | null {
  const given = process.env['MYSQL_PATH']
  if (given && !isExecutable(given)) throw new Error(`MYSQL_PATH is no program: ${given}`)
  if (given) return { server: given, install: null }
  const [server, install] = [findProgram('mariadbd'), findProgram('mariadb-install-db')]
  if (server !== null && install !== null) return { server, install }
  const mysqld = findProgram('mysqld')
  return mysqld === null ? null : { server: mysqld, install: null }
}

/** The NATS server of this machine, or null. */
export function findNats(): string | null {
  return findProgram('nats-server')
}

/** The Chromium or Chrome of this machine, or null; `CHROME_PATH` names another one. */
export function findChromium(): string | null {
  const given = process.env['CHROME_PATH']
  // A wish that cannot be granted is an error: the tests would run in another browser, or in none.
  if (given && !isExecutable(given)) throw new Error(`CHROME_PATH is no program: ${given}`)
  return given || (CHROMIUM_NAMES.map(findProgram).find((path) => path !== null) ?? null)
}

/** The Firefox of this machine, or null; `FIREFOX_PATH` names another one. */
export function findFirefox(): string | null {
  const given = process.env['FIREFOX_PATH']
  if (given && !isExecutable(given)) throw new Error(`FIREFOX_PATH is no program: ${given}`)
  return given || (FIREFOX_NAMES.map(findProgram).find((path) => path !== null) ?? null)
}

/** The model checker Spin and a C compiler, or null; `SPIN_PATH` names another Spin. */
export function findSpin(): SpinBinaries | null {
  const given = process.env['SPIN_PATH']
  if (given && !isExecutable(given)) throw new Error(`SPIN_PATH is no program: ${given}`)
  const [spin, compiler] = [given || findProgram('spin'), findProgram('cc')]
  return spin === null || compiler === null ? null : { spin, compiler }
}

/** The workerd that was installed from npm, or null; `WORKERD_PATH` names another one. */
export function findWorkerd(): string | null {
  const given = process.env['WORKERD_PATH']
  if (given && !isExecutable(given)) throw new Error(`WORKERD_PATH is no program: ${given}`)
  return given || findRuntime('workerd')
}

/** A program by its path, or in PATH or where package managers put programs; or null. */
export function findProgram(name: string): string | null {
  return (
    pathFolders()
      .map((folder) => resolve(folder, name))
      .find(isExecutable) ?? null
  )
}

const CHROMIUM_NAMES = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

const FIREFOX_NAMES = ['firefox-esr', 'firefox', '/Applications/Firefox.app/Contents/MacOS/firefox']

const POSTGRES_PLACES = [
  ['/usr/lib/postgresql', /^\d/, 'bin'],
  ['/usr', /^pgsql-\d/, 'bin'],
  ['/opt/homebrew/opt', /^postgresql@\d/, 'bin'],
  ['/usr/local/opt', /^postgresql@\d/, 'bin'],
  ['/Applications/Postgres.app/Contents/Versions', /^\d/, 'bin'],
] as const

function pathFolders(): string[] {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return [...folders, '/opt/homebrew/bin', '/usr/local/bin', '/usr/sbin']
}

function newestFirst([folder, pattern, below]: (typeof POSTGRES_PLACES)[number]): string[] {
  const version = (name: string): number => Number(/\d+(?:\.\d+)?/.exec(name)?.[0])
  const names = readFolder(folder).filter((name) => pattern.test(name))
  return names.toSorted((a, b) => version(b) - version(a)).map((name) => join(folder, name, below))
}

function readFolder(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function askPgConfig(): string | null {
  try {
    const folder = execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim()
    return holdsPostgres(folder) ? folder : null
  } catch {
    return null
  }
}

function holdsPostgres(folder: string): boolean {
  return ['postgres', 'initdb', 'psql'].every((name) => isExecutable(join(folder, name)))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
