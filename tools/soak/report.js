import { toTable } from '../shared/report.js'
import { BOUND_MS, WARM_UP_MINUTES } from './options.js'
import { compareQuarters, fitLine, median } from './statistics.js'

const MEGABYTE = 1024 * 1024
// What a process still holds after a forced garbage collection must grow by less than this. Garbage does not count, and
// neither does a cache that fills during the warm-up.
const LIMIT_PER_HOUR = MEGABYTE
// Over a shorter time, the standard error of the slope is about as large as the limit.
const MIN_JUDGED_MINUTES = 60
// Connections of a pool come and go; timers of requests under way too.
const COUNT_LIMIT = 5

const TITLES = { redis: 'Redis', postgres: 'PostgreSQL' }

/** One line of progress. */
export function describeMinute(
  { samples, storeSamples, errorCount },
  { kind, all, counts, expected },
  minute,
) {
  const name = `${kind}-1`
  const last = samples.findLast((sample) => sample.name === name)
  const store = storeSamples.findLast((sample) => sample.kind === kind)
  return [
    `${minute.toFixed(1).padStart(5)} min ${kind.padEnd(8)}`,
    `${all.count} requests, p50 ${all.p50} ms, p99 ${all.p99} ms, max ${all.max} ms`,
    `${counts.errors ?? 0} errors (${errorCount} in all)`,
    ...(last === undefined
      ? []
      : [
          `${name}: ${toMegabytes(last.rss)} MB, ${last.descriptors} descriptors, ${last.replica.entries} entries`,
        ]),
    ...(store === undefined
      ? []
      : [
          `${store.sessions} sessions (${expected.liveSessions} live), ${store.revocations} revocations, load ${store.load.toFixed(1)}`,
        ]),
  ].join('; ')
}

/** The record of a run, from the lines that it has written, and how long it took. */
export function readSamples(text) {
  const record = { samples: [], storeSamples: [], minutes: [], errors: [], errorCount: 0 }
  for (const line of text.trim().split('\n')) {
    const { list, ...entry } = JSON.parse(line)
    if (list === 'run') Object.assign(record, entry)
    else record[list].push(entry)
  }
  // Only the first errors have their own lines.
  const counted = record.minutes.reduce((sum, { counts }) => sum + (counts.errors ?? 0), 0)
  record.errorCount = Math.max(record.errors.length, counted)
  return { record, minutes: Math.max(...record.storeSamples.map(({ minute }) => minute)) }
}

/** The result of a run, as JSON. The run failed if `failures` is not empty. */
export function toResult(record, minutes) {
  const warmUp = Math.min(WARM_UP_MINUTES, minutes / 3)
  const loads = record.storeSamples.map(({ load }) => load)
  const names = [...new Set(record.samples.map(({ name }) => name))]
  // Judge only the applications, not the load generator.
  const processes = names
    .filter((name) => name !== 'load')
    .map((name) => judgeProcess(name, record, { warmUp, isLong: minutes - warmUp >= MIN_JUDGED_MINUTES }))
  const stores = record.options.stores.map((kind) => judgeStore(kind, record, warmUp))
  return {
    startedAt: record.startedAt,
    minutes: round(minutes),
    warmUpMinutes: round(warmUp),
    options: { ...record.options, json: undefined, report: undefined },
    versions: record.versions,
    machineLoad: { median: round(median(loads) ?? 0), max: round(Math.max(0, ...loads)) },
    failures: listFailures(record, processes, stores),
    errorCount: record.errorCount,
    errors: record.errors,
    stores,
    processes,
  }
}

function listFailures({ errorCount, errors }, processes, stores) {
  // On a stalled machine, a replica becomes stale and rejects requests. That is an outage, not a wrong answer.
  const refusals = errors.filter(({ message }) => message.includes('503 REVOCATION_UNAVAILABLE')).length
  return [
    ...(errorCount > 0
      ? [`${errorCount} errors; ${refusals} of the first ${errors.length} are REVOCATION_UNAVAILABLE`]
      : []),
    ...(processes.some(({ series }) => series.length > 0) ? [] : ['there are no samples of memory']),
    ...processes
      .filter(({ memory }) => memory.verdict === 'growing')
      .map(({ name, memory }) => `${name}: memory grows by ${toSlope(memory)} per hour`),
    ...processes.flatMap(({ name, counts }) =>
      Object.entries(counts)
        .filter(([, { before, after }]) => after - before > COUNT_LIMIT)
        .map(([what, { before, after }]) => `${name}: ${what} grow from ${before} to ${after}`),
    ),
    ...stores
      .filter(({ rows }) => rows?.isAsExpected === false)
      .map(({ kind, rows }) => `${kind}: unexpected number of rows, ${JSON.stringify(rows)}`),
  ]
}

function judgeProcess(name, { samples, storeSamples }, { warmUp, isLong }) {
  const own = samples.filter((sample) => sample.name === name)
  const judged = own.filter(({ minute }) => minute >= warmUp)
  const sockets = storeSamples.filter(({ kind, minute }) => minute >= warmUp && name.startsWith(`${kind}-`))
  const kinds = [...new Set(own.flatMap(({ handles }) => Object.keys(handles)))].toSorted()
  const series = own
    .filter(({ isCollected }) => isCollected)
    // A replica's table is outside the heap.
    .map(({ minute, heapUsed, external, rss }) => ({ minute, memory: heapUsed + external, rss }))
  const collected = series.filter(({ minute }) => minute >= warmUp)
  const memory = fitLine(collected.map(({ minute, memory }) => [minute, memory]))
  const isBounded = memory !== null && memory.perHour < LIMIT_PER_HOUR
  return {
    name,
    memory: { ...memory, verdict: !isLong ? 'too short to judge' : isBounded ? 'bounded' : 'growing' },
    // Not judged: allocators keep freed pages, so RSS rises in steps even without a leak.
    rss: fitLine(judged.map(({ minute, rss }) => [minute, rss])),
    counts: {
      descriptors: toCount(judged.map(({ descriptors }) => descriptors ?? 0)),
      'sockets to the store': toCount(sockets.map((sample) => sample.sockets[name] ?? 0)),
      ...Object.fromEntries(
        kinds.map((kind) => [`handles ${kind}`, toCount(judged.map(({ handles }) => handles[kind] ?? 0))]),
      ),
    },
    events: own.at(-1)?.events ?? null,
    series,
  }
}

function toCount(values) {
  return { ...compareQuarters(values), max: Math.max(0, ...values) }
}

function judgeStore(kind, { minutes, storeSamples }, warmUp) {
  const own = minutes.filter((entry) => entry.kind === kind)
  const after = own.filter(({ minute }) => minute >= warmUp).map(({ all }) => all)
  const totals = {}
  for (const { counts } of own) {
    for (const [name, count] of Object.entries(counts)) totals[name] = (totals[name] ?? 0) + count
  }
  const { errors = 0, ...operations } = totals
  const last = storeSamples.findLast((sample) => sample.kind === kind)
  const expected = own.at(-1)?.expected
  return {
    kind,
    requests: Object.values(operations).reduce((sum, count) => sum + count, 0),
    errors,
    operations,
    latency: {
      medianP50: median(after.map(({ p50 }) => p50)),
      medianP99: median(after.map(({ p99 }) => p99)),
      worstP99: Math.max(0, ...after.map(({ p99 }) => p99)),
      max: Math.max(0, ...after.map(({ max }) => max)),
    },
    rows: last === undefined || expected === undefined ? null : judgeRows(last, expected),
  }
}

function judgeRows({ sessions, revocations }, expected) {
  const isKept = sessions >= expected.liveSessions && sessions <= expected.mostSessions * 1.1 + 20
  const isPruned = revocations <= expected.mostRevocations * 1.1 + 20
  return { sessions, revocations, ...expected, isAsExpected: isKept && isPruned }
}

/** The report at the end of a run. */
export function describeResult(result) {
  const { stores, processes, failures } = result
  const counts = processes.flatMap((each) =>
    Object.entries(each.counts).map(([what, { before, after, max }]) => [
      `${each.name} ${what}`,
      ...[before, after, max].map(String),
    ]),
  )
  return [
    describeRun(result),
    toTable(
      ['', 'after warm-up', 'end', 'per hour', 'verdict', 'RSS at the end', 'RSS per hour'],
      processes.map(toMemoryRow),
    ),
    toTable(['', 'first quarter', 'last quarter', 'max'], counts),
    toStoreTable(result),
    stores.map(({ kind, operations, rows }) => JSON.stringify({ kind, operations, rows })).join('\n'),
    processes.map(({ name, events }) => `${name} events: ${JSON.stringify(events)}`).join('\n'),
    failures.length === 0 ? 'No failures' : `FAILED: ${failures.join('; ')}`,
  ].join('\n\n')
}

function toMemoryRow({ name, memory, rss, series }) {
  const first = series.find(({ minute }) => minute >= WARM_UP_MINUTES) ?? series[0]
  const sizes = [first.memory, series.at(-1).memory].map((bytes) => `${toMegabytes(bytes)} MB`)
  return [
    name,
    ...sizes,
    toSlope(memory),
    memory.verdict,
    `${toMegabytes(series.at(-1).rss)} MB`,
    toSlope(rss),
  ]
}

/** The generated soak section of benchmarks/README.md. */
export function toSection(result) {
  const { processes, failures } = result
  const isJudged = processes.every(({ memory }) => memory.verdict !== 'too short to judge')
  const passed = isJudged ? 'The run passed.' : 'The run was too short to judge memory.'
  const verdict = failures.length === 0 ? passed : `The run failed: ${failures.join('; ')}.`
  return [describeRun(result), toStoreTable(result), verdict].join('\n\n')
}

function describeRun({ startedAt, options, versions, machineLoad, minutes }) {
  const { rate, processes, stores, verifiedCache } = options
  const names = stores.map((kind) => `${TITLES[kind]} ${versions[kind].split(' ')[0]}`).join(' and ')
  return (
    `${startedAt.slice(0, 10)}, ${Math.floor(minutes)} minutes on Node ${versions.node.slice(1)}: ${rate} requests per second in total, ` +
    `with ${processes} Fastify processes each for ${names}. Every process has a replica (bound ${BOUND_MS / 1000} s) and remembers ${verifiedCache} tokens. ` +
    `Load average of the machine: median ${machineLoad.median.toFixed(1)}, maximum ${machineLoad.max.toFixed(1)}.`
  )
}

function toStoreTable({ stores, processes }) {
  const of = ({ kind }) => processes.filter(({ name }) => name.startsWith(`${kind}-`))
  const toRow = (title, read) => [title, ...stores.map((store) => read(store, of(store)))]
  const each = (list, read) => list.map(read).join(', ')
  return toTable(
    ['', ...stores.map(({ kind }) => TITLES[kind])],
    [
      toRow('requests', ({ requests }) => requests.toLocaleString('en-US')),
      toRow('wrong answers and other errors', ({ errors }) => String(errors)),
      toRow('latency p50, p99 (median of all minutes)', ({ latency }) =>
        toMilliseconds(latency.medianP50, latency.medianP99),
      ),
      toRow('latency p99 (worst minute), maximum', ({ latency }) =>
        toMilliseconds(latency.worstP99, latency.max),
      ),
      toRow('heap and buffers, growth per hour', (_, list) => each(list, ({ memory }) => toSlope(memory))),
      toRow('RSS, growth per hour (not judged)', (_, list) => each(list, ({ rss }) => toSlope(rss))),
      toRow('descriptors, first → last quarter', (_, list) =>
        each(list, ({ counts: { descriptors } }) => `${descriptors.before} → ${descriptors.after}`),
      ),
      toRow('session rows at the end (live; maximum before pruning)', ({ rows }) =>
        rows === null ? '' : `${rows.sessions} (${rows.liveSessions}; ${rows.mostSessions})`,
      ),
    ],
  )
}

function toSlope(line) {
  if (line?.perHour === undefined) return ''
  const [slope, error] = [line.perHour, line.standardErrorPerHour].map((bytes) =>
    (bytes / MEGABYTE).toFixed(2),
  )
  return `${slope.replace('-', '−')} ± ${error} MB`
}

function toMilliseconds(...values) {
  return `${values.map((value) => (value ?? 0).toFixed(value < 100 ? 1 : 0)).join(', ')} ms`
}

function toMegabytes(bytes) {
  return (bytes / MEGABYTE).toFixed(1)
}

function round(value) {
  return Math.round(value * 100) / 100
}
