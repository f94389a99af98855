// What replicas and sessions cost a private Redis, PostgreSQL and NATS, and what follows for 10 to 10,000 processes: writes
// results/scale.json, results/scale.md and the tables of docs/scale.md. Linux only.
// npm run build && node benchmarks/scale.js [--quick] [--simulate] [--report]
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { describeSetting, describeMachine } from './results.js'
import { measureCosts } from './scale/measure-costs.js'
import { measureLog } from './scale/measure-log.js'
import { LOAD, MODES } from './scale/model.js'
import { toScaleFigures, toScalePage } from './scale/report.js'
import { simulate } from './scale/simulate.js'

const PAGE = new URL('../docs/scale.md', import.meta.url)
const RESULTS = new URL('results/scale.json', import.meta.url)
const FIGURES = new URL('results/scale.md', import.meta.url)
const { revocationsPerSecond } = LOAD
const AMOUNTS = { entries: 1_000_000, sessions: 20_000, calls: 20_000, seconds: 20 }
const FEW = { entries: 20_000, sessions: 1000, calls: 1000, seconds: 3 }

const { values } = parseArgs({
  options: {
    // A first look: prints the costs, and writes nothing.
    quick: { type: 'boolean', default: false },
    // Simulates again, with the costs of the last run.
    simulate: { type: 'boolean', default: false },
    // Writes both again, from the last run.
    report: { type: 'boolean', default: false },
  },
})

const readResults = () => JSON.parse(readFileSync(RESULTS, 'utf8'))

if (!values.report) {
  const { setting, costs } = values.simulate ? readResults() : await measureAll()
  if (values.quick) {
    console.log(JSON.stringify(costs, null, 2))
    process.exit()
  }
  const simulated = await simulateAll(costs)
  writeFileSync(RESULTS, `${JSON.stringify({ setting, costs, simulated }, null, 2)}\n`)
}
writeFileSync(PAGE, toScalePage(readFileSync(PAGE, 'utf8'), readResults()))
writeFileSync(FIGURES, toScaleFigures(readResults()))
console.log('Written: docs/scale.md and benchmarks/results/scale.md')

async function measureAll() {
  const amounts = { ...(values.quick ? FEW : AMOUNTS), log: console.log }
  const costs = {}
  for (const store of ['redis', 'postgres']) {
    costs[store] = await measureCosts(store, { ...amounts, revocationsPerSecond })
  }
  costs.nats = await measureLog(amounts)
  const date = new Date().toISOString().slice(0, 10)
  return { costs, setting: describeSetting({ date, machine: describeMachine(), load: null }) }
}

async function simulateAll(costs) {
  const simulated = []
  for (const [engine, measured] of Object.entries(costs)) {
    for (const mode of MODES.filter(({ hasWakeUps }) => engine !== 'nats' || !hasWakeUps)) {
      for (const processes of LOAD.processes) {
        const found = await simulate(measured, mode, processes, revocationsPerSecond)
        simulated.push({ engine, mode: mode.name, processes, ...found })
        console.log(JSON.stringify(simulated.at(-1)))
      }
    }
  }
  return simulated
}
