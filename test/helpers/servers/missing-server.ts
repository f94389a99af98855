import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { installRuntime } from '../../../tools/runtimes/runtime-binaries.js'
import {
  findChromium,
  findFirefox,
  findMysql,
  findNats,
  findPostgres,
  findProgram,
  findRedis,
  findSpin,
  findWorkerd,
} from './find-servers.js'

/** The servers that tests use, the browsers, the model checker, and the runtime of Workers. */
export type ServerKind = 'redis' | 'postgres' | 'mysql' | 'nats' | 'chromium' | 'firefox' | 'spin' | 'workerd'

/** What the decision about a missing server depends on. */
export interface Machine {
  readonly platform: string
  readonly uid: number | undefined
  /** The text of /etc/os-release. */
  readonly osRelease: string
  readonly hasApt: boolean
  /** Whether a URL names the shared server, so that only the tests that kill servers lack one. */
  readonly hasUrl: boolean
  readonly ci: boolean
}

/** What to do about a missing server, and the line that says so. */
export interface MissingDecision {
  readonly action: 'install' | 'skip' | 'fail'
  readonly message: string
}

/** Decides what happens when a server is not on the machine: tests must not be skipped silently, in CI not at all. */
export function decideMissing(kind: ServerKind, machine: Machine): MissingDecision {
  const { title, binary, debian, homebrew, variable } = PROGRAMS[kind]
  // From npm, like the packages that this repository needs in any case.
  if (kind === 'workerd')
    return { action: 'install', message: `${title} is missing: installing it from npm.` }
  const isDebian = machine.platform === 'linux' && /^ID="?(?:debian|ubuntu)"?$/m.test(machine.osRelease)
  if (isDebian && machine.uid === 0 && machine.hasApt) {
    return { action: 'install', message: `${title} is missing: installing the package ${debian}.` }
  }
  const remedy = machine.platform === 'darwin' ? `brew install ${homebrew}` : `apt-get install ${debian}`
  const remedies = machine.hasUrl ? remedy : `${remedy}, or set ${variable}`
  return refuse(kind, machine, `there is no ${binary} on this machine (${remedies})`)
}

/** Finds a server on this machine, installs it if that is possible, or says why there is none. */
export async function ensureServer(
  kind: ServerKind,
  log: (line: string) => void,
): Promise<MissingServer | null> {
  const { debian, variable, find } = PROGRAMS[kind]
  if (find() !== null) return null
  const machine = readMachine(kind)
  const decision = decideMissing(kind, machine)
  log(decision.message)
  if (decision.action !== 'install') return { fails: decision.action === 'fail', reason: decision.message }
  try {
    await (kind === 'workerd' ? installRuntime(kind) : install(debian))
    if (find() !== null) return null
    throw new Error(`the package ${debian} did not bring it`)
  } catch (error) {
    const text = (error as Error).message
    const why = /^E: .*/m.exec(text)?.[0] ?? text
    const { action, message } = refuse(kind, machine, machine.hasUrl ? why : `${why} (or set ${variable})`)
    log(message)
    return { fails: action === 'fail', reason: message }
  }
}

/** Why there is no server, and whether that fails the tests. */
export interface MissingServer {
  readonly fails: boolean
  readonly reason: string
}

/** The server that the user wants the tests to share, or null. */
export function readGivenUrl(kind: ServerKind): string | null {
  // CHROME_PATH, FIREFOX_PATH and SPIN_PATH name a program, which the tests start themselves.
  const isServer = kind === 'redis' || kind === 'postgres' || kind === 'mysql' || kind === 'nats'
  return (isServer && process.env[PROGRAMS[kind].variable]) || null
}

const PROGRAMS = {
  redis: {
    title: 'Redis',
    binary: 'redis-server or valkey-server',
    debian: 'redis-server',
    homebrew: 'redis',
    variable: 'REDIS_URL',
    find: findRedis,
  },
  postgres: {
    title: 'PostgreSQL',
    binary: 'postgres',
    debian: 'postgresql',
    homebrew: 'postgresql',
    variable: 'DATABASE_URL',
    find: findPostgres,
  },
  mysql: {
    title: 'MariaDB',
    binary: 'mariadbd or mysqld',
    debian: 'mariadb-server',
    homebrew: 'mariadb',
    variable: 'MYSQL_URL',
    find: findMysql,
  },
  nats: {
    title: 'NATS',
    binary: 'nats-server',
    debian: 'nats-server',
    homebrew: 'nats-server',
    variable: 'NATS_URL',
    find: findNats,
  },
  chromium: {
    title: 'Chromium',
    binary: 'chromium or google-chrome',
    debian: 'chromium',
    homebrew: '--cask chromium',
    variable: 'CHROME_PATH',
    find: findChromium,
  },
  firefox: {
    title: 'Firefox',
    binary: 'firefox-esr or firefox',
    debian: 'firefox-esr',
    homebrew: '--cask firefox',
    variable: 'FIREFOX_PATH',
    find: findFirefox,
  },
  spin: {
    title: 'Spin',
    binary: 'spin, or no cc,',
    debian: 'spin',
    homebrew: 'spin',
    variable: 'SPIN_PATH',
    find: findSpin,
  },
  workerd: {
    title: 'workerd',
    binary: 'workerd',
    debian: 'workerd',
    homebrew: 'workerd',
    variable: 'WORKERD_PATH',
    find: findWorkerd,
  },
} as const

function refuse(kind: ServerKind, { ci, hasUrl }: Machine, why: string): MissingDecision {
  const tests = `The tests ${hasUrl ? 'that kill' : 'with'} ${PROGRAMS[kind].title}`
  return { action: ci ? 'fail' : 'skip', message: `${tests} ${ci ? 'cannot run' : 'are skipped'}: ${why}.` }
}

function readMachine(kind: ServerKind): Machine {
  return {
    platform: process.platform,
    uid: process.getuid?.(),
    osRelease: readText('/etc/os-release'),
    hasApt: findProgram('apt-get') !== null,
    hasUrl: readGivenUrl(kind) !== null,
    ci: process.env['CI'] === 'true',
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

let lastInstall: Promise<unknown> = Promise.resolve()

/** One at a time: apt-get does not wait for its own locks. */
async function install(name: string): Promise<void> {
  const next = lastInstall.then(() => runInstall(name))
  lastInstall = next.catch(() => undefined)
  await next
}

/** The package's own service must not start: the first variable tells that to systemd, the second to sysvinit. */
async function runInstall(name: string): Promise<void> {
  const env = { ...process.env, SYSTEMD_OFFLINE: '1', RUNLEVEL: '1', DEBIAN_FRONTEND: 'noninteractive' }
  const apt = (...args: string[]) =>
    promisify(execFile)('apt-get', ['-o', 'DPkg::Lock::Timeout=300', '-qq', ...args], { env })
  const installPackage = () => apt('install', '-y', '--no-install-recommends', name)
  await installPackage().catch(async () => {
    await apt('update')
    await installPackage()
  })
}
