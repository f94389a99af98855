// Follows a page of docs/tutorials literally, in an empty folder, and checks the product that this makes.
//
// A block with the path of a file behind its language is written to that file. `sh` blocks are run, all in one shell, in
// the order of the page. The lines `PORT=… <command>` of `console` blocks start the processes; other lines there are
// for readers, such as the start of a Redis that this tool has already started.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findPort } from '../../test/consumers/shared/server.mjs'
import { importTypeScript } from '../shared/import-typescript.js'
import { runLogged } from '../shared/processes.js'
import { root } from '../shared/root.js'
import { checkProduct } from './check-product.js'

const TIMEOUT_MS = 15 * 60_000

/** Builds the product of a page in `folder`, and runs it; rejects if anything fails. */
export async function runTutorial(page, folder, { packages, env, log }) {
  const steps = readSteps(readFileSync(join(root, page), 'utf8'))
  mkdirSync(folder, { recursive: true })
  for (const { tarball } of packages) copyFileSync(tarball, join(folder, basename(tarball)))
  const { startRedis } = await importTypeScript('test/helpers/servers/start-redis.ts')
  const redis = await startRedis()
  try {
    // A reader answers "y" when npx asks.
    const answers = { npm_config_yes: 'true' }
    const built = await build(steps, folder, { env: { ...env, ...answers, REDIS_URL: redis.url }, log })
    const commands = readCommands(steps)
    if (commands.length !== 2) throw new Error(`${page} starts ${commands.length} processes, not two`)
    const servers = []
    const end = () => servers.forEach(({ child }) => child.kill('SIGKILL'))
    process.once('exit', end)
    try {
      for (const command of commands) servers.push(await startServer(command, built, log))
      await Promise.all(servers.map(waitForAnswer))
      await checkProduct(servers, redis)
    } finally {
      process.off('exit', end)
      end()
    }
  } finally {
    await redis.stop()
  }
}

/** The blocks of a page, in order: `{ language, path, code }`, with an empty path for those without. */
function readSteps(page) {
  const blocks = page.matchAll(/^```(\w+)(?: (\S+))?\n([^]*?)^```$/gm)
  return Array.from(blocks, ([, language, path = '', code]) => ({ language, path, code }))
}

/** Writes the files and runs the shell blocks; returns the environment and the folder that the shell ends with. */
async function build(steps, folder, { env, log }) {
  const staged = `${folder}-steps`
  mkdirSync(staged)
  const at = (name) => join(staged, String(name))
  const lines = steps.flatMap(({ language, path, code }, index) => {
    if (path !== '') {
      writeFileSync(at(index), code)
      return [`mkdir -p "$(dirname '${path}')"`, `cp '${at(index)}' '${path}'`]
    }
    return language === 'sh' ? [code] : []
  })
  const script = [
    'set -euxo pipefail',
    ...lines,
    `pwd > '${at('folder')}'`,
    `env -0 > '${at('environment')}'`,
  ]
  writeFileSync(at('script'), script.join('\n'))
  const { output, code } = await runLogged('bash', [at('script')], {
    cwd: folder,
    env,
    log,
    timeoutMs: TIMEOUT_MS,
  })
  if (code !== 0) throw new Error(`A step failed: ${output.trim().split('\n').slice(-3).join(' | ')}`)
  const variables = readFileSync(at('environment'), 'utf8').split('\0').filter(Boolean)
  return {
    cwd: readFileSync(at('folder'), 'utf8').trim(),
    env: Object.fromEntries(variables.map((one) => [one.split('=', 1)[0], one.slice(one.indexOf('=') + 1)])),
  }
}

function readCommands(steps) {
  const text = steps.filter(({ language }) => language === 'console').map(({ code }) => code)
  return Array.from(text.join('').matchAll(/^PORT=\d+ (.+)$/gm), ([, command]) => command)
}

const START_TIMEOUT_MS = 60_000

/** Starts one process of the product on a free port. */
async function startServer(command, { cwd, env }, log) {
  const port = await findPort()
  const child = spawn('bash', ['-c', `exec ${command}`], {
    cwd,
    env: { ...env, PORT: port },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => log.write(text))
  const ended = once(child, 'exit').then(([code, signal]) => ({ code, signal }))
  return { command, origin: `http://localhost:${port}`, child, ended }
}

async function waitForAnswer({ command, origin, child }) {
  const deadline = performance.now() + START_TIMEOUT_MS
  const answers = () =>
    fetch(`${origin}/health`).then(
      () => true,
      () => false,
    )
  while (!(await answers())) {
    if (child.exitCode !== null) throw new Error(`"${command}" ended with ${child.exitCode}`)
    if (performance.now() > deadline) throw new Error(`"${command}" does not answer`)
    await sleep(100)
  }
}
