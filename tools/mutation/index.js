// Breaks the sources in thousands of small ways, and counts what no test notices: exit 1 if a folder is not finished,
// its score is lower than the recorded one, or a survivor is not in test/mutation/survivors.json.
// node tools/mutation [--only <folder>,…] [--static] [--concurrency <n>] [--report]
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import {
  countByStatus,
  forgetStaticSurvivors,
  isSurvivor,
  readMutants,
  readReport,
  toScore,
} from './mutants.js'
import { recordScores } from './scores.js'
import { findReason, readSurvivors } from './survivors.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const STRYKER = join(root, 'node_modules/@stryker-mutator/core/bin/stryker.js')
const TESTS = join(root, 'test/mutation')
const FOLDERS = JSON.parse(readFileSync(join(TESTS, 'folders.json'), 'utf8'))

const {
  values: { only, concurrency, report, static: isStatic },
} = parseArgs({
  options: {
    only: { type: 'string' },
    concurrency: { type: 'string', default: '1' },
    // Also mutates code that runs while a module loads: tables, patterns, constants.
    static: { type: 'boolean', default: false },
    // Judges the results of the last run, and runs nothing.
    report: { type: 'boolean', default: false },
  },
})
// Far tests come only for what near tests do not detect, and code that runs while a module loads comes last, because it
// needs a new thread and all tests for every mutant. Each step finds the results of the one before.
const STEPS = [
  { tests: 'near', limitMs: 100, ignoreStatic: true },
  { tests: 'all', limitMs: 300, ignoreStatic: true },
  ...(isStatic ? [{ tests: 'all', limitMs: 300, ignoreStatic: false }] : []),
]

const folders = only?.split(',') ?? Object.keys(FOLDERS)
const unknown = folders.filter((folder) => !(folder in FOLDERS))
if (unknown.length > 0)
  throw new Error(`--only takes ${Object.keys(FOLDERS).join(', ')}: ${unknown.join(', ')}`)

mkdirSync(join(root, 'build/mutation'), { recursive: true })
if (!report) for (const folder of folders) mutate(folder)
const finished = folders.filter(
  (folder) => countSteps(folder) >= STEPS.length && !readReport(reportOf(folder)).isPartial,
)
judge(finished)
if (finished.length < folders.length) {
  console.log(`FAIL no results of ${folders.filter((folder) => !finished.includes(folder)).join(', ')}`)
  process.exitCode = 1
}

function fileOf(folder, ending) {
  return join(root, `build/mutation/${folder.replace('/', '-')}.${ending}`)
}

// What Stryker keeps for its next run is also the report of this one.
function reportOf(folder) {
  return fileOf(folder, 'json')
}

function stepsOf(folder) {
  return fileOf(folder, 'steps')
}

function countSteps(folder) {
  return existsSync(stepsOf(folder)) ? Number(readFileSync(stepsOf(folder), 'utf8')) : 0
}

function mutate(folder) {
  // After the last step, it also tries what has changed since.
  const first = Math.min(countSteps(folder), STEPS.length - 1)
  for (const [index, step] of STEPS.entries()) {
    if (index < first) continue
    if (!step.ignoreStatic) forgetStaticSurvivors(reportOf(folder))
    runStryker(folder, step)
    writeFileSync(stepsOf(folder), String(index + 1))
  }
}

function runStryker(folder, { tests, limitMs, ignoreStatic }) {
  const given = { mutate: FOLDERS[folder].mutate.join(','), incrementalFile: reportOf(folder), concurrency }
  const flags = Object.entries(given).flatMap(([name, value]) => [`--${name}`, value])
  const { status } = spawnSync(
    process.execPath,
    [STRYKER, 'run', ...flags, ...(ignoreStatic ? ['--ignoreStatic'] : [])],
    {
      cwd: root,
      stdio: 'inherit',
      env: {
        ...process.env,
        MUTATION_FOLDER: folder,
        MUTATION_TESTS: tests,
        MUTATION_TEST_LIMIT_MS: String(limitMs),
        MUTATION_SLOW_TESTS: fileOf(folder, `slow-${limitMs}.txt`),
      },
    },
  )
  if (status !== 0) throw new Error(`Stryker could not mutate ${folder}; the same command continues`)
}

function judge(finished) {
  const explained = readSurvivors(join(TESTS, 'survivors.json'))
  const mutantsByFolder = Object.fromEntries(
    finished.map((folder) => [folder, readMutants(readReport(reportOf(folder)), isStatic)]),
  )
  for (const [folder, mutants] of Object.entries(mutantsByFolder)) {
    console.log(`${folder.padEnd(16)} ${describe(mutants)}`)
  }
  const lower = recordScores(join(TESTS, 'scores.json'), join(TESTS, 'README.md'), mutantsByFolder)
  if (lower.length > 0) {
    console.log(`FAIL lower than in scores.json: ${lower.join(', ')}`)
    process.exitCode = 1
  }

  const all = Object.values(mutantsByFolder).flat()
  const survivors = all.filter(isSurvivor)
  const known = survivors.filter((mutant) => findReason(explained, mutant) !== undefined)
  console.log(`\n${known.length} survivors with a reason`)
  for (const mutant of known) console.log(`${show(mutant)}\n      ${findReason(explained, mutant)}`)
  refuse(
    'unexplained survivors',
    survivors.filter((mutant) => !known.includes(mutant)),
  )
  refuse(
    'survivors that were not tried with all of their tests',
    survivors.filter(({ isCutShort }) => isCutShort),
  )
  const files = new Set(all.map(({ file }) => file))
  // What this run left out, such as code that runs while a module loads, may survive another one.
  const possible = all.filter((mutant) => isSurvivor(mutant) || mutant.status === 'Ignored')
  const stale = explained.filter((entry) => files.has(entry.file) && !possible.some(entry.matches))
  for (const { file, line, replacement } of stale) {
    console.log(`no longer survives: ${file}  ${line}  ->  ${replacement}`)
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
