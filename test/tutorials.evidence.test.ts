import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { describeWithOwnServer } from './helpers/servers/describe-with-servers.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const tutorials = readdirSync(`${root}/docs/tutorials`).map((file) => basename(file, '.md'))
// Most of it is npm, which installs a whole project.
const LIMIT_MS = 20 * 60_000

describeWithOwnServer('redis', 'following docs/tutorials', () => {
  describeWithOwnServer('chromium', 'with a browser', () => {
    test.each(tutorials)(
      '%s leads to a product that works in two processes',
      async (name) => {
        // The packages are built before the tests; building them again would disturb the tests beside this one.
        const args = ['tools/consumers', '--tutorial', name, '--built']
        const run = promisify(execFile)(process.execPath, args, { cwd: root })
        const output = await run.then(
          ({ stdout }) => stdout,
          (error: { readonly stdout: string; readonly stderr: string }) => error.stdout + error.stderr,
        )
        expect(output).toMatch(new RegExp(`^works +${name} `, 'm'))
      },
      LIMIT_MS,
    )
  })
})
