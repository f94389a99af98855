// Runs the everyday suite again and again while every core is busy, and lists what failed: exit 1 if anything did.
// node tools/suites/repeat.js [times, 20 by default]
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const times = Number(process.argv[2] ?? 20)
if (!Number.isSafeInteger(times) || times < 1) {
  console.error('node tools/suites/repeat.js [times]')
  process.exit(2)
}

const folder = mkdtempSync(join(tmpdir(), 'tokenlib-repeat-'))
const busy = Array.from({ length: availableParallelism() }, () =>
  spawn(process.execPath, ['--eval', 'for (;;);'], { stdio: 'ignore' }),
)
const failures = new Map()
let failedRuns = 0
try {
  for (let round = 1; round <= times; round++) {
    const startedAt = performance.now()
    const file = join(folder, `${round}.json`)
    const { code, output } = await run('npm', ['test', '--', '--reporter=json', `--outputFile=${file}`])
    const failed = code === 0 ? [] : readFailures(file, output)
    if (code !== 0) failedRuns++
    for (const { name, message } of failed) {
      const known = failures.get(name) ?? { count: 0, message }
      failures.set(name, { ...known, count: known.count + 1 })
    }
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    console.log(
      `run ${round} of ${times}: ${seconds} s, ${code === 0 ? 'passed' : `${failed.length} failed`}`,
    )
  }
} finally {
  for (const child of busy) child.kill('SIGKILL')
  rmSync(folder, { recursive: true })
}

for (const [name, { count, message }] of failures) console.log(`\n${count} of ${times}: ${name}\n${message}`)
console.log(`\n${times} runs under load, ${failedRuns} failed`)
process.exitCode = failedRuns === 0 ? 0 : 1

function run(command, args) {
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (output += text))
  }
  return new Promise((resolve) => void child.on('close', (code) => resolve({ code, output })))
}

/** The tests and files that failed; the end of the output if vitest could not say. */
function readFailures(file, output) {
  let results
  try {
    results = JSON.parse(readFileSync(file, 'utf8')).testResults
  } catch {
    return [{ name: 'vitest', message: output.slice(-3000) }]
  }
  const failed = results.flatMap(({ name, message, status, assertionResults }) => {
    const path = relative(root, name)
    const tests = assertionResults.filter((test) => test.status === 'failed')
    if (tests.length > 0) {
      return tests.map((test) => ({
        name: `${path}: ${test.fullName}`,
        message: test.failureMessages.join('\n').slice(0, 2000),
      }))
    }
    return status === 'failed' ? [{ name: path, message: message.slice(0, 2000) }] : []
  })
  // An error outside of every test fails a run too.
  return failed.length > 0 ? failed : [{ name: 'vitest', message: output.slice(-3000) }]
}
