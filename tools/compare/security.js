// Tries every attack of test/security on this library and on its peers, and prints who refuses what, side by side.
// node tools/compare/security.js [--only <part of a class title>]
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { root } from '../shared/root.js'

// Ours first; the others by their packages.
const TARGETS = {
  tokenlib: null,
  jose: 'jose',
  'fast-jwt': 'fast-jwt',
  jsonwebtoken: 'jsonwebtoken',
  'hono/jwt': 'hono',
}
// How harness/attack.ts says that an attack went through; whatever else fails is a fault of the driver.
const ACCEPTED = 'AttackSucceeded'
// The number of a file is that of its class in test/security/attack-classes.json, which has a sentence for each.
const CLASS = /\/(\d{2})-[^/]+$/

const folder = mkdtempSync(join(tmpdir(), 'tokenlib-compare-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const only = readOnly(process.argv.slice(2))
const results = new Map()
for (const name of Object.keys(TARGETS)) results.set(name, await attackTarget(name))
printTable()
printAccepted()

/** The outcome of every attack on one library: its class, its name, and `refused`, `accepted`, `none` or `fault`. */
async function attackTarget(name) {
  console.error(`attacking ${name} …`)
  const file = join(folder, `${name.replace('/', '-')}.json`)
  const command = ['vitest', 'run', ...findFiles(name), '--reporter=json', `--outputFile=${file}`]
  await new Promise((resolve) => {
    const options = { cwd: root, env: { ...process.env, SECURITY_TARGET: name }, maxBuffer: 2 ** 28 }
    // Peers that take an attack make the run fail; what counts is in the file.
    execFile('npx', command, options, resolve)
  })
  const { testResults } = JSON.parse(readFileSync(file, 'utf8'))
  return testResults
    .flatMap((file) => {
      const id = `ATK-${CLASS.exec(file.name)[1]}`
      const attacks = file.assertionResults.filter(({ ancestorTitles }) => ancestorTitles.length > 0)
      return attacks.map((result) => ({ ...result, id }))
    })
    .map(({ id, ancestorTitles, title, status, failureMessages }) => ({
      id,
      group: `${id} ${ancestorTitles[0]}`,
      title: [...ancestorTitles.slice(1), title].join(' > '),
      outcome: readOutcome(status, failureMessages),
      message: failureMessages?.[0]?.split('\n')[0] ?? '',
    }))
    .filter(({ group }) => group.includes(only))
}

// Peers are spared the files in which there is nothing for them.
function findFiles(name) {
  const files = readdirSync(join(root, 'test/security')).filter((file) => file.endsWith('.test.ts'))
  const wanted = files.filter(
    (file) =>
      name === 'tokenlib' || /\battack\(/.test(readFileSync(join(root, 'test/security', file), 'utf8')),
  )
  return wanted.map((file) => `test/security/${file}`)
}

function readOutcome(status, failureMessages) {
  if (status === 'passed') return 'refused'
  if (status !== 'failed') return 'none'
  return failureMessages.some((message) => message.includes(ACCEPTED)) ? 'accepted' : 'fault'
}

function printTable() {
  const groups = [...new Set(results.get('tokenlib').map(({ group }) => group))].toSorted()
  const names = [...results.keys()]
  const row = (title, cells) =>
    console.log(`${title.padEnd(84).slice(0, 84)} ${cells.map((cell) => cell.padStart(12)).join('')}`)
  console.log('Attacks refused, of those that the library can face; "-" where it has no such part.')
  console.log('Any error of a peer counts as a refusal; of ours, only those that are meant as one.\n')
  row('class', names)
  row(
    '',
    Object.values(TARGETS).map((name) => readVersion(name)),
  )
  for (const group of groups)
    row(
      group,
      names.map((name) => toCell(results.get(name).filter((one) => one.group === group))),
    )
  row(
    'total',
    names.map((name) => toCell(results.get(name))),
  )
  row(
    'classes refused whole',
    names.map((name) => toCell(groups.map((group) => sumUp(name, group)))),
  )
}

function sumUp(name, group) {
  const outcomes = results
    .get(name)
    .filter((one) => one.group === group)
    .map(({ outcome }) => outcome)
  return { outcome: ['fault', 'accepted', 'refused'].find((outcome) => outcomes.includes(outcome)) ?? 'none' }
}

function toCell(attacks) {
  const faced = attacks.filter(({ outcome }) => outcome !== 'none')
  return faced.length === 0
    ? '-'
    : `${faced.filter(({ outcome }) => outcome === 'refused').length}/${faced.length}`
}

function printAccepted() {
  for (const [name, attacks] of results) {
    const accepted = attacks.filter(({ outcome }) => outcome === 'accepted')
    console.log(`\n${name} takes ${accepted.length === 0 ? 'none' : accepted.length}`)
    for (const { id, title } of accepted) console.log(`  ${id}: ${title}`)
    const faults = attacks.filter(({ outcome }) => outcome === 'fault')
    for (const { group, title, message } of faults) console.log(`  FAULT ${group}: ${title}: ${message}`)
    if (faults.length > 0 || (name === 'tokenlib' && accepted.length > 0)) process.exitCode = 1
  }
}

function readVersion(name) {
  if (name === null) return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version
  let at = dirname(createRequire(import.meta.url).resolve(name))
  for (;;) {
    try {
      const manifest = JSON.parse(readFileSync(join(at, 'package.json'), 'utf8'))
      if (manifest.name === name) return manifest.version
    } catch {
      // Not the folder of the package yet.
    }
    at = dirname(at)
  }
}

function readOnly([option, value]) {
  if (option === undefined) return ''
  if (option === '--only' && value !== undefined) return value
  console.error('node tools/compare/security.js [--only <part of a class title>]')
  process.exit(2)
}
