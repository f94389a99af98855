import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, totalmem, type } from 'node:os'
import { fileURLToPath } from 'node:url'
import { toChart, toSvg } from './chart.js'
import { countMet, judgeTargets, toTable } from './targets.js'

const FOLDER = new URL('results/', import.meta.url)
const README = new URL('README.md', import.meta.url)
const [START, END] = ['<!-- figures: written by npm run bench -->', '<!-- /figures -->']

const PACKAGES = [
  'jose',
  'fast-jwt',
  'jsonwebtoken',
  'hono',
  '@hono/node-server',
  'fastify',
  '@fastify/jwt',
  'express',
  'express-jwt',
  'koa',
  '@koa/router',
  'koa-jwt',
  '@nestjs/core',
  '@nestjs/jwt',
  '@nestjs/passport',
  'passport-jwt',
  'ioredis',
]

/**
 * @typedef {object} Results What a run leaves behind.
 * @property {string} date
 * @property {number} seconds How long it took.
 * @property {boolean} isWhole Whether everything was measured.
 * @property {{ cpu: string, cores: number, memoryGb: number, system: string, node: string }} machine
 * @property {string | null} load What sent the requests.
 * @property {Record<string, string>} versions Of everything that is measured beside this library.
 * @property {import('./targets.js').Verdict[]} ratios
 * @property {import('./figures.js').Group[]} groups
 * @property {Record<string, Record<string, number>[]>} memory
 */

/**
 * @param {Pick<Results, 'seconds' | 'isWhole' | 'load' | 'groups' | 'memory'>} run
 * @returns {Results}
 */
export function createResults({ seconds, isWhole, load, groups, memory }) {
  return {
    date: new Date().toISOString().slice(0, 10),
    seconds: Math.round(seconds),
    isWhole,
    machine: describeMachine(),
    load,
    versions: Object.fromEntries(PACKAGES.map((name) => [name, readVersion(name)])),
    ratios: judgeTargets(groups),
    groups,
    memory,
  }
}

/**
 * Writes the results, their chart and the section of the README that shows both. A quick or partial run gets other
 * file names, and leaves the README alone.
 *
 * @param {Results} results
 * @returns {string[]} What was written.
 */
export function writeResults(results) {
  mkdirSync(FOLDER, { recursive: true })
  const name = results.isWhole ? ['latest.json', 'chart.svg'] : ['partial.json', 'partial.svg']
  const [data, chart] = name.map((file) => new URL(file, FOLDER))
  const files = [[data, `${JSON.stringify(results, null, 2)}\n`]]
  if (results.groups.some(({ id }) => id.startsWith('http '))) {
    files.push([chart, toSvg(toChart(results.groups, describeSetting(results)))])
  }
  if (results.isWhole) files.push([README, replaceFigures(readFileSync(README, 'utf8'), results)])
  for (const [file, text] of files) writeFileSync(file, text)
  const root = fileURLToPath(new URL('..', import.meta.url))
  return files.map(([file]) => fileURLToPath(file).slice(root.length))
}

/**
 * Where and when a run was measured, in one line.
 *
 * @param {Pick<Results, 'date' | 'machine' | 'load'>} results
 */
export function describeSetting({ date, machine, load }) {
  const { cpu, cores, memoryGb, system, node } = machine
  const parts = [`${cpu}, ${cores} cores, ${memoryGb} GB`, system, `Node ${node.slice(1)}`, load, date]
  return parts.filter((part) => part !== null).join(' · ')
}

/**
 * What the README of this folder says about a run.
 *
 * @param {Results} results
 */
export function toFigures(results) {
  const lines = [
    `Measured on ${describeSetting(results)}.`,
    countMet(results.ratios),
    toTable(results.ratios),
  ]
  return [START, ...lines, END].join('\n\n')
}

/**
 * A README with the figures of this run in the place of those before.
 *
 * @param {string} readme
 * @param {Results} results
 */
export function replaceFigures(readme, results) {
  const [start, end] = [readme.indexOf(START), readme.indexOf(END)]
  if (start === -1 || end < start) throw new Error(`The README needs the lines ${START} and ${END}`)
  return readme.slice(0, start) + toFigures(results) + readme.slice(end + END.length)
}

function describeMachine() {
  const [cpu] = cpus()
  return {
    cpu: cpu?.model.trim() || `unnamed ${process.arch} processor`,
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    system: readSystem(),
    node: process.version,
  }
}

function readSystem() {
  try {
    return /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? type()
  } catch {
    return type()
  }
}

// Not by `import`: not every package exports its package.json.
function readVersion(name) {
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? []
  for (const folder of folders) {
    try {
      return JSON.parse(readFileSync(`${folder}/${name}/package.json`, 'utf8')).version
    } catch {
      // Not in this folder.
    }
  }
  throw new Error(`${name} is not installed`)
}
