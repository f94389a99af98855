import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../shared/root.js'
import { readDeclarations } from './reports.js'

const FOLDER = join(root, 'api')
/** Lines of a difference that are shown; the rest is counted. */
const SHOWN_LINES = 30

/** The reports in the repository: a map from file names to texts. */
export function readReports() {
  if (!existsSync(FOLDER)) return new Map()
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.api.md'))
  return new Map(files.map((file) => [file, readFileSync(join(FOLDER, file), 'utf8')]))
}

/** Makes the files of `api` equal to these reports. */
export function writeReports(reports) {
  mkdirSync(FOLDER, { recursive: true })
  for (const file of readReports().keys()) if (!reports.has(file)) rmSync(join(FOLDER, file))
  for (const [file, text] of reports) writeFileSync(join(FOLDER, file), text)
}

/**
 * What differs between two sets of reports: for each declaration, the lines that are gone and those that are new.
 *
 * A declaration that moved within its report, or a report whose title changed, is no difference.
 */
export function compareReports(before, after) {
  const files = [...new Set([...before.keys(), ...after.keys()])].toSorted()
  return files.flatMap((file) => {
    const [old, current] = [before, after].map((reports) =>
      reports.has(file) ? readDeclarations(reports.get(file)) : new Map(),
    )
    const names = [...new Set([...old.keys(), ...current.keys()])].toSorted()
    return names.flatMap((name) => {
      const removed = subtract(old.get(name) ?? [], current.get(name) ?? [])
      const added = subtract(current.get(name) ?? [], old.get(name) ?? [])
      if (removed.length === 0 && added.length === 0) return []
      const isInterface = (current.get(name) ?? []).some((line) => /^(?:export )?interface /.test(line))
      return { file, name, isNew: !old.has(name), isInterface, removed, added }
    })
  })
}

/** Throws an error with a short difference if the reports in the repository are not these. */
export function assertRecorded(reports) {
  const recorded = readReports()
  const files = new Set([...recorded.keys(), ...reports.keys()])
  const stale = [...files].filter((file) => recorded.get(file) !== reports.get(file)).toSorted()
  if (stale.length === 0) return
  const lines = toLines(compareReports(recorded, reports))
  const hidden = lines.length - SHOWN_LINES
  throw new Error(
    [
      `${stale.length} of ${files.size} API reports are not what the sources export: ${stale.join(', ')}`,
      ...lines.slice(0, SHOWN_LINES),
      ...(hidden > 0 ? [`… and ${hidden} more lines`] : []),
      'If the change is meant: npm run api, and commit the folder "api"',
    ].join('\n'),
  )
}

/** A list of differences as text: a line for the declaration, then its lines with `-` and `+`. */
export function toLines(differences) {
  return differences.flatMap(({ file, name, removed, added }) => [
    `${file}: ${name.split('\n', 1)[0]}`,
    ...removed.map((line) => `  - ${line.trim()}`),
    ...added.map((line) => `  + ${line.trim()}`),
  ])
}

/** The lines of the first list that the second does not have, each as often as it is missing; brackets alone say nothing. */
function subtract(lines, others) {
  const left = new Map()
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1)
  return lines.filter((line) => {
    if (!/\w/.test(line)) return false
    const count = left.get(line) ?? 0
    left.set(line, count - 1)
    return count <= 0
  })
}
