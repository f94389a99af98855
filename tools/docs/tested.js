// Writes the figures of docs/how-it-is-tested.md, from what the other tools record.
// node tools/docs/tested.js [--check]    --check writes nothing, and fails if the page is not up to date
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../shared/root.js'
import { readTable } from '../suites/table.js'

const PAGE = join(root, 'docs/how-it-is-tested.md')
const START = '<!-- figures: node tools/docs/tested.js -->'
const END = '<!-- /figures -->'

const read = (path) => readFileSync(join(root, path), 'utf8')
const readJson = (path) => JSON.parse(read(path))
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0)
const format = (number) => number.toLocaleString('en')

const page = readFileSync(PAGE, 'utf8')
const [start, end] = [page.indexOf(START), page.indexOf(END)]
if (start === -1 || end < start) throw new Error(`${PAGE} has no ${START} … ${END}`)
const rows = [['What', 'Figure', 'Command or source'], ['-', '-', '-'], ...listFigures()]
const table = rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
const after = `${page.slice(0, start)}${START}\n<!-- oxfmt-ignore-start -->\n\n${table}\n\n<!-- oxfmt-ignore-end -->\n${page.slice(end)}`

if (!process.argv.includes('--check')) writeFileSync(PAGE, after)
else if (after !== page) {
  console.error('docs/how-it-is-tested.md is not up to date: node tools/docs/tested.js')
  process.exitCode = 1
}

function listFigures() {
  const suites = readTable(read('CONTRIBUTING.md')).rows.filter(({ tests }) => tests !== '')
  const behaviours = Object.assign({}, ...Object.values(readJson('test/behaviours.json')))
  const attacks = Object.keys(readJson('test/security/attack-classes.json'))
  const model = readRows('test/model/rotation/checked.md', 'Scenario')
  const broken = readRows('test/model/rotation/checked.md', 'The variant')
  const variants = readRows('test/simulation/variants.md', 'Part')
  const browsers = readJson('test/browser-evidence/results.json').runs
  const consumers = readJson('test/consumers/results.json').filter(({ works }) => works)
  const cells = readJson('test/runtimes/results.json').cells.filter(({ outcome }) => outcome === 'works')
  const folders = Object.entries(readJson('test/mutation/scores.json'))
  return [
    ...suites.map(({ command, tests, took }) => [`Tests`, `${tests} in ${took}`, `\`${command}\``]),
    ['Behaviours with their tests', format(Object.keys(behaviours).length), source('test/behaviours.json')],
    ['Classes of attacks', format(attacks.length), source('test/security')],
    ['Fault scenarios on real servers', format(countScenarios()), '`node tools/evidence/faults.js`'],
    ['Scenarios of the rotation model', format(model.length), source('test/model/rotation/checked.md')],
    ['Histories they cover', `${format(sum(model.map(readCount)))} worlds`, source('test/model')],
    [
      'Broken rotation rules that the model detects',
      format(broken.length),
      source('test/model/rotation/checked.md'),
    ],
    ['Bugs that the simulation detects', format(variants.length), source('test/simulation/variants.md')],
    [
      'Browser runs without a false logout',
      `${format(browsers.filter(isClean).length)} of ${browsers.length}`,
      '`node tools/browsers`',
    ],
    ['Runtimes, stores and guides that work together', format(cells.length), '`node tools/runtimes`'],
    ['Complete projects on other tools', format(consumers.length), '`node tools/consumers`'],
    ...folders.map(([folder, { mutants, score }]) => [
      `Mutation score of \`${folder}\``,
      `${score.toFixed(2)} % of ${format(mutants)}`,
      source('test/mutation', '`node tools/mutation`'),
    ]),
  ]
}

function source(path, text = `\`${path}\``) {
  return `[${text}](../${path})`
}

/** The rows of the table with this first title, as cells. */
function readRows(path, title) {
  const lines = read(path).split('\n')
  const first = lines.findIndex((line) => line.startsWith(`| ${title} `))
  if (first === -1) throw new Error(`${path} has no table of ${title}`)
  const rest = lines.slice(first + 2)
  const length = rest.findIndex((line) => !line.startsWith('|'))
  return rest
    .slice(0, length === -1 ? undefined : length)
    .map((line) => line.split(' | ').map((cell) => cell.trim()))
}

/** The number of worlds in a row of the model. */
function readCount(cells) {
  return Number(cells.at(-2).replaceAll(',', ''))
}

function isClean({ figures, problems }) {
  return figures.falseLogOuts === 0 && problems.length === 0
}

function countScenarios() {
  return readdirSync(join(root, 'test/faults')).filter((name) => name.endsWith('.test.ts')).length
}
