import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../shared/root.js'

const HEADING = /^## (?:\[?(Unreleased|[\w.-]+?)\]?)(?: - (\S+))?$/gm

/** The sections of CHANGELOG.md from top to bottom: `{ version, date, text }`; `version` may be `Unreleased`. */
export function readSections(text = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')) {
  const headings = [...text.matchAll(HEADING)]
  return headings.map(({ 0: heading, 1: version, 2: date = null, index }, at) => ({
    version,
    date,
    text: text.slice(index + heading.length, headings[at + 1]?.index).trim(),
  }))
}

/** The section of a version; throws if there is none, or nothing in it. */
export function parseSection(version, sections = readSections()) {
  const section = sections.find((one) => one.version === version)
  if (section === undefined) throw new Error(`CHANGELOG.md has no section "## ${version} - <date>"`)
  if (section.text === '') throw new Error(`The section ${version} of CHANGELOG.md is empty`)
  return section
}

/** Whether a section says that it breaks something: a heading, an entry or a line that begins with "Breaking". */
export function announcesBreaking({ text }) {
  return /^(?:#+ |- )?(?:\*\*)?Breaking\b/m.test(text)
}

/**
 * CHANGELOG.md has the section of the version at its top, with the date of the release, and nothing waits in
 * "Unreleased": it would belong to no version.
 */
export function checkChangelog({ version, date }, sections = readSections()) {
  const section = parseSection(version, sections)
  if (section.date !== date) {
    throw new Error(
      `CHANGELOG.md dates ${version} ${section.date ?? 'not at all'}; the release is of ${date}. ` +
        'Correct the heading, or pass --date',
    )
  }
  const [waiting] = sections.filter((one) => one.version === 'Unreleased' && one.text !== '')
  if (waiting !== undefined) {
    const lines = waiting.text.split('\n').filter((line) => line.startsWith('- ')).length
    throw new Error(`CHANGELOG.md has ${lines} entries under "Unreleased": move them to ${version}`)
  }
  const newest = sections.find((one) => one.version !== 'Unreleased')
  if (newest.version !== version)
    throw new Error(`The first section of CHANGELOG.md is ${newest.version}, not ${version}`)
  return `${section.text.split('\n').filter((line) => line.startsWith('- ')).length} entries, dated ${date}`
}
