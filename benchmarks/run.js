// Measures this library beside others, and prints the targets with what was measured. A missed target is no failure:
// nothing here asserts a time. A contestant that answers wrongly is one.
// npm run bench -- [--quick] [--only process|http|growth] [--rows <start of a title>] [--rounds <number>]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeGroup, describeRows } from './figures.js'
import { measureGrowth } from './growth/measure-growth.js'
import { measureHttp } from './http/measure-http.js'
import { createLoad } from './load.js'
import { parseOptions } from './options.js'
import { measureProcess } from './process/measure-process.js'
import { startRedis } from './programs.js'
import { createResults, describeSetting, writeResults } from './results.js'
import { countMet, toTable } from './targets.js'

/**
 * @typedef {object} Run What every part gets.
 * @property {boolean} quick
 * @property {boolean} isWhole
 * @property {number | null} rounds
 * @property {(title: string) => boolean} isWanted
 * @property {(line: string) => void} log
 * @property {(group: import('./figures.js').Group) => void} report Takes and prints the figures of a group.
 * @property {(name: string, rows: Record<string, number>[]) => void} reportMemory The same for a table of memory.
 * @property {(tokens: readonly string[]) => Promise<import('./load.js').Load>} createLoad
 * @property {() => Promise<import('./programs.js').RunningRedis | null>} startRedis Ends with the run.
 */

const MEASURE = { process: measureProcess, http: measureHttp, growth: measureGrowth }

// It warns of a kind of cache that is measured here next to the safe one.
process.removeAllListeners('warning')
process.on('warning', (warning) => {
  if (warning.code !== 'FAST_JWT_CACHE_KEY_BUILDER_SECURITY_RISK') console.warn(warning.stack)
})

const results = await measure(readOptions())
const written = writeResults(results)
console.log(`\n${describeSetting(results)}, in ${results.seconds} s\n`)
if (results.ratios.length > 0) console.log(`${toTable(results.ratios)}\n\n${countMet(results.ratios)}\n`)
console.log(`Written: ${written.join(', ')}`)

/** @param {import('./options.js').Options} options */
async function measure({ quick, parts, rows, rounds, isWhole }) {
  const folder = mkdtempSync(join(tmpdir(), 'tokenlib-bench-'))
  const start = performance.now()
  const log = (line) => console.log(line)
  const groups = []
  const memory = {}
  const running = []
  let load = null
  /** @type {Run} */
  const run = {
    quick,
    isWhole,
    rounds,
    log,
    isWanted: (title) => rows.length === 0 || rows.some((wanted) => title.toLowerCase().startsWith(wanted)),
    report(group) {
      groups.push(group)
      log(describeGroup(group))
    },
    reportMemory(name, rows) {
      memory[name] = rows
      log(`\n${describeRows(rows)}`)
    },
    async createLoad(tokens) {
      const created = await createLoad(tokens, mkdtempSync(join(folder, 'load-')), log)
      load = created.name
      return created
    },
    async startRedis() {
      const redis = await startRedis(log)
      if (redis !== null) running.push(redis)
      return redis
    },
  }
  try {
    for (const part of parts) {
      const begun = performance.now()
      await MEASURE[part](run)
      log(`\n(${part}: ${((performance.now() - begun) / 1000).toFixed(0)} s)`)
    }
  } finally {
    for (const each of running) await each.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  const seconds = (performance.now() - start) / 1000
  return createResults({ seconds, isWhole, load, groups, memory })
}

function readOptions() {
  try {
    return parseOptions(process.argv.slice(2))
  } catch (error) {
    console.error(error.message)
    return process.exit(2)
  }
}
