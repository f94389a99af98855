// Measures this library beside others, and prints how the promised ratios came out; nothing here asserts a time.
// npm run bench [-- --quick] [-- --only process|request|http|growth]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeGroup } from './group.js'
import { measureHttp } from './http/measure-http.js'
import { parseOptions } from './options.js'
import { measureProcess } from './process/measure-process.js'
import { startRedis } from './start-redis.js'
import { judgeTargets, toTable } from './targets.js'

/**
 * @typedef {object} Run What every part gets.
 * @property {boolean} quick
 * @property {string} folder Temporary, and gone after the run.
 * @property {(line: string) => void} log
 * @property {(group: import('./group.js').Group) => void} report Takes and prints the figures of a group.
 * @property {() => Promise<import('./start-redis.js').RunningRedis | null>} startRedis The same one each time.
 */

const MEASURE = { process: measureProcess, http: measureHttp }

const options = parseOptions(process.argv.slice(2))
const folder = mkdtempSync(join(tmpdir(), 'tokenlib-bench-'))
const groups = []
/** @type {ReturnType<typeof startRedis> | null} */
let redis = null
const run = {
  quick: options.quick,
  folder,
  log: (line) => console.log(line),
  report(group) {
    groups.push(group)
    console.log(describeGroup(group))
  },
  startRedis: () => (redis ??= startRedis(run.log)),
}
try {
  for (const part of options.parts) await MEASURE[part]?.(run)
} finally {
  const started = await redis
  await started?.stop()
  rmSync(folder, { recursive: true, force: true })
}
console.log(`\n${toTable(judgeTargets(groups))}`)
