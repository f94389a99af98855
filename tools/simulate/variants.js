// Breaks the sources in small ways, and counts the seeds that the simulation needs to notice each: writes
// test/simulation/variants.md. Not every variant breaks a promise, and some are never reached.
// node tools/simulate/variants.js [--every <n> | --again] [--seeds <n>]
import { fork } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { root } from '../shared/root.js'
import { bundleVariants } from './instrument.js'

const FILES = {
  replica: [
    'stores/replica.ts',
    'stores/replica/follow.ts',
    'stores/replica/freshness.ts',
    'stores/replica/restore.ts',
  ],
  rotation: ['revocation/rotation.ts'],
  revocation: ['revocation/revocation.ts', 'revocation/revoker.ts', 'stores/local-store.ts'],
  client: ['token-client.ts', 'tabs.ts', 'outages.ts'],
}
const TIMEOUT_MS = 120_000

const { values } = parseArgs({
  options: {
    // Only every n-th variant.
    every: { type: 'string', default: '1' },
    // Only those that the page lists.
    again: { type: 'boolean', default: false },
    // The most seeds for each.
    seeds: { type: 'string', default: '10' },
  },
})
for (const name of ['every', 'seeds']) {
  const value = values[name]
  if (!/^[1-9]\d*$/.test(value)) throw new Error(`--${name} takes a number above zero: ${value}`)
}
const PAGE = join(root, 'test/simulation/variants.md')
const rooms = Object.entries(FILES).flatMap(([room, files]) =>
  files.map((file) => [`packages/${room === 'client' ? 'client' : 'tokenlib'}/src/${file}`, room]),
)
const roomOf = new Map(rooms)
const bundle = join(root, 'build/simulation/variants.mjs')
mkdirSync(join(root, 'build/simulation'), { recursive: true })
const all = await bundleVariants([...roomOf.keys()], bundle)
const listed = values.again ? readListed() : null
const variants = all.filter(
  (variant, at) =>
    variant.status !== 'Ignored' &&
    (listed === null ? at % Number(values.every) === 0 : listed.delete(toKey(variant))),
)
if (listed?.size > 0) console.log(`not found in the sources any more: ${listed.size}`)

let child = await startWorker()
const unbroken = await tryVariant('none')
if (unbroken.by !== null) throw new Error(`The code as it is breaks a promise: ${unbroken.by}`)
const found = []
for (const variant of variants) {
  const { id, replacement, mutatorName } = variant
  const { seeds, by } = await tryVariant(id)
  const file = relative(root, variant.fileName)
  const line = readLine(variant)
  console.log(`${by === null ? 'not noticed' : `seed ${seeds}: ${by}`}  ${file}  ${line}  ->  ${mutatorName}`)
  if (by !== null) found.push({ room: roomOf.get(file), file, line, replacement, seeds, by })
}
child.kill()
writeFileSync(PAGE, toPage())
console.log(`${found.length} of ${variants.length} noticed`)

function startWorker() {
  return new Promise((resolve) => {
    const args = [bundle, values.seeds, '4', '60']
    const worker = fork(fileURLToPath(new URL('variant-worker.js', import.meta.url)), args, {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    worker.once('message', () => resolve(worker))
  })
}

async function tryVariant(id) {
  const result = await new Promise((resolve) => {
    const timer = setTimeout(() => resolve({ seeds: 1, by: 'the process hangs' }), TIMEOUT_MS)
    child.once('message', (answer) => {
      clearTimeout(timer)
      resolve(answer)
    })
    child.send(id)
  })
  // What a variant leaves behind must not disturb the next one.
  if (result.by?.startsWith('the process')) {
    child.kill('SIGKILL')
    child = await startWorker()
  }
  return result
}

function readLine({ fileName, location }) {
  return readFileSync(fileName, 'utf8').split('\n')[location.start.line].trim()
}

function escape(text) {
  return text.replaceAll('|', '\\|').replaceAll('`', "'").replaceAll(/\s+/g, ' ').slice(0, 80)
}

// How the page names a variant.
function toKey(variant) {
  const { fileName, replacement } = variant
  return `${fileName.split('/').at(-1)} \`${escape(readLine(variant))}\` \`${escape(replacement) || ' '}\``
}

function readListed() {
  const rows = readFileSync(PAGE, 'utf8').matchAll(
    /^\| \w+ +\| ([\w-]+\.ts) +\| (`.*?`) +\| (`.*?`) +\| \d+ /gm,
  )
  return new Set(Array.from(rows, ([, file, line, replacement]) => `${file} ${line} ${replacement}`))
}

function toPage() {
  const rows = found.map(
    ({ room, file, line, replacement, seeds, by }) =>
      `| ${room} | ${file.split('/').at(-1)} | \`${escape(line)}\` | \`${escape(replacement) || ' '}\` | ${seeds} | ${escape(by)} |`,
  )
  return [
    '# Broken variants',
    '',
    values.again
      ? `Written by \`node tools/simulate/variants.js --again --seeds ${values.seeds}\`: ${found.length} of the ${variants.length} variants that were listed here before were noticed again.`
      : `Written by \`node tools/simulate/variants.js --every ${values.every} --seeds ${values.seeds}\`: ${found.length} of ${variants.length} variants were noticed. The others change nothing that a promise is about, are not reached, or need more seeds.`,
    '',
    '| Part | File | Line | Instead | Seeds | Noticed by |',
    '| ---- | ---- | ---- | ------- | ----- | ---------- |',
    ...rows,
    '',
  ].join('\n')
}
