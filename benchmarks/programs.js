import { execFile } from 'node:child_process'
import { accessSync, constants, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { importTypeScript } from '../tools/shared/import-typescript.js'

/**
 * @typedef {object} RunningRedis
 * @property {string} url
 * @property {() => Promise<void>} stop
 */

/**
 * A Redis for this run, started as the tests start theirs: the one of `REDIS_URL`, or a private one; null without any.
 *
 * @param {(line: string) => void} log
 * @returns {Promise<RunningRedis | null>}
 */
export async function startRedis(log) {
  const given = process.env['REDIS_URL']
  if (given) return { url: given, stop: async () => {} }
  const program = await findOrInstall(['redis-server', 'valkey-server'], 'redis-server', log)
  if (program === null) {
    log('There is no redis-server: contestants that ask Redis are left out.')
    return null
  }
  const { startRedis: startPrivate } = await importTypeScript('test/helpers/servers/start-redis.ts')
  return startPrivate()
}

/**
 * The first of these programs that is on the machine. As root on Debian and Ubuntu its package is installed if none is.
 *
 * @param {readonly string[]} names
 * @param {string} debian The package that has it.
 * @param {(line: string) => void} log
 * @returns {Promise<string | null>}
 */
export async function findOrInstall(names, debian, log) {
  const found = findProgram(names)
  if (found !== null || !canInstall()) return found
  log(`${names.join(' or ')} is missing: installing the package ${debian}.`)
  await install(debian).catch((error) => log(`That failed: ${error.message.split('\n')[0]}`))
  return findProgram(names)
}

function findProgram(names) {
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    '/opt/homebrew/bin',
    '/usr/local/bin',
    '/usr/sbin',
  ]
  const paths = names.flatMap((name) => folders.map((folder) => join(folder, name)))
  return paths.find(isExecutable) ?? null
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function canInstall() {
  if (process.platform !== 'linux' || process.getuid() !== 0 || findProgram(['apt-get']) === null)
    return false
  try {
    return /^ID="?(?:debian|ubuntu)"?$/m.test(readFileSync('/etc/os-release', 'utf8'))
  } catch {
    return false
  }
}

// The variables keep the service of a package from starting: the first is for systemd, the second for sysvinit.
async function install(name) {
  const env = { ...process.env, SYSTEMD_OFFLINE: '1', RUNLEVEL: '1', DEBIAN_FRONTEND: 'noninteractive' }
  const apt = (...args) =>
    promisify(execFile)('apt-get', ['-o', 'DPkg::Lock::Timeout=60', '-qq', ...args], { env })
  const installPackage = () => apt('install', '-y', '--no-install-recommends', name)
  await installPackage().catch(async () => {
    await apt('update')
    await installPackage()
  })
}
