import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, totalmem, type } from 'node:os'
import { fileURLToPath } from 'node:url'
import { toSection } from '../tools/soak/report.js'
import { toChart, toSvg } from './chart.js'
import { describeGains } from './gains.js'
import { countMet, judgeTargets, toTable } from './targets.js'

const FOLDER = new URL('results/', import.meta.url)
const README = new URL('README.md', import.meta.url)
const SOAK = new URL('soak.json', FOLDER)

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
 * Writes the results, the chart and the generated sections of the README. A quick or partial run uses other file names
 * and leaves the README alone.
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
  if (results.isWhole) {
    const soak = JSON.parse(readFileSync(SOAK, 'utf8'))
    files.push([README, toPage(readFileSync(README, 'utf8'), results, soak)])
  }
  for (const [file, text] of files) writeFileSync(file, text)
  const root = fileURLToPath(new URL('..', import.meta.url))
  return files.map(([file]) => fileURLToPath(file).slice(root.length))
}

/** The results of the last full run, judged against the current targets. */
export function readLatest() {
  const results = JSON.parse(readFileSync(new URL('latest.json', FOLDER), 'utf8'))
  return { ...results, ratios: judgeTargets(results.groups) }
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
 * The README of this folder with new text in its generated sections.
 *
 * @param {string} readme
 * @param {Results} results
 * @param {object} soak The JSON that `node tools/soak` wrote.
 */
export function toPage(readme, results, soak) {
  const sections = {
    gains: `${describeGains(results.groups, results.memory)}\n\nMeasured on ${describeSetting(results)}.`,
    targets: `${countMet(results.ratios)}\n\n${toTable(results.ratios)}`,
    soak: toSection(soak),
  }
  return Object.entries(sections).reduce((page, [name, text]) => replaceSection(page, name, text), readme)
}

function replaceSection(page, name, text) {
  const [start, end] = [`<!-- ${name}: generated -->`, `<!-- /${name} -->`]
  const [from, to] = [page.indexOf(start), page.indexOf(end)]
  if (from === -1 || to < from) throw new Error(`The README needs the lines ${start} and ${end}`)
  return `${page.slice(0, from)}${start}\n\n${text}\n\n${page.slice(to)}`
}

/** The machine that this runs on. */
export function describeMachine() {
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
