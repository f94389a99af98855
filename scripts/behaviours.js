// Holds the tests against test/behaviours.json: every id is named by a test title, or has a reason to be left out.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ID = /\b(?!UTF)[A-Z]{2,3}-\d{2}\b/g
// The text that test, it or describe is called with, also after `.each(…)`; a skipped one proves nothing.
const TITLE =
  /(?:\b(?:test|it|describe)(?:\.(?!skip\b|todo\b)\w+)*|[)`])\(\s*(?<quote>['"`])(?<title>(?:\\.|(?!\k<quote>)[^\\])*)/g
const COMMENT = /^\s*(?:\/\/.*|\/\*[^]*?\*\/)/gm
const LAST_SECTION = 15

const root = fileURLToPath(new URL('..', import.meta.url))
const { sections, left } = JSON.parse(readFileSync(join(root, 'test/behaviours.json'), 'utf8'))
const ids = Object.values(sections).flat()
const leftIds = Object.keys(left)
const tested = findTestedIds()
const covered = ids.filter((id) => tested.has(id))

console.log(`${covered.length} of ${ids.length} behaviours have a test, ${leftIds.length} are left out`)
for (const id of leftIds) console.log(`  ${id} ${left[id]}`)
refuse(
  'without test or reason',
  ids.filter((id) => !tested.has(id) && !leftIds.includes(id)),
)
refuse(
  'with both a test and a reason',
  leftIds.filter((id) => tested.has(id)),
)
refuse(
  'left out for an empty reason',
  leftIds.filter((id) => String(left[id]).trim() === ''),
)
refuse('in a test title, but not in test/behaviours.json', difference(tested, ids))
refuse('left out, but not in test/behaviours.json', difference(leftIds, ids))
compareWithSource(join(root, '../shared/behaviours.md'))

function findTestedIds() {
  const files = readdirSync(join(root, 'test'), { recursive: true }).filter((file) => file.endsWith('.ts'))
  const sources = files.map((file) => readFileSync(join(root, 'test', file), 'utf8').replaceAll(COMMENT, ''))
  const titles = sources.flatMap((source) => Array.from(source.matchAll(TITLE), ({ groups }) => groups.title))
  return new Set(titles.flatMap((title) => title.match(ID) ?? []))
}

function compareWithSource(file) {
  if (!existsSync(file)) {
    console.log('the list itself was not checked: no ../shared/behaviours.md beside this checkout')
    return
  }
  const [, ...parts] = readFileSync(file, 'utf8').split(/^## (?=\d+\. )/m)
  const wanted = parts.filter((part) => Number.parseInt(part, 10) <= LAST_SECTION)
  const source = wanted.flatMap((part) => Array.from(part.matchAll(/^- (\S+)/gm), ([, id]) => id))
  refuse('in ../shared/behaviours.md, but not in test/behaviours.json', difference(source, ids))
  refuse('in test/behaviours.json, but not in ../shared/behaviours.md', difference(ids, source))
}

function difference(some, others) {
  const known = new Set(others)
  return [...some].filter((id) => !known.has(id))
}

function refuse(what, list) {
  if (list.length === 0) return
  console.log(`FAIL ${list.length} ${what}: ${list.join(' ')}`)
  process.exitCode = 1
}
