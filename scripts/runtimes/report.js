import { execFileSync } from 'node:child_process'

/** A cell in one line. */
export function describeCell(cell) {
  const { group, name, runtime, outcome, steps, notOffered = [], failures = [], reason } = cell
  const title =
    `${runtime.padEnd(8)} ${group === name || group === 'smoke' ? name : `${group} ${name}`}`.padEnd(52)
  if (outcome === 'not offered') return `${title} not offered: ${reason}`
  const missing = notOffered.length === 0 ? '' : `, ${notOffered.length} not offered`
  if (outcome === 'works') return `${title} works (${steps} steps${missing})`
  const [first] = failures
  return `${title} fails (${failures.length} of ${steps + failures.length} steps): ${first.name}: ${first.reason}`
}

/** The versions of the runtimes. */
export async function readVersions(runtimes, binaries) {
  const read = (name) => {
    const text = execFileSync(binaries[name], ['--version'], { encoding: 'utf8' })
    return /\d+[-.]\d+[-.]\d+/.exec(text)[0]
  }
  return Object.fromEntries(runtimes.map((name) => [name, read(name)]))
}

/** What a run leaves behind. */
export function toResults(cells, versions) {
  return { date: new Date().toISOString().slice(0, 10), versions, cells }
}

export function writePage() {}
