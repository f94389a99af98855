// Runs the same seeds with several versions of Node and compares their histories: exit 1 if one differs.
// node tools/simulate/versions.js [--seeds <n>] [--processes <n>] [--seconds <n>] [<path of a node> …]
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { installRuntime } from '../runtimes/runtime-binaries.js'
import { run } from '../shared/processes.js'
import { root } from '../shared/root.js'

const NODES = ['node20', 'node22', 'node24']
const COMMAND = fileURLToPath(new URL('index.js', import.meta.url))

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: 'string', default: '20' },
    processes: { type: 'string', default: '6' },
    seconds: { type: 'string', default: '60' },
  },
})
const binaries = positionals.length > 0 ? positionals : await Promise.all(NODES.map(installRuntime))
const args = Object.entries(values).flatMap(([name, value]) => [`--${name}`, value])

const histories = []
for (const binary of binaries) {
  const version = (await run(binary, ['--version'], root)).trim()
  const output = await run(binary, [COMMAND, ...args], root)
  // The seed, and the start of the hash of its history.
  const digests = output.match(/^seed \d+ {2}\w{16}/gm) ?? []
  histories.push({ version, digests })
  console.log(`${version}: ${digests.length} histories`)
}
const [first, ...others] = histories
const different = others.flatMap(({ version, digests }) =>
  first.digests.flatMap((digest, at) =>
    digest === digests[at] ? [] : `${first.version}: ${digest}; ${version}: ${digests[at] ?? 'none'}`,
  ),
)
if (first.digests.length < Number(values.seeds)) different.push(`${first.version}: a seed is missing`)
console.log(different.length === 0 ? 'all the same' : different.join('\n'))
process.exit(different.length > 0 ? 1 : 0)
