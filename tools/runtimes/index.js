// Runs the packed packages in every runtime: exit 1 if a cell fails.
// node tools/runtimes [--quick] [--only bun,deno] [--cells smoke,store,application,guide] [--json FILE]
import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { installRuntimes, RUNTIMES } from './runtime-binaries.js'
import { describeCell, readVersions, toResults, writeRuntimes } from './report.js'
import { listCells, runCell } from './cells.js'
import { createProject } from './project.js'
import { startServers } from './servers.js'

const QUICK = ['node22', 'node24', 'bun', 'deno', 'workerd']

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    cells: { type: 'string' },
    json: { type: 'string' },
  },
})
const isQuick = values.quick
const runtimes = values.only?.split(',') ?? (isQuick ? QUICK : RUNTIMES)
const unknown = runtimes.find((name) => !RUNTIMES.includes(name))
if (unknown !== undefined) {
  console.error(`Unknown runtime ${unknown}; --only takes ${RUNTIMES.join(', ')}, split by commas`)
  process.exit(2)
}

const binaries = await installRuntimes()
const project = await createProject({ isQuick })
const servers = isQuick ? null : await startServers()
const results = []
try {
  const wanted = listCells(runtimes, { isQuick, project, binaries, servers: servers?.environment }).filter(
    ({ group }) => values.cells === undefined || values.cells.split(',').includes(group),
  )
  // As many at a time as the machine has processors; the results keep the order of the list.
  const queue = wanted.entries()
  const work = async () => {
    for (const [at, cell] of queue) {
      results[at] = await runCell(cell)
      console.log(describeCell(results[at]))
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
} finally {
  await servers?.stop()
  project.remove()
}

const record = toResults(results, readVersions(runtimes, binaries))
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(record, null, 2)}\n`)
const isFull = !isQuick && values.only === undefined && values.cells === undefined
if (isFull) writeRuntimes(record)
const failed = results.filter(({ outcome }) => outcome === 'fails').length
console.log(
  failed === 0 ? `${results.length} cells, none fails` : `${failed} of ${results.length} cells fail`,
)
process.exit(failed === 0 ? 0 : 1)
