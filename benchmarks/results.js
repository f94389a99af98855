import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { toChart, toSvg } from './chart.js'
import { describeSetting } from './describe-setting.js'
import { describeMachine, readVersions } from './machine.js'
import { replaceSpeed } from './speed-section.js'
import { judgeTargets } from './targets.js'

const ROOT = new URL('..', import.meta.url)
const FOLDER = new URL('results/', import.meta.url)

/**
 * @typedef {object} Results What a run leaves behind.
 * @property {string} date
 * @property {number} seconds How long it took.
 * @property {boolean} quick
 * @property {readonly string[]} parts
 * @property {ReturnType<typeof describeMachine>} machine
 * @property {string | null} load What sent the requests.
 * @property {Record<string, string>} versions
 * @property {import('./targets.js').Verdict[]} ratios
 * @property {import('./group.js').Group[]} groups
 * @property {Record<string, Record<string, number>[]>} memory
 */

/**
 * @param {Pick<Results, 'seconds' | 'quick' | 'parts' | 'load' | 'groups' | 'memory'>} run
 * @returns {Results}
 */
export function createResults({ seconds, quick, parts, load, groups, memory }) {
  return {
    date: new Date().toISOString().slice(0, 10),
    seconds: Math.round(seconds),
    quick,
    parts,
    machine: describeMachine(),
    load,
    versions: readVersions(),
    ratios: judgeTargets(groups),
    groups,
    memory,
  }
}

/**
 * Writes the results, their chart and the section of the README that shows both. What is not the whole of it gets
 * other names: the README speaks of full runs only.
 *
 * @param {Results} results
 * @param {boolean} isWhole
 * @returns {string[]} What was written.
 */
export function writeResults(results, isWhole) {
  mkdirSync(FOLDER, { recursive: true })
  const [data, chart] = isWhole ? ['latest.json', 'chart.svg'] : ['partial.json', 'partial.svg']
  const written = [new URL(data, FOLDER)]
  writeFileSync(written[0], `${JSON.stringify(results, null, 2)}\n`)
  if (results.parts.includes('http')) {
    written.push(new URL(chart, FOLDER))
    writeFileSync(written[1], toSvg(toChart(results.groups, describeSetting(results))))
  }
  if (isWhole) {
    const readme = new URL('README.md', ROOT)
    writeFileSync(readme, replaceSpeed(readFileSync(readme, 'utf8'), results))
    written.push(readme)
  }
  return written.map((url) => fileURLToPath(url).slice(fileURLToPath(ROOT).length))
}
