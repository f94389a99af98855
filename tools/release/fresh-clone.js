import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../shared/root.js'
import { readEnvironment, readLine, runCommand } from './commands.js'
import { git } from './repository.js'

const START_TIMEOUT_MS = 10 * 60_000

/** The two commands of the README's "Try it": the one that starts the example, and the one that runs the tests. */
export function readCommands(readme = readFileSync(join(root, 'README.md'), 'utf8')) {
  const block = /^## Try it\n+```sh\n([^]*?)^```/m.exec(readme)?.[1] ?? ''
  const commands = block.split('\n').map((line) => line.replace(/ +#.*$/, '').trim())
  const [start, test] = ['npm start', 'npm test'].map((end) => commands.find((line) => line.endsWith(end)))
  if (start === undefined || test === undefined) {
    throw new Error(
      '"Try it" in README.md must have a command that ends with "npm start", and one with "npm test"',
    )
  }
  return { start, test }
}

/** The first command of the README, in a fresh clone of the committed state: the page of the example answers. */
export async function checkStart() {
  return inClone(async (folder) => {
    const { start } = readCommands()
    const port = await findFreePort()
    const url = await startAndFetch(`${start} -- --port ${port}`, port, folder)
    return `${start}: ${url} answers`
  })
}

/** The second command of the README, in a fresh clone of the committed state. */
export async function checkCloneTests() {
  return inClone(async (folder) => {
    const { test } = readCommands()
    const output = await runCommand(test, [], { name: 'clone-test', cwd: folder, shell: true })
    return `${test}: ${readLine(output, /^\s*Tests? .*passed/, 'passed')}`
  })
}

async function inClone(check) {
  const folder = mkdtempSync(join(tmpdir(), 'tokenlib-clone-'))
  try {
    await git('clone', '--quiet', '--no-local', '--depth', '1', `file://${root}`, folder)
    return await check(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** Runs the command until its page has answered, then ends it and what it has started. */
async function startAndFetch(command, port, cwd) {
  const child = spawn(command, {
    cwd,
    shell: true,
    detached: true,
    env: readEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text))
  const timeout = AbortSignal.timeout(START_TIMEOUT_MS)
  const closed = once(child, 'close', { signal: timeout }).catch(() => undefined)
  try {
    let isClosed = false
    void closed.then(() => (isClosed = true))
    while (!output.includes('Stop with Ctrl-C')) {
      if (isClosed)
        throw new Error(`${command} did not start\n${output.trimEnd().split('\n').slice(-20).join('\n')}`)
      await Promise.race([once(child.stdout, 'data'), closed])
    }
    const url = `http://127.0.0.1:${port}/app`
    const response = await fetch(url, { signal: timeout })
    if (response.status !== 200) throw new Error(`${url} answered ${response.status}`)
    return url
  } finally {
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
    await closed
  }
}

async function findFreePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}
