import type { CorpusResult } from './corpus.js'
import { CORPORA, readAbsence, readNotRun } from './corpora.js'

/** Runs every corpus in the folder and prints what came of it; returns how many cases nothing explains. */
export function runVectors(folder: string): number {
  const absence = readAbsence(folder)
  if (absence !== null) {
    console.log(absence)
    return 1
  }
  const results = Object.values(CORPORA).flatMap((run) => run(folder))
  printTable(results)
  for (const { name, cases, reason } of readNotRun(folder))
    console.log(`${name}: ${cases} not run, ${reason}`)
  printExceptions(results)
  const unexplained = results.flatMap(({ name, unexplained }) => unexplained.map((line) => `${name} ${line}`))
  for (const line of unexplained) console.log(`UNEXPLAINED  ${line}`)
  console.log(
    unexplained.length === 0 ? '\nEvery case is explained.' : `\n${unexplained.length} unexplained.`,
  )
  return unexplained.length
}

const COLUMNS = ['cases', 'passed', 'refused by policy', 'corpus errors', 'unexplained'] as const

function printTable(results: readonly CorpusResult[]): void {
  const rows = results.map(({ name, cases, passed, policy, errors, unexplained }) => ({
    name,
    counts: [cases, passed, policy, errors, unexplained.length],
  }))
  const sums = COLUMNS.map((_, column) => rows.reduce((sum, { counts }) => sum + (counts[column] ?? 0), 0))
  const width = Math.max(...rows.map(({ name }) => name.length))
  const print = (name: string, cells: readonly (string | number)[]): void => {
    const text = cells.map((cell, column) =>
      String(cell)
        .padStart(COLUMNS[column]?.length ?? 0)
        .padStart(8),
    )
    console.log([name.padEnd(width), ...text].join('  '))
  }
  print('corpus', COLUMNS)
  for (const { name, counts } of rows) print(name, counts)
  print('all', sums)
}

function printExceptions(results: readonly CorpusResult[]): void {
  for (const { name, exceptions, notes } of results) {
    for (const note of notes) console.log(`\n${name}, setting: ${note}`)
    for (const { kind, ids, reason } of exceptions) console.log(`\n${name}, ${kind}: ${reason}\n  ${ids}`)
  }
  console.log()
}
