import { replacePart, toTable } from '../../tools/shared/report.js'
import {
  LOAD,
  MODES,
  toLimit,
  toMassRevocation,
  toMemory,
  toProcessCosts,
  toRefreshes,
  toServerCosts,
} from './model.js'

/**
 * @typedef {object} ScaleResults
 * @property {string} setting The machine, and the day.
 * @property {Record<'redis' | 'postgres', import('./measure-costs.js').Costs>} costs And those of `measureLog` as `nats`.
 * @property {{ engine: string, mode: string, processes: number, median: number | null, most: number | null, stale: number }[]} simulated
 */

const STORES = { redis: 'Redis', postgres: 'PostgreSQL' }
const ENGINES = { ...STORES, nats: 'NATS, as a log' }
// The default, and what costs least.
const SHOWN = [MODES[0], MODES[2]]
const DAYS = [1, 20]

/**
 * The page with the figures of a run in its generated parts.
 *
 * @param {string} page
 * @param {ScaleResults} results
 */
export function toScalePage(page, results) {
  const parts = { limits: toLimits(results), memory: toMemoryTable(results) }
  return Object.entries(parts).reduce(
    (text, [name, part]) => replacePart(text, `<!-- ${name}: generated -->`, `<!-- /${name} -->`, part),
    page,
  )
}

/**
 * The other figures of a run: what it costs, and what was measured.
 *
 * @param {ScaleResults} results
 */
export function toScaleFigures(results) {
  const { processes, revocationsPerSecond, sessions } = LOAD
  return `${[
    '# What replicas and sessions cost',
    'Written by `node benchmarks/scale.js`. [How large can it get?](../../docs/scale.md) explains the figures.',
    `## With ${processes[0]} to ${toCount(processes.at(-1))} processes`,
    `The load on each process and on the server, with ${toCount(sessions)} live sessions and ${revocationsPerSecond} revocations per second. CPU above one core is calculated.`,
    toLoad(results),
    '## Measured',
    toCosts(results),
  ].join('\n\n')}\n`
}

// Nobody is woken by a log.
const isUsed = (engine, mode) => engine !== 'nats' || !mode.hasWakeUps

function toLimits({ costs }) {
  const rows = MODES.flatMap((mode) =>
    [0, LOAD.revocationsPerSecond].map((revocations) => [
      toTitle(mode.name),
      String(revocations),
      ...Object.keys(ENGINES).map((engine) =>
        isUsed(engine, mode) ? toRough(toLimit(costs[engine], mode, revocations)) : '',
      ),
    ]),
  )
  return toTable(['Replicas', 'Revocations per second', ...Object.values(ENGINES)], rows)
}

function toLoad(results) {
  const blocks = SHOWN.flatMap((mode) =>
    Object.keys(ENGINES)
      .filter((engine) => isUsed(engine, mode))
      .map((engine) => toBlock(results, engine, mode)),
  )
  return [...blocks, toMassTable(results), describeRefreshes(results)].join('\n\n')
}

function toBlock({ costs, simulated }, engine, mode) {
  const each = toProcessCosts(costs[engine], mode)
  const all = LOAD.processes.map((processes) => ({
    ...toServerCosts(costs[engine], mode, processes),
    ...simulated.find(
      (row) => row.engine === engine && row.mode === mode.name && row.processes === processes,
    ),
  }))
  const row = (name, read, ofOne = '') => [name, ofOne, ...all.map(read)]
  return toTable(
    [`${ENGINES[engine]}, ${mode.name}`, 'Each process', ...LOAD.processes.map(toCount)],
    [
      row('reads per second', ({ reads }) => toRough(reads), toRough(each.reads)),
      row('received by the server per second', ({ received }) => toBytes(received), toBytes(each.received)),
      row('sent by the server per second', ({ sent }) => toBytes(sent), toBytes(each.sent)),
      row('CPU of the server, in cores', ({ cores }) => toRough(cores)),
      row('all processes refuse after, at most', ({ most }) => toDelay(most)),
      row('copies that are too old', ({ stale }) => `${toRough(stale * 100)} %`),
    ],
  )
}

function toMassTable({ costs }) {
  const rows = Object.entries(STORES).flatMap(([store, name]) => {
    const each = LOAD.processes.map((processes) => toMassRevocation(costs[store], processes))
    return [
      [`${name}: sent`, ...each.map(({ sent }) => toBytes(sent))],
      [`${name}: time of one core`, ...each.map(({ seconds }) => toDelay(seconds * 1000))],
    ]
  })
  return toTable(
    [`${toCount(LOAD.massRevocation)} revocations, one by one`, ...LOAD.processes.map(toCount)],
    rows,
  )
}

function toMemoryTable({ costs }) {
  const most = LOAD.processes.at(-1)
  const perStore = (read) => Object.keys(STORES).map((store) => toBytes(read(costs[store])))
  return toTable(
    ['Memory', ...Object.values(STORES), 'Each process'],
    [
      [`${toCount(LOAD.sessions)} live sessions`, ...perStore((of) => toMemory(of, 1).sessions), ''],
      ...DAYS.map((days) => {
        const { entries, process } = toMemory(costs.redis, days)
        return [
          `${toRough(entries / 1e6)} million revocations, if sessions last ${days} ${days === 1 ? 'day' : 'days'}`,
          ...perStore((of) => toMemory(of, days).server),
          toBytes(process),
        ]
      }),
      [
        `connections of ${toCount(most)} processes, two each`,
        ...perStore(({ memory }) => 2 * most * memory.connection),
        '',
      ],
    ],
  )
}

function describeRefreshes({ costs }) {
  const [{ perSecond }] = Object.keys(STORES).map((store) => toRefreshes(costs[store]))
  const cores = Object.entries(STORES).map(
    ([store, name]) => `${toRough(toRefreshes(costs[store]).cores)} cores of ${name}`,
  )
  return (
    `If ${LOAD.shareInUse * 100} % of the sessions are in use and refresh every ${LOAD.accessTokenMinutes} minutes, ` +
    `that adds ${toRough(perSecond)} refreshes per second: ${cores.join(', or ')}.`
  )
}

function toCosts({ setting, costs }) {
  const engines = Object.keys(ENGINES)
  // A log has no sessions.
  const row = (name, read, names = engines) => [
    name,
    ...engines.map((engine) => (names.includes(engine) ? read(costs[engine]) : '')),
  ]
  const stores = Object.keys(STORES)
  const micros = (value) => `${value} µs`
  const bytes = (value) => `${value} bytes`
  const table = toTable(
    ['Measured', ...engines.map((engine) => costs[engine].version)],
    [
      row('a read that finds nothing: CPU of the server', ({ read }) => micros(read.server)),
      row('… CPU of the process', ({ read }) => micros(read.process)),
      row('… received and sent by the server', ({ read }) => `${read.received} + ${bytes(read.sent)}`),
      row('each revocation that is read: CPU of the server', ({ entry }) => micros(entry.server)),
      row('… sent by the server', ({ entry }) => bytes(entry.sent)),
      row('a wake-up of one process: CPU of the server', ({ wakeUp }) => micros(wakeUp.server), stores),
      row('… sent by the server', ({ wakeUp }) => bytes(wakeUp.sent), stores),
      row('writing a revocation: CPU of the server', ({ revoke }) => micros(revoke.server)),
      row('… each of 10,000 in a batch', ({ revoke }) => micros(revoke.inBulk), stores),
      row('a login: CPU of the server', ({ session }) => micros(session.login), stores),
      row('a refresh: CPU of the server', ({ session }) => micros(session.refresh), stores),
      row('memory of a live session', ({ memory }) => bytes(memory.session), stores),
      row('memory of a revocation in the server', ({ memory }) => bytes(memory.entry), stores),
      row('… in a process', ({ start }) => bytes(start.bytes), stores),
      row('memory of a connection', ({ memory }) => toBytes(memory.connection)),
      row('start of a replica', ({ start }) => `${start.seconds} s`, stores),
      row(
        '… its CPU, and that of the server',
        ({ start }) => `${start.cpu} s + ${start.serverCpu} s`,
        stores,
      ),
      row('… with revocations', ({ start }) => toCount(start.entries), stores),
      row('reads of a replica per second, at rest', ({ reads }) => String(reads.idle.reads), stores),
      row(
        `… with ${LOAD.revocationsPerSecond} revocations per second`,
        ({ reads }) => String(reads.woken.reads),
        stores,
      ),
      row('… the same without wake-ups', ({ reads }) => String(reads.polled.reads), stores),
      ...compareReplicas(row, stores),
      row('load average before and after', ({ load }) => load.join(' and ')),
    ],
  )
  return `${table}\n\nMeasured on ${setting}.`
}

// What ten real replicas cost each, next to the calculation.
function compareReplicas(row, stores) {
  const { revocationsPerSecond } = LOAD
  const [woken, polled] = MODES
  return [
    { name: 'at rest', id: 'idle', mode: polled, revocations: 0 },
    { name: 'with wake-ups', id: 'woken', mode: woken, revocations: revocationsPerSecond },
    { name: 'without', id: 'polled', mode: polled, revocations: revocationsPerSecond },
  ].map(({ name, id, mode, revocations }) =>
    row(
      `CPU of the server for a replica ${name}, per second`,
      (costs) => {
        const calculated = toProcessCosts(costs, mode, revocations).server
        return `${toRough(costs.reads[id].server / 1000)} ms (calculated: ${toRough(calculated / 1000)} ms)`
      },
      stores,
    ),
  )
}

function toTitle(text) {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function toCount(value) {
  return Math.round(value).toLocaleString('en-US')
}

// Two digits: the figures are no better than that.
function toRough(value) {
  const rough = Number(value.toPrecision(2))
  return rough < 0.01 && rough > 0 ? 'under 0.01' : rough.toLocaleString('en-US')
}

function toBytes(value) {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  const power = Math.max(0, Math.floor(Math.log10(Number(value.toPrecision(2))) / 3))
  return `${toRough(value / 1000 ** power)} ${units[power]}`
}

function toDelay(milliseconds) {
  // Not all of them had read it, and those had become too old: a copy that is too old refuses.
  if (milliseconds === null) return 'the bound'
  const units = [
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1000, 's'],
  ]
  const [size, name] = units.find(([unit]) => milliseconds >= 2 * unit) ?? [1, 'ms']
  return `${toRough(milliseconds / size)} ${name}`
}
