// Compares test/behaviours.json and test/security/attack-classes.json with the tests. A behaviour lists its tests by
// file and title, a class of attacks has the files that start with its number; otherwise either has a reason.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ID = /\b(?!UTF)[A-Z]{2,3}-\d{2}\b/
// The text that test, it, describe or one of the functions of test/security is called with, also after `.each(…)`; a
// skipped one proves nothing.
const TITLE =
  /(?:\b(?:test|it|describe|describeAttacks|attack|ownAttack)(?:\.(?!skip\b|todo\b)\w+)*|[)`])\(\s*(?<quote>['"`])(?<title>(?:\\.|(?!\k<quote>)[^\\])*)/g
const COMMENT = /^\s*(?:\/\/.*|\/\*[^]*?\*\/)/gm

const root = fileURLToPath(new URL('../..', import.meta.url))
const titles = readTitles()

const behaviours = Object.assign({}, ...Object.values(readJson('test/behaviours.json')))
check('behaviours', behaviours, ({ tests = {} }) =>
  Object.entries(tests).flatMap(([file, named]) => named.map((title) => [file, title])),
)
refuse(
  'tests of behaviours that do not exist',
  Object.entries(behaviours).flatMap(([id, { tests = {} }]) =>
    Object.entries(tests).flatMap(([file, named]) =>
      named
        .filter((title) => titles.get(file)?.has(title) !== true)
        .map((title) => `${id} ${file}: ${title}`),
    ),
  ),
)

const attacks = readJson('test/security/attack-classes.json')
const attackFiles = [...titles]
  .filter(([file, found]) => /^security\/[^/]+\.test\.ts$/.test(file) && found.size > 0)
  .map(([file]) => file)
const classOf = (file) => `ATK-${/^security\/(\d{2})-/.exec(file)?.[1]}`
check('attack classes', attacks, (_, id) => attackFiles.filter((file) => classOf(file) === id))
refuse(
  'files of attacks without a class',
  attackFiles.filter((file) => !Object.hasOwn(attacks, classOf(file))),
)

refuse(
  'titles with an id, which belongs into the table',
  [...titles].flatMap(([file, found]) =>
    [...found].filter((title) => ID.test(title)).map((title) => `${file}: ${title}`),
  ),
)

function check(what, entries, listTests) {
  const ids = Object.keys(entries)
  const isTested = (id) => listTests(entries[id], id).length > 0
  const isText = (text) => typeof text === 'string' && text.trim() !== ''
  const untested = ids.filter((id) => entries[id].untested !== undefined)
  console.log(`${ids.filter(isTested).length} of ${ids.length} ${what} have a test`)
  for (const id of untested) console.log(`  ${id} has none: ${entries[id].untested}`)
  refuse(
    `${what} without a sentence`,
    ids.filter((id) => !isText(entries[id].behaviour)),
  )
  refuse(
    `${what} without test or reason`,
    ids.filter((id) => !isTested(id) && !isText(entries[id].untested)),
  )
  refuse(`${what} with both a test and a reason`, untested.filter(isTested))
}

/** The titles in each file below test/. */
function readTitles() {
  const files = readdirSync(join(root, 'test'), { recursive: true }).filter(
    (file) => file.endsWith('.ts') && !file.includes('node_modules'),
  )
  return new Map(
    files.map((file) => {
      const source = readFileSync(join(root, 'test', file), 'utf8').replaceAll(COMMENT, '')
      const found = Array.from(source.matchAll(TITLE), ({ groups }) =>
        groups.title.replaceAll(/\\(['"`])/g, '$1'),
      )
      return [file.replaceAll('\\', '/'), new Set(found)]
    }),
  )
}

function readJson(file) {
  return JSON.parse(readFileSync(join(root, file), 'utf8'))
}

function refuse(what, list) {
  if (list.length === 0) return
  console.log(`FAIL ${list.length} ${what}:\n  ${list.join('\n  ')}`)
  process.exitCode = 1
}
