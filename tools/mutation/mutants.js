import { existsSync, readFileSync, writeFileSync } from 'node:fs'

/** The report of Stryker in a file, or `null` before the first run. */
export function readReport(reportFile) {
  return existsSync(reportFile) ? JSON.parse(readFileSync(reportFile, 'utf8')) : null
}

/**
 * Every mutant in a report of Stryker, with the text that it replaces and the line that it is in.
 *
 * A mutant of code that runs while a module loads was switched on too late to change what was made at that time, unless the
 * run was a static one. So its survival says nothing.
 */
export function readMutants({ files }, isStatic) {
  return Object.entries(files).flatMap(([file, { source, mutants }]) => {
    const lines = source.split('\n')
    return mutants.map(({ mutatorName, replacement, location, testsCompleted, coveredBy, ...mutant }) => ({
      file,
      status: mutant.static && !isStatic && isSurvivor(mutant) ? 'Ignored' : mutant.status,
      // A survivor of some of its tests may not be one.
      isCutShort: mutant.status === 'Survived' && testsCompleted < (coveredBy?.length ?? 0),
      start: location.start,
      line: lines[location.start.line - 1].trim(),
      mutator: mutatorName,
      original: onOneLine(textBetween(lines, location)),
      replacement: onOneLine(replacement),
    }))
  })
}

/** Takes survivors out of a report whose code also runs while a module loads, so that they are tried again. */
export function forgetStaticSurvivors(reportFile) {
  const report = readReport(reportFile)
  for (const file of Object.values(report.files)) {
    file.mutants = file.mutants.filter((mutant) => !mutant.static || !isSurvivor(mutant))
  }
  writeFileSync(reportFile, JSON.stringify(report))
}

/** Whether no test has detected a mutant. */
export function isSurvivor({ status }) {
  return status === 'Survived' || status === 'NoCoverage'
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
