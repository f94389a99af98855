import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, onTestFinished, test } from 'vitest'
import { describeWithRedis } from '../helpers/servers/describe-with-servers.js'

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

interface Report {
  readonly checks: number
  readonly statuses: readonly number[]
}

async function receive(child: ChildProcess): Promise<unknown> {
  const gone = once(child, 'exit').then(() => Promise.reject(new Error('The process ended')))
  const [message] = (await Promise.race([once(child, 'message'), gone])) as [unknown]
  return message
}

describeWithRedis('rate limits that count in Redis', (url) => {
  test('hold for the guesses of several processes at the same time', async () => {
    mkdirSync(file('../../build'), { recursive: true })
    // Inside of the repository, so that the packages it imports are found.
    const folder = mkdtempSync(file('../../build/rate-limiting-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const program = join(folder, 'child.mjs')
    await build({
      entryPoints: [file('rate-limiting-child.ts')],
      packages: 'external',
      outfile: program,
      bundle: true,
      platform: 'node',
      format: 'esm',
      logLevel: 'error',
    })

    const given = [url, `limit-${randomUUID()}`, randomBytes(32).toString('base64url')]
    const children = [1, 2, 3].map(() => fork(program, given, { execArgv: [] }))
    onTestFinished(() => children.forEach((child) => child.kill('SIGKILL')))
    await Promise.all(children.map(receive))
    const replies = Promise.all(children.map(receive))
    for (const child of children) child.send(50)
    const reports = (await replies) as Report[]

    expect(reports.reduce((sum, { checks }) => sum + checks, 0)).toBe(5)
    const statuses = reports.flatMap((report) => report.statuses)
    expect(statuses.filter((status) => status === 401)).toHaveLength(5)
    expect(statuses.filter((status) => status === 429)).toHaveLength(145)
  })
})
