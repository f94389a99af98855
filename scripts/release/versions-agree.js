import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../pack.js'
import { assertNone } from '../run.js'
import { readSections } from './changelog.js'

/** Where else the version of package.json is written, and how to read it there. */
const PLACES = [
  { file: 'README.md', pattern: /^Version (\d[\w.-]*\w)\b/m },
  { file: 'docs/releases.md', pattern: /^The current version is (\d[\w.-]*\w)\b/m },
  { file: 'package-lock.json', pattern: /^ {2}"version": "([^"]+)"/m },
  // The list of the documentation site: its first version is the newest.
  { file: 'site/versions.json', pattern: /"version": *"v?(\d[^"]*)"/, isOptional: true },
]

/** README, documentation, lock file, site and the newest section of the changelog name the version of package.json. */
export function checkVersionsAgree({ version }) {
  const problems = PLACES.flatMap(({ file, pattern, isOptional = false }) => {
    if (!existsSync(join(root, file))) return isOptional ? [] : [`${file} is missing`]
    const found = pattern.exec(readFileSync(join(root, file), 'utf8'))?.[1] ?? 'no version'
    return found === version ? [] : [`${file} has ${found}; package.json has ${version}`]
  })
  const newest = readSections().find((section) => section.version !== 'Unreleased')?.version ?? 'no version'
  if (newest !== version)
    problems.push(`CHANGELOG.md has ${newest} as its newest section; package.json has ${version}`)
  assertNone(problems)
  return `${version} everywhere`
}
