// Measures this library beside others, and prints how the promised ratios came out. A ratio that does not hold is no
// failure: nothing here asserts a time. A contestant that answers wrongly is one.
// npm run bench [-- --quick] [-- --only process|request|http|growth]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeRows } from './describe-rows.js'
import { describeSetting } from './describe-setting.js'
import { describeGroup } from './group.js'
import { measureGrowth } from './growth/measure-growth.js'
import { createRevokedServers } from './growth/revoked-servers.js'
import { createLoad } from './http/load.js'
import { measureHttp } from './http/measure-http.js'
import { parseOptions, PARTS } from './options.js'
import { measureProcess } from './process/measure-process.js'
import { measureRequest } from './request/measure-request.js'
import { createResults, writeResults } from './results.js'
import { startRedis } from './start-redis.js'
import { toTable } from './targets.js'

/**
 * @typedef {object} Run What every part gets.
 * @property {boolean} quick
 * @property {(line: string) => void} log
 * @property {(group: import('./group.js').Group) => void} report Takes and prints the figures of a group.
 * @property {(name: string, rows: Record<string, number>[]) => void} reportMemory The same for a table of memory.
 * @property {import('./growth/revoked-servers.js').RevokedServers} revokedServers
 * @property {(tokens: readonly string[]) => Promise<import('./http/load.js').Load>} createLoad
 * @property {() => Promise<import('./start-redis.js').RunningRedis | null>} startRedis Ends with the run.
 */

const MEASURE = { process: measureProcess, request: measureRequest, http: measureHttp, growth: measureGrowth }

// It warns of a kind of cache that is measured here beside the safe one.
process.removeAllListeners('warning')
process.on('warning', (warning) => {
  if (warning.code !== 'FAST_JWT_CACHE_KEY_BUILDER_SECURITY_RISK') console.warn(warning.stack)
})

const options = readOptions()
const results = await measure(options)
const written = writeResults(results, !options.quick && options.parts.length === PARTS.length)
console.log(`\n${describeSetting(results)}, in ${results.seconds} s\n`)
if (results.ratios.length > 0) console.log(`${toTable(results.ratios)}\n`)
console.log(`Written: ${written.join(', ')}`)

/** @param {import('./options.js').Options} options */
async function measure({ quick, parts }) {
  const folder = mkdtempSync(join(tmpdir(), 'tokenlib-bench-'))
  const start = performance.now()
  const log = (line) => console.log(line)
  const groups = []
  const memory = {}
  const revokedServers = createRevokedServers(log)
  const running = [revokedServers]
  let load = null
  /** @type {Run} */
  const run = {
    quick,
    log,
    revokedServers,
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
  return createResults({ seconds, quick, parts, load, groups, memory })
}

function readOptions() {
  try {
    return parseOptions(process.argv.slice(2))
  } catch (error) {
    console.error(error.message)
    return process.exit(2)
  }
}
