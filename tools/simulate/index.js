// Runs real managers, replicas, sessions and clients in a world that a seed decides: exit 1 if a promise is broken.
import { parseArgs } from 'node:util'
import { importTypeScript } from '../shared/import-typescript.js'
import { describeOutcome, describeViolations } from './describe.js'
import { describeShares, profile } from './profile.js'

const USAGE = `npm run simulate -- [--seed <n>] [--seeds <n>] [--processes <n>] [--hours <n> | --seconds <n>]
                    [--faults <number>,… | --faults none] [--print] [--profile] [--forever]
test/simulation/README.md says what they do.`

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    // How many of them, from `seed` on.
    seeds: { type: 'string', default: '1' },
    processes: { type: 'string', default: '10' },
    hours: { type: 'string' },
    seconds: { type: 'string' },
    // Only these of the faults that the seed plans.
    faults: { type: 'string' },
    // Prints the history.
    print: { type: 'boolean', default: false },
    // Prints which part of the simulation takes which share of the CPU time.
    profile: { type: 'boolean', default: false },
    // One seed after the other, until it is stopped.
    forever: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(USAGE)
  process.exit()
}
const first = readNumber('seed')
const processes = readNumber('processes')
if (values.hours !== undefined && values.seconds !== undefined) fail('Pass --hours or --seconds, not both')
const seconds =
  values.hours === undefined ? readNumber('seconds', 180) : Math.ceil(3600 * readNumber('hours', 1, 0))
const seeds = values.forever ? Number.MAX_SAFE_INTEGER - first : readNumber('seeds')
const faults = values.faults === undefined ? undefined : readFaults(values.faults)

const { runWorld, shrinkFaults } = await importTypeScript('test/simulation/main.ts')
// Refusals are most of what happens, and nobody reads where they came from.
if (!values.print) Error.stackTraceLimit = 0
let failed = 0
for (let seed = first; seed < first + seeds; seed++) {
  const options = {
    seed: String(seed),
    processes,
    seconds,
    ...(faults && { faults }),
    ...(values.print && { print: (line) => console.log(line) }),
  }
  const startedAt = process.cpuUsage()
  const run = () =>
    runWorld(options).catch((cause) => {
      throw new Error(`Seed ${seed} has no outcome`, { cause })
    })
  const { value: outcome, shares } = values.profile ? await profile(run) : { value: await run(), shares: [] }
  const { user, system } = process.cpuUsage(startedAt)
  const unknown = faults?.filter((number) => !outcome.faults.some((fault) => fault.number === number)) ?? []
  if (unknown.length > 0) fail(`Seed ${seed} has no fault ${unknown.join(', ')}`)
  console.log(describeOutcome(options, outcome, (user + system) / 1e6))
  for (const line of describeShares(shares)) console.log(line)
  if (outcome.violations.length === 0) continue
  failed++
  for (const line of describeViolations(outcome)) console.log(line)
  if (faults !== undefined) continue
  const fewest = await shrinkFaults(options, outcome)
  console.log(
    `  the same with ${fewest.length} of ${outcome.faults.length} faults:\n` +
      `  npm run simulate -- --seed ${seed} --processes ${processes} --seconds ${seconds} --faults ${fewest.join(',') || 'none'} --print`,
  )
}
process.exit(failed > 0 ? 1 : 0)

function readNumber(name, fallback, least = 1) {
  const number = Number(values[name] ?? fallback)
  const isValid =
    least === 0 ? number > 0 && number < Infinity : Number.isSafeInteger(number) && number >= least
  if (!isValid) {
    fail(`--${name} takes ${least === 0 ? 'a number above 0' : 'a whole number from 1 on'}: ${values[name]}`)
  }
  return number
}

// `none`, or numbers of faults, which count from 0.
function readFaults(given) {
  if (given === 'none') return []
  if (!/^\d+(,\d+)*$/.test(given)) fail(`--faults takes numbers, as in 0,3,7, or none: ${given}`)
  return given.split(',').map(Number)
}

function fail(message) {
  console.error(message)
  process.exit(2)
}
