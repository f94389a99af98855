import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { countByStatus, toScore } from './mutants.js'

const START = '<!-- scores -->'
const END = '<!-- /scores -->'

/**
 * Records the figures of folders that are finished, and writes the table of all that were ever recorded.
 *
 * A score that is lower than the recorded one is not recorded. Returns these folders.
 */
export function recordScores(scoresFile, pageFile, mutantsByFolder) {
  const recorded = existsSync(scoresFile) ? JSON.parse(readFileSync(scoresFile, 'utf8')) : {}
  const lower = []
  for (const [folder, mutants] of Object.entries(mutantsByFolder)) {
    const figures = toFigures(mutants)
    if (figures.score < recorded[folder]?.score) lower.push(folder)
    else recorded[folder] = figures
  }
  writeFileSync(scoresFile, `${JSON.stringify(recorded, null, 2)}\n`)

  const page = readFileSync(pageFile, 'utf8')
  const before = page.slice(0, page.indexOf(START) + START.length)
  writeFileSync(pageFile, `${before}\n\n${toTable(recorded)}\n\n${page.slice(page.indexOf(END))}`)
  return lower
}

function toFigures(mutants) {
  const count = countByStatus(mutants)
  const figures = {
    killed: count('Killed'),
    timedOut: count('Timeout'),
    survived: count('Survived'),
    notReached: count('NoCoverage'),
  }
  const tried = Object.values(figures).reduce((sum, one) => sum + one, 0)
  return { mutants: tried, ...figures, score: Number(toScore(mutants).toFixed(2)) }
}

function toTable(recorded) {
  const head = ['folder', 'mutants', 'killed', 'timed out', 'survived', 'not reached', 'score']
  const rows = Object.entries(recorded).map(([folder, { score, ...counts }]) => [
    `\`${folder}\``,
    ...Object.values(counts).map(String),
    `${score.toFixed(2)} %`,
  ])
  const widths = head.map((title, column) => Math.max(...[head, ...rows].map((row) => row[column].length)))
  const toLine = (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`
  return [head, widths.map((width) => '-'.repeat(width)), ...rows].map(toLine).join('\n')
}
