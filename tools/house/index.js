// Measures the house: how large the core is, what it shows, what is published, how many files a request passes through,
// and what an import costs, each next to its target. node tools/house [--files]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { measureImports } from './imports.js'
import { measureSources } from './sources.js'
import { measureSurface } from './surface.js'
import { measureWalks } from './walks.js'
import { packAll } from '../packages/pack.js'
import { root } from '../shared/root.js'
import { run } from '../shared/processes.js'

const { values } = parseArgs({ options: { files: { type: 'boolean', default: false } } })

await run('npm', ['run', '--silent', 'build'], root)
const sources = measureSources('packages/tokenlib/src')
print('packages/tokenlib/src', [
  ['files', sources.files, 150],
  ['lines', sources.lines, 19_000],
  ['lines outside of stores/ and frameworks/', sources.linesToRead, 9000],
  [`lines of the longest file, ${sources.longest.path}`, sources.longest.lines, 300],
  ['files under 25 lines', sources.short, 15],
  ['files in import circles', sources.circular.length, 0],
  ['files of the Nest adapter', sources.nest, 11],
])

const surface = await measureSurface()
print('surface', [
  ['members of TokenManager', surface.members.length, 26],
  [`root exports (${surface.values} values)`, surface.names, 70],
  ['subpaths of tokenlib, with the root', surface.subpaths, 20],
])

const folder = mkdtempSync(join(tmpdir(), 'tokenlib-house-'))
try {
  const packed = await packAll(folder)
  print(
    'packed',
    packed.flatMap(({ manifest: { name }, size, paths }) => [
      [`${name}, bytes`, size, name === 'tokenlib' ? 300_000 : null],
      [`${name}, files`, paths.size, name === 'tokenlib' ? 150 : null],
    ]),
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}

const walks = await measureWalks()
print(
  'source files that run code',
  walks.map(({ name, files }) => [name, files.length, name.startsWith('a guarded request') ? 12 : null]),
)

const { tokenlib, jose } = measureImports(['tokenlib', 'jose'])
print('import, median CPU in ms', [
  ['tokenlib', Number(tokenlib.toFixed(1)), Number(jose.toFixed(1))],
  ['jose', Number(jose.toFixed(1)), null],
])

if (values.files) {
  console.log(`\nmembers: ${surface.members.join(', ')}`)
  if (sources.circular.length > 0) console.log(`\nin circles:\n  ${sources.circular.join('\n  ')}`)
  for (const { name, files } of walks) console.log(`\n${name}:\n  ${files.join('\n  ')}`)
}

/** Rows of a name, a figure and the most it should be, or `null`. */
function print(title, rows) {
  console.log(`\n${title}`)
  for (const [name, figure, target] of rows) {
    const verdict =
      target === null ? '' : `at most ${format(target).padStart(7)}  ${figure <= target ? 'ok' : 'ABOVE'}`
    console.log(`  ${name.padEnd(64)} ${format(figure).padStart(9)}  ${verdict}`.trimEnd())
  }
}

function format(number) {
  return number.toLocaleString('en-GB')
}
