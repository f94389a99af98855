import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { findOrInstall } from './find-program.js'

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
  const { startRedis: startPrivate } = await importTestHelper('test/helpers/servers/start-redis.ts')
  return startPrivate()
}

// The helpers of the tests are TypeScript.
async function importTestHelper(path) {
  const root = fileURLToPath(new URL('..', import.meta.url))
  mkdirSync(join(root, 'build'), { recursive: true })
  const folder = mkdtempSync(join(root, 'build', 'bench-'))
  const outfile = join(folder, 'helper.mjs')
  try {
    await build({
      entryPoints: [join(root, path)],
      outfile,
      bundle: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
      logLevel: 'error',
    })
    return await import(pathToFileURL(outfile).href)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
