import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { replacePart, toTable } from '../shared/report.js'
import { root } from '../shared/root.js'

/** A cell in one line. */
export function describeCell(cell) {
  const { group, name, runtime, outcome, steps, notOffered = [], failures = [], reason } = cell
  const title = `${runtime.padEnd(8)} ${group === 'smoke' ? name : `${group} ${name}`}`.padEnd(50)
  if (outcome === 'not offered') return `${title} not offered: ${reason}`
  const missing = notOffered.length === 0 ? '' : `, ${notOffered.length} not offered`
  if (outcome === 'works') return `${title} works (${steps} steps${missing})`
  const [first] = failures
  return `${title} fails (${failures.length} of ${steps + failures.length} steps): ${first.name}: ${first.reason}`
}

/** The versions of the runtimes. */
export function readVersions(runtimes, binaries) {
  const read = (name) => {
    const text = execFileSync(binaries[name], ['--version'], { encoding: 'utf8' })
    return /\d+[-.]\d+[-.]\d+/.exec(text)[0]
  }
  return Object.fromEntries(runtimes.map((name) => [name, read(name)]))
}

/** What a run leaves behind; of failures only the names of the steps, because reasons may contain paths. */
export function toResults(cells, versions) {
  return {
    date: new Date().toISOString().slice(0, 10),
    versions,
    cells: cells.map(({ failures, ...cell }) =>
      failures === undefined ? cell : { ...cell, failures: failures.map(({ name }) => name) },
    ),
  }
}

const TITLES = {
  node20: 'Node 20',
  node22: 'Node 22',
  node24: 'Node 24',
  node26: 'Node 26',
  bun: 'Bun',
  deno: 'Deno',
  workerd: 'workerd',
}

// What works where; guides are applications of their own, and pass or fail with `node tools/runtimes`.
const GROUPS = ['smoke', 'store', 'application']

/** The table of docs/runtimes.md. */
export function toTables({ date, versions, cells }) {
  const runtimes = Object.keys(versions)
  const found = runtimes.map((name) => `${TITLES[name]} ${versions[name]}`).join(', ')
  const shown = cells.filter(({ group }) => GROUPS.includes(group))
  const names = GROUPS.flatMap((group) =>
    Array.from(new Set(shown.filter((cell) => cell.group === group).map(({ name }) => name)), (name) => ({
      group,
      name,
    })),
  )
  const columns = []
  for (const runtime of runtimes) {
    const marks = names.map(({ group, name }) =>
      toMark(shown.find((cell) => cell.group === group && cell.name === name && cell.runtime === runtime)),
    )
    // Runtimes in which the same works share a column.
    const previous = columns.at(-1)
    if (previous?.marks.join() === marks.join()) previous.titles.push(TITLES[runtime])
    else columns.push({ titles: [TITLES[runtime]], marks })
  }
  const rows = names.map(({ name }, at) => [name, ...columns.map(({ marks }) => marks[at])])
  return [
    `The last recorded run was on ${date}, with ${found}.`,
    toTable(['', ...columns.map(({ titles }) => titles.join(', '))], rows),
  ].join('\n\n')
}

function toMark(cell) {
  if (cell === undefined) return ''
  if (cell.outcome === 'not offered') return '–'
  if (cell.outcome === 'fails')
    return `**fails** (${cell.failures.length} of ${cell.steps + cell.failures.length})`
  return '✓'
}

const PAGE = join(root, 'docs/runtimes.md')

/** The page with the tables of `node tools/runtimes`. */
export function toPage(page, results) {
  return replaceTables(page, 'node tools/runtimes', toTables(results))
}

/** The page with the list of `node tools/consumers`. */
export function toConsumersPage(page, consumers) {
  const items = consumers.map(
    ({ name, works }) => `[${name}](../test/consumers/${name})${works ? '' : ' **fails**'}`,
  )
  return replaceTables(page, 'node tools/consumers', `${items.join(', ')}.`)
}

function replaceTables(page, command, text) {
  const [start, end] = [`<!-- Written by ${command}. -->`, `<!-- End of what ${command} writes. -->`]
  return replacePart(page, start, end, text)
}

/** Records a full run, and writes its table into docs/runtimes.md. */
export function writeRuntimes(results) {
  record('test/runtimes/results.json', results, toPage)
}

/** Records the last runs of consumers, and writes their list into docs/runtimes.md. */
export function writeConsumers(results) {
  record('test/consumers/results.json', results, toConsumersPage)
}

function record(path, results, toNewPage) {
  writeFileSync(join(root, path), `${JSON.stringify(results, null, 2)}\n`)
  writeFileSync(PAGE, toNewPage(readFileSync(PAGE, 'utf8'), results))
}
