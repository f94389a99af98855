// Compares the tests with test/behaviours.json and test/security/attack-classes.json: every id has a sentence, and is
// named by a test title or has a reason to be left out.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ID = /\b(?!UTF)[A-Z]{2,3}-\d{2}\b/g
// The text that test, it, describe or one of the functions of test/security is called with, also after `.each(…)`; a
// skipped one proves nothing.
const TITLE =
  /(?:\b(?:test|it|describe|describeAttacks|attack|ownAttack)(?:\.(?!skip\b|todo\b)\w+)*|[)`])\(\s*(?<quote>['"`])(?<title>(?:\\.|(?!\k<quote>)[^\\])*)/g
const COMMENT = /^\s*(?:\/\/.*|\/\*[^]*?\*\/)/gm

const root = fileURLToPath(new URL('../..', import.meta.url))
const behaviours = readJson('test/behaviours.json')
const attacks = readJson('test/security/attack-classes.json')
const tested = findTestedIds()

const known = [
  ...check('behaviours', Object.assign({}, ...Object.values(behaviours.sections)), behaviours.left),
  ...check('attack classes', attacks.classes, attacks.left),
]
refuse('in a test title, but in neither list', difference(tested, known))

function check(what, sentences, left) {
  const ids = Object.keys(sentences)
  const leftIds = Object.keys(left)
  const covered = ids.filter((id) => tested.has(id))
  console.log(`${covered.length} of ${ids.length} ${what} have a test, ${leftIds.length} are left out`)
  for (const id of leftIds) console.log(`  ${id} ${left[id]}`)
  const isEmpty = (text) => typeof text !== 'string' || text.trim() === ''
  refuse(
    `${what} without a sentence`,
    ids.filter((id) => isEmpty(sentences[id])),
  )
  refuse(
    `${what} without test or reason`,
    ids.filter((id) => !tested.has(id) && !leftIds.includes(id)),
  )
  refuse(
    `${what} with both a test and a reason`,
    leftIds.filter((id) => tested.has(id)),
  )
  refuse(
    `${what} left out for an empty reason`,
    leftIds.filter((id) => isEmpty(left[id])),
  )
  refuse(`${what} left out, but not in the list`, difference(leftIds, ids))
  return ids
}

function findTestedIds() {
  const files = readdirSync(join(root, 'test'), { recursive: true }).filter(
    (file) => file.endsWith('.ts') && !file.includes('node_modules'),
  )
  const sources = files.map((file) => readFileSync(join(root, 'test', file), 'utf8').replaceAll(COMMENT, ''))
  const titles = sources.flatMap((source) => Array.from(source.matchAll(TITLE), ({ groups }) => groups.title))
  return new Set(titles.flatMap((title) => title.match(ID) ?? []))
}

function readJson(file) {
  return JSON.parse(readFileSync(join(root, file), 'utf8'))
}

function difference(some, others) {
  const rest = new Set(others)
  return [...some].filter((id) => !rest.has(id))
}

function refuse(what, list) {
  if (list.length === 0) return
  console.log(`FAIL ${list.length} ${what}: ${list.join(' ')}`)
  process.exitCode = 1
}
