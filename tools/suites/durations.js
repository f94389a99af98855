// Runs commands, and writes how long each took into the table of CONTRIBUTING.md.
// node tools/suites/durations.js [command…]   without a command, all of the table
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { formatTable, MARKERS, readTable } from './table.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = `${root}CONTRIBUTING.md`

const { rows } = readTable(readFileSync(page, 'utf8'))
const chosen = process.argv.slice(2)
const unknown = chosen.filter((command) => !rows.some((row) => row.command === command))
if (unknown.length > 0) {
  console.error(`The table has no ${unknown.join(', no ')}`)
  process.exit(2)
}

for (const row of rows) {
  if (chosen.length > 0 && !chosen.includes(row.command)) continue
  const load = loadavg()[0]
  const { seconds, code, output } = await time(row.command)
  if (code !== 0) {
    console.error(`${row.command} failed after ${seconds} s: nothing is written\n${output.slice(-5000)}`)
    process.exit(1)
  }
  const place = `${availableParallelism()} cores, Node ${process.versions.node.split('.')[0]}, load ${load.toFixed(1)}`
  Object.assign(row, { took: formatDuration(seconds), tests: countTests(output), where: place })
  console.log(`${row.command}: ${row.took}, ${row.where}`)
  // After each, so that what was measured stays if a later one fails.
  const text = readFileSync(page, 'utf8')
  const [start, end] = MARKERS.map((marker) => text.indexOf(marker))
  writeFileSync(page, `${text.slice(0, start)}${MARKERS[0]}\n\n${formatTable(rows)}\n\n${text.slice(end)}`)
}

function time(command) {
  const startedAt = performance.now()
  const child = spawn(command, { cwd: root, shell: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (output += text))
  }
  return new Promise((resolve) => {
    child.on('close', (code) => {
      resolve({ code, output, seconds: Math.ceil((performance.now() - startedAt) / 1000) })
    })
  })
}

function formatDuration(seconds) {
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** The number of passed tests, of all runs of vitest together. */
function countTests(output) {
  const plain = stripVTControlCharacters(output)
  const counts = [...plain.matchAll(/^\s*Tests\s+(\d+) passed/gm)].map(([, count]) => Number(count))
  return counts.length === 0 ? '' : counts.reduce((sum, count) => sum + count, 0).toLocaleString('en')
}
