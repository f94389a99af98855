import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensureServer } from '../helpers/servers/missing-server.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { startMysql } from '../helpers/servers/start-mysql.js'
import { startPostgres } from '../helpers/servers/start-postgres.js'
import { startRedis } from '../helpers/servers/start-redis.js'
import { bundleWorker, REPLICA_PROCESS } from './harness/bundle-worker.js'
import { DURABLE_REDIS } from './harness/durable-redis.js'
import type { FigureLine } from './harness/figures.js'
import { STORE_KINDS } from './replica/start-servers.js'
import { type Equipment, FULL, QUICK, SCENARIOS, type Sizes } from './scenarios.js'

/** Runs the scenarios that the arguments name, and prints every figure; resolves with how many promises are broken. */
export async function runFaults(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string', multiple: true },
      quick: { type: 'boolean', default: false },
      // Of the scenario `replica`.
      seeds: { type: 'string' },
      'first-seed': { type: 'string' },
      seconds: { type: 'string' },
      store: { type: 'string' },
      storm: { type: 'string' },
    },
  })
  const names = values.only ?? Object.keys(SCENARIOS)
  const unknown = names.filter((name) => !(name in SCENARIOS))
  if (unknown.length > 0) {
    console.log(`There is no ${unknown.join(', ')}. There are: ${Object.keys(SCENARIOS).join(', ')}`)
    return 1
  }
  const sizes = readSizes(values)
  if (sizes === null) {
    console.log(
      '--store must be redis, postgres or mysql; --seeds, --first-seed, --seconds and --storm must be positive numbers',
    )
    return 1
  }
  for (const kind of ['redis', 'postgres', 'mysql'] as const) {
    const missing = await ensureServer(kind, (line) => console.log(line))
    if (missing !== null) return 1
  }

  let unhandled = 0
  const notice = (reason: unknown): void => {
    unhandled++
    console.log('unhandled rejection:', reason)
  }
  process.on('unhandledRejection', notice)
  const startedAt = performance.now()
  const lines: FigureLine[] = []
  for (const name of names) lines.push(...(await runScenario(name, sizes)))
  process.off('unhandledRejection', notice)
  const promised = lines.filter(({ isKept }) => isKept !== null)
  const broken = promised.filter(({ isKept }) => isKept === false)
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  console.log(`\nunhandled rejections: ${unhandled}`)
  console.log(`${promised.length - broken.length} of ${promised.length} promises kept, ${seconds} s`)
  for (const { where, label, result } of broken) console.log(`BROKEN  ${where}: ${label}: ${result}`)
  return broken.length + unhandled
}

interface SizeArguments {
  readonly quick: boolean
  readonly seeds?: string
  readonly 'first-seed'?: string
  readonly seconds?: string
  readonly store?: string
  readonly storm?: string
}

function readSizes({ quick, store, ...given }: SizeArguments): Sizes | null {
  const base = quick ? QUICK : FULL
  const { replica } = base
  const kind = store === undefined ? replica.store : STORE_KINDS.find((name) => name === store)
  const seeds = Number(given.seeds ?? replica.seeds)
  const firstSeed = Number(given['first-seed'] ?? replica.firstSeed)
  const seconds = Number(given.seconds ?? replica.seconds)
  const stormSize = Number(given.storm ?? replica.perRun.stormSize)
  if (kind === undefined || !(seeds > 0 && firstSeed > 0 && seconds > 0 && stormSize > 0)) return null
  const perRun = { ...replica.perRun, stormSize }
  return { ...base, replica: { ...replica, store: kind, seeds, firstSeed, seconds, perRun } }
}

async function runScenario(name: string, sizes: Sizes): Promise<FigureLine[]> {
  const lines: FigureLine[] = []
  const startedAt = performance.now()
  // Times are those of a machine that may have other things to do.
  console.log(`\n${name} (load average ${loadavg()[0]?.toFixed(1)}, ${availableParallelism()} cores)`)
  try {
    await withEquipment(async (equipment) => {
      for await (const some of SCENARIOS[name]?.(equipment, sizes) ?? []) {
        lines.push(...some.map((line) => ({ ...line, where: `${name}, ${line.where}` })))
        print(some)
      }
    })
  } catch (error) {
    const failed = { where: name, label: 'did not run to its end', result: '', promise: 'to end' }
    lines.push({ ...failed, isKept: false })
    console.log('  did not run to its end:', error)
  }
  console.log(`  (${Math.round((performance.now() - startedAt) / 1000)} s)`)
  return lines
}

function print(lines: readonly FigureLine[]): void {
  console.log(`  ${lines[0]?.where ?? ''}`)
  for (const { label, result, promise, isKept } of lines) {
    const verdict = isKept === null ? '' : isKept ? 'ok' : 'BROKEN'
    const promised = promise === '' ? '' : `promised ${promise}`
    console.log(
      `    ${label.padEnd(78)} ${result.padStart(13)}   ${promised.padEnd(26)} ${verdict}`.trimEnd(),
    )
  }
}

/** Servers of its own for each scenario: what one leaves behind is no part of the next. */
async function withEquipment(use: (equipment: Equipment) => Promise<void>): Promise<void> {
  const worker = await bundleWorker()
  const replicaProcess = await bundleWorker(REPLICA_PROCESS)
  const folder = mkdtempSync(join(tmpdir(), 'tokenlib-faults-'))
  const removeFolder = (): void => {
    process.off('exit', removeFolder)
    rmSync(folder, { recursive: true, force: true })
  }
  process.on('exit', removeFolder)
  const running: RunningServer[] = []
  const keep = <Server extends RunningServer>(server: Server): Server => {
    running.push(server)
    return server
  }
  try {
    await use({
      program: worker.path,
      replicaProgram: replicaProcess.path,
      folder,
      redis: keep(await startRedis()),
      durableRedis: keep(await startRedis(DURABLE_REDIS)),
      postgres: keep(await startPostgres()),
      mysql: keep(await startMysql()),
    })
  } finally {
    await Promise.all(running.map((server) => server.stop()))
    worker.remove()
    replicaProcess.remove()
    removeFolder()
  }
}
