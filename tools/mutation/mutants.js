import { readFileSync, writeFileSync } from 'node:fs'

/** Every mutant in a report of Stryker, with the text that it replaces and the line that it is in. */
export function readMutants(reportFile) {
  const { files } = JSON.parse(readFileSync(reportFile, 'utf8'))
  return Object.entries(files).flatMap(([file, { source, mutants }]) => {
    const lines = source.split('\n')
    return mutants.map(({ mutatorName, replacement, status, location }) => ({
      file,
      status,
      start: location.start,
      line: lines[location.start.line - 1].trim(),
      mutator: mutatorName,
      original: onOneLine(textBetween(lines, location)),
      replacement: onOneLine(replacement),
    }))
  })
}

/**
 * Takes survivors out of a report whose code also runs while a module loads, so that they are tried again.
 *
 * A first run may have switched them on too late to change what was made at that time: a table, a default. Returns a
 * function that brings them back.
 */
export function forgetStaticSurvivors(reportFile) {
  const text = readFileSync(reportFile, 'utf8')
  const report = JSON.parse(text)
  for (const file of Object.values(report.files)) {
    file.mutants = file.mutants.filter((mutant) => !(mutant.static && mutant.status === 'Survived'))
  }
  writeFileSync(reportFile, JSON.stringify(report))
  return () => writeFileSync(reportFile, text)
}

/** A function that says how many of the mutants have a status. */
export function countByStatus(mutants) {
  return (wanted) => mutants.filter(({ status }) => status === wanted).length
}

/** The share of detected mutants among those that could be tried, in percent. */
export function toScore(mutants) {
  const count = countByStatus(mutants)
  const detected = count('Killed') + count('Timeout')
  const tried = detected + count('Survived') + count('NoCoverage')
  return tried === 0 ? 100 : (100 * detected) / tried
}

function textBetween(lines, { start, end }) {
  const touched = lines.slice(start.line - 1, end.line)
  touched[touched.length - 1] = touched.at(-1).slice(0, end.column - 1)
  touched[0] = touched[0].slice(start.column - 1)
  return touched.join('\n')
}

// Longer texts say no more than their beginning.
function onOneLine(text) {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length > 120 ? `${line.slice(0, 119)}…` : line
}
