import { compareReports, readReports, toLines } from '../api/compare.js'
import { announcesBreaking, parseSection } from './changelog.js'
import { git } from './repository.js'
import { mayBreak } from './versions.js'

const SHOWN_LINES = 40

/**
 * The public API differs from the last release only as its version and its changelog say.
 *
 * A line of a report that is gone or changed counts as breaking, and so does a required member that is added to an
 * interface, unless the declaration is named in `--compatible`.
 */
export async function checkApiChanges({ version, lastTag, compatible }) {
  if (lastTag === null) return `NOT COMPARED: there is no tag; all ${readReports().size} reports are new`
  const before = await readReportsOf(lastTag)
  if (before.size === 0) return `NOT COMPARED: ${lastTag} has no API reports`

  const differences = compareReports(before, readReports())
  const breaking = differences.filter(isBreaking)
  const unknown = compatible.filter((name) => !breaking.some((one) => one.name === name))
  if (unknown.length > 0) throw new Error(`--compatible names what did not change: ${unknown.join(', ')}`)
  const left = breaking.filter(({ name }) => !compatible.includes(name))
  assertAnnounced(left, { version, lastTag })

  const added = differences.filter(({ isNew }) => isNew).length
  const accepted = compatible.length > 0 ? `, DECLARED COMPATIBLE BY HAND: ${compatible.join(', ')}` : ''
  return `since ${lastTag}: ${added} declarations new, ${left.length} broken${accepted}`
}

/** Whether code that compiled may not compile any more. */
export function isBreaking({ isNew, isInterface, removed, added, file }) {
  // What no entry point exports can be new or gone; what refers to it has changed then.
  if (isNew) return false
  if (removed.length > 0) return file !== 'internal.api.md' || added.length > 0
  // Callers may implement an interface, or pass an object for it; a class only grows.
  return isInterface && added.some((line) => /^ +(?:readonly )?[\w$]+(?:<.*>)?(?:\(.*\))?: /.test(line))
}

function assertAnnounced(breaking, { version, lastTag }) {
  if (breaking.length === 0) return
  const problems = [
    ...(mayBreak(lastTag.slice(1), version)
      ? []
      : [`${version} must be a new major version, or before 1.0.0 a new minor one`]),
    ...(announcesBreaking(parseSection(version))
      ? []
      : [`the section ${version} of CHANGELOG.md must have an entry that begins with "Breaking"`]),
  ]
  if (problems.length === 0) return
  const lines = toLines(breaking)
  throw new Error(
    [
      `${breaking.length} declarations are not what they were in ${lastTag}:`,
      ...lines.slice(0, SHOWN_LINES),
      ...(lines.length > SHOWN_LINES ? [`… and ${lines.length - SHOWN_LINES} more lines`] : []),
      ...problems,
      'If a change cannot break a caller, name its declaration: --compatible <name>,<name>',
    ].join('\n'),
  )
}

async function readReportsOf(tag) {
  const files = (await git('ls-tree', '--name-only', `${tag}`, 'api/')).split('\n').filter(Boolean)
  const texts = await Promise.all(files.map((file) => git('show', `${tag}:${file}`)))
  return new Map(files.map((file, at) => [file.replace('api/', ''), `${texts[at]}\n`]))
}
