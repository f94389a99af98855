// Breaks the sources in thousands of small ways, and counts what no test notices: exit 1 if the score is below the
// target, or a survivor is not in test/mutation/survivors.json.
// node tools/mutation [--only <folder>] [--concurrency <n>] [--report]
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { countByStatus, forgetStaticSurvivors, readMutants, toScore } from './mutants.js'
import { findReason, readSurvivors } from './survivors.js'

// Folders of the core, and the package of other issuers.
const SOURCE = 'packages/tokenlib/src'
const FOLDERS = ['tokens', 'http', 'issuers', 'revocation', 'config', 'requests', 'sessions']
const toPath = (folder) => (folder === 'issuers' ? 'packages/issuers/src' : `${SOURCE}/${folder}`)
const TARGET = 90
// Data that a script has made; to mutate it says nothing.
const LEFT_OUT = `!${SOURCE}/tokens/published-secrets.ts`

const root = fileURLToPath(new URL('../..', import.meta.url))
const STRYKER = join(root, 'node_modules/@stryker-mutator/core/bin/stryker.js')
// What Stryker keeps for its next run is also the report of this one.
const reportOf = (folder) => join(root, `build/mutation/${folder}.json`)
const {
  values: { only, concurrency, report },
} = parseArgs({
  options: {
    only: { type: 'string' },
    concurrency: { type: 'string', default: '1' },
    // Judges the results of the last run, and runs nothing.
    report: { type: 'boolean', default: false },
  },
})
const folders = only === undefined ? FOLDERS : FOLDERS.filter((folder) => folder === only)
if (folders.length === 0) throw new Error(`--only takes one of ${FOLDERS.join(', ')}`)

if (!report) for (const folder of folders) mutate(folder)
const finished = folders.filter((folder) => existsSync(reportOf(folder)))
judge(finished)
if (finished.length < folders.length) {
  console.log(`FAIL no results of ${folders.filter((folder) => !finished.includes(folder)).join(', ')}`)
  process.exitCode = 1
}

// Twice: code that runs while a module loads needs a new thread and all tests for every mutant. The second run finds
// the results of the first, and has only those left to do.
function mutate(folder) {
  for (const which of [['--ignoreStatic'], []]) {
    const restore = which.length === 0 ? forgetStaticSurvivors(reportOf(folder)) : () => {}
    const given = {
      mutate: `${toPath(folder)}/**/*.ts,${LEFT_OUT}`,
      incrementalFile: reportOf(folder),
      concurrency,
    }
    const { status } = spawnSync(
      process.execPath,
      [STRYKER, 'run', ...Object.entries(given).flatMap(([name, value]) => [`--${name}`, value]), ...which],
      { cwd: root, stdio: 'inherit', env: { ...process.env, MUTATION_FOLDER: folder } },
    )
    if (status === 0) continue
    restore()
    throw new Error(`Stryker could not mutate ${SOURCE}/${folder}`)
  }
}

function judge(finished) {
  const explained = readSurvivors(join(root, 'test/mutation/survivors.json'))
  const all = finished.flatMap((folder) => {
    const mutants = readMutants(reportOf(folder))
    console.log(`${folder.padEnd(12)} ${describe(mutants)}`)
    return mutants
  })
  console.log(`${'all'.padEnd(12)} ${describe(all)}`)

  const survivors = all.filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
  const known = survivors.filter((mutant) => findReason(explained, mutant) !== undefined)
  console.log(`\n${known.length} survivors with a reason`)
  for (const mutant of known) console.log(`${show(mutant)}\n      ${findReason(explained, mutant)}`)
  refuse(
    'unexplained survivors',
    survivors.filter((mutant) => !known.includes(mutant)),
  )
  const isFinished = ({ file }) => finished.some((folder) => file.startsWith(`${SOURCE}/${folder}/`))
  const stale = explained.filter((entry) => isFinished(entry) && !survivors.some(entry.matches))
  for (const { file, line, replacement } of stale) {
    console.log(`no longer survives: ${file}  ${line}  ->  ${replacement}`)
  }
  if (toScore(all) < TARGET) {
    console.log(`FAIL the score is below ${TARGET} %`)
    process.exitCode = 1
  }
}

function describe(mutants) {
  const count = countByStatus(mutants)
  const counts = ['Killed', 'Timeout', 'Survived', 'NoCoverage', 'RuntimeError', 'Ignored'].map(
    (status) => `${count(status)} ${status}`,
  )
  return `${toScore(mutants).toFixed(2)} %  ${counts.join(', ')}`
}

function show({ file, start, line, mutator, original, replacement }) {
  return `  ${file}:${start.line} ${mutator}\n      ${line}\n      ${original}  ->  ${replacement}`
}

function refuse(what, mutants) {
  if (mutants.length === 0) return
  console.log(`\nFAIL ${mutants.length} ${what}`)
  for (const mutant of mutants) console.log(show(mutant))
  process.exitCode = 1
}
