// Runs .ci/run, and writes how long it and its steps took into the table of CONTRIBUTING.md.
// node tools/suites/durations.js
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { formatTable, MARKERS, readTable } from './table.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = `${root}CONTRIBUTING.md`

const [load] = loadavg()
const before = readCpuTimes()
const output = await run('bash', ['.ci/run'])
const where = [
  `${availableParallelism()} cores`,
  `Node ${process.versions.node.split('.')[0]}`,
  `load ${load.toFixed(1)}`,
  ...describeStolen(before, readCpuTimes()),
].join(', ')

const text = readFileSync(page, 'utf8')
const { rows } = readTable(text)
for (const row of rows) {
  const { printed, seconds } = findStep(row.command)
  Object.assign(row, { took: formatDuration(seconds), tests: countTests(printed), where })
}
const [start, end] = MARKERS.map((marker) => text.indexOf(marker))
writeFileSync(page, `${text.slice(0, start)}${MARKERS[0]}\n\n${formatTable(rows)}\n\n${text.slice(end)}`)

/** All CPU time since the start of the machine, and what its host gave to other machines; `null` without `/proc`. */
function readCpuTimes() {
  if (!existsSync('/proc/stat')) return null
  // user, nice, system, idle, iowait, irq, softirq, steal; what follows is in the first two already.
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  const times = line.trim().split(/\s+/).slice(1, 9).map(Number)
  return { all: times.reduce((sum, time) => sum + time), stolen: times[7] ?? 0 }
}

function describeStolen(before, after) {
  if (before === null || after === null) return []
  const share = (after.stolen - before.stolen) / (after.all - before.all)
  return share < 0.005 ? [] : [`${Math.round(100 * share)} % stolen`]
}

/** What a command prints, which is shown as well. If it fails, nothing is written. */
function run(command, args) {
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  let all = ''
  child.stdout.setEncoding('utf8').on('data', (data) => {
    all += data
    process.stdout.write(data)
  })
  return new Promise((resolve) => {
    child.on('close', (code) => {
      if (code !== 0) process.exit(1)
      resolve(stripVTControlCharacters(all))
    })
  })
}

/** What a step printed, and how long it took; the whole run has no first line. */
function findStep(command) {
  const last = `\n== ${command}: `
  const end = output.indexOf(last)
  if (end === -1) throw new Error(`.ci/run has no step ${command}`)
  const start = output.indexOf(`\n== ${command}\n`)
  return {
    printed: start === -1 ? '' : output.slice(start, end),
    seconds: Number.parseInt(output.slice(end + last.length), 10),
  }
}

function formatDuration(seconds) {
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

function countTests(printed) {
  const [, count] = /^\s*Tests\s+(\d+) passed/m.exec(printed) ?? []
  return count === undefined ? '' : Number(count).toLocaleString('en')
}
