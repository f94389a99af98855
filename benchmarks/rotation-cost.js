// What a refresh costs in two builds of this package: CPU time of the process, and of Redis or PostgreSQL.
// node benchmarks/rotation-cost.js <folder before> <folder after> [--rounds 20] [memory] [sqlite] [redis] [postgres]
// Each folder is a checkout with a build; this one needs a build too.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startChild } from './child.js'
import { createGroup, describeGroup } from './figures.js'
import { startServer } from './replica/stores.js'

const KINDS = ['memory', 'sqlite', 'redis', 'postgres']
const WARM_UP_ROUNDS = 3

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '20' } },
})
const [before, after, ...kinds] = positionals
if (after === undefined) throw new TypeError('Name the folders of two builds')

for (const kind of kinds.length === 0 ? KINDS : kinds) {
  if (!KINDS.includes(kind)) throw new TypeError(`Unknown store "${kind}": ${KINDS.join(', ')}`)
  const server = kind === 'redis' || kind === 'postgres' ? await startServer(kind) : null
  const children = []
  try {
    for (const [name, folder] of Object.entries({ before, after })) {
      const setUp = { name, kind, folder: resolve(folder), url: server?.url ?? null }
      const script = new URL('rotation-caller.js', import.meta.url)
      children.push({ name, child: await startChild(script, setUp) })
    }
    console.log(describe(kind, await measure(children, Number(values.rounds))))
  } finally {
    for (const { child } of children) await child.stop()
    await server?.stop()
  }
}

/** The costs of all rounds: by what is measured, then by build. */
async function measure(children, rounds) {
  const groups = new Map()
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    for (const { name, child } of round % 2 === 0 ? children : children.toReversed()) {
      for (const [title, cost] of Object.entries(await child.ask('turn'))) {
        if (!groups.has(title)) groups.set(title, new Map(children.map((one) => [one.name, []])))
        if (round >= 0) groups.get(title).get(name).push({ cost })
      }
    }
  }
  return groups
}

function describe(kind, groups) {
  const texts = Array.from(groups, ([title, samples]) => describeGroup(createGroup(kind, title, samples)))
  return `\n${kind}: CPU time per call; the ratio is before / after, above 1 where a call costs less than before${texts.join('')}`
}
