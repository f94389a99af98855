// Breaks the sources in small ways, and counts the seeds that the simulation needs to notice each: writes
// test/simulation/variants.md. Not every variant breaks a promise, and some are never reached.
// node tools/simulate/variants.js [--every <n>] [--seeds <n>]
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
    // The most seeds for each.
    seeds: { type: 'string', default: '10' },
  },
})
for (const [name, value] of Object.entries(values)) {
  if (!/^[1-9]\d*$/.test(value)) throw new Error(`--${name} takes a number above zero: ${value}`)
}
const rooms = Object.entries(FILES).flatMap(([room, files]) =>
  files.map((file) => [`packages/${room === 'client' ? 'client' : 'tokenlib'}/src/${file}`, room]),
)
const roomOf = new Map(rooms)
const bundle = join(root, 'build/simulation/variants.mjs')
mkdirSync(join(root, 'build/simulation'), { recursive: true })
const variants = (await bundleVariants([...roomOf.keys()], bundle)).filter(
  ({ status }, at) => status !== 'Ignored' && at % Number(values.every) === 0,
)

let child = await startWorker()
const unbroken = await tryVariant('none')
if (unbroken.by !== null) throw new Error(`The code as it is breaks a promise: ${unbroken.by}`)
const found = []
for (const { id, fileName, location, replacement, mutatorName } of variants) {
  const { seeds, by } = await tryVariant(id)
  const file = relative(root, fileName)
  const line = readFileSync(fileName, 'utf8').split('\n')[location.start.line].trim()
  console.log(`${by === null ? 'not noticed' : `seed ${seeds}: ${by}`}  ${file}  ${line}  ->  ${mutatorName}`)
  if (by !== null) found.push({ room: roomOf.get(file), file, line, replacement, seeds, by })
}
child.kill()
writeFileSync(join(root, 'test/simulation/variants.md'), toPage())
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

function toPage() {
  const escape = (text) =>
    text.replaceAll('|', '\\|').replaceAll('`', "'").replaceAll(/\s+/g, ' ').slice(0, 80)
  const rows = found.map(
    ({ room, file, line, replacement, seeds, by }) =>
      `| ${room} | ${file.split('/').at(-1)} | \`${escape(line)}\` | \`${escape(replacement) || ' '}\` | ${seeds} | ${escape(by)} |`,
  )
  return [
    '# Broken variants',
    '',
    `Written by \`node tools/simulate/variants.js --every ${values.every} --seeds ${values.seeds}\`: ${found.length} of ${variants.length} variants were noticed. The others change nothing that a promise is about, are not reached, or need more seeds.`,
    '',
    '| Part | File | Line | Instead | Seeds | Noticed by |',
    '| ---- | ---- | ---- | ------- | ----- | ---------- |',
    ...rows,
    '',
  ].join('\n')
}
