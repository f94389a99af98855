import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listPackages } from '../packages/packages.js'
import { root } from '../shared/root.js'
import { assertNone } from '../shared/report.js'
import { readSections } from './changelog.js'

/** Where else the version of package.json is written, and how to read it there. */
const PLACES = [
  { file: 'README.md', pattern: /^Version (\d[\w.-]*\w)\b/m },
  { file: 'package-lock.json', pattern: /^ {2}"version": "([^"]+)"/m },
  // The list of the documentation site: its first version is the newest.
  { file: 'site/versions.json', pattern: /"version": *"v?(\d[^"]*)"/, isOptional: true },
]

/**
 * README, documentation, lock file, site, every package and the newest section of the changelog name the version of
 * package.json, and so does every command with a tarball.
 */
export function checkVersionsAgree({ version }) {
  const named = PLACES.flatMap(({ file, pattern, isOptional = false }) => {
    if (!existsSync(join(root, file))) return isOptional ? [] : [{ file, found: 'nothing: it is missing' }]
    return [{ file, found: pattern.exec(readText(file))?.[1] ?? 'no version' }]
  })
  for (const { folder, manifest } of listPackages()) {
    const file = `${folder}/package.json`
    named.push({ file, found: manifest.version })
    const needed = manifest.peerDependencies?.tokenlib
    if (needed !== undefined) named.push({ file, found: needed })
  }
  const newest = readSections().find((section) => section.version !== 'Unreleased')?.version
  named.push({ file: 'CHANGELOG.md', found: newest ?? 'no version' })
  for (const file of ['README.md', 'SECURITY.md', ...listPages()]) {
    for (const [, found] of readText(file).matchAll(/\btokenlib-(\d+\.\d+\.\d+(?:-[\w.]+?)?)\.tgz/g)) {
      named.push({ file, found })
    }
  }

  const wrong = named.filter(({ found }) => found !== version)
  assertNone(wrong.map(({ file, found }) => `${file} has ${found}; package.json has ${version}`))
  return `${version} in ${named.length} places`
}

function listPages() {
  return readdirSync(join(root, 'docs'), { recursive: true })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join('docs', path))
}

function readText(file) {
  return readFileSync(join(root, file), 'utf8')
}
