import { WARM_UP_MINUTES } from './options.js'
import { compareQuarters, fitLine, median } from './statistics.js'

const MEGABYTE = 1024 * 1024
// Less than this in an hour is noise of the collector and of the allocator, on processes of about 100 MB.
const HEAP_LIMIT_PER_HOUR = 2 * MEGABYTE
const RSS_LIMIT_PER_HOUR = 10 * MEGABYTE
// The highest value of the second half, compared with that of the first.
const PEAK_LIMIT = 1.05
// A slope over less time than this says nothing.
const MIN_JUDGED_MINUTES = 20
// Connections of a pool come and go; timers of requests under way too.
const COUNT_LIMIT = 5

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
    last === undefined
      ? ''
      : `${name}: ${toMegabytes(last.rss)} MB, ${last.descriptors} descriptors, ${last.replica.entries} entries`,
    store === undefined
      ? ''
      : `${store.sessions} sessions (${expected.liveSessions} live), ${store.revocations} revocations, load ${store.load.toFixed(1)}`,
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
  record.errorCount = record.errors.length
  return { record, minutes: Math.max(...record.storeSamples.map(({ minute }) => minute)) }
}

/** What a run amounts to, as JSON. */
export function toResult(record, minutes) {
  const warmUp = Math.min(WARM_UP_MINUTES, minutes / 3)
  const names = [...new Set(record.samples.map(({ name }) => name))]
  const processes = names.map((name) => judgeProcess(name, record, { warmUp, minutes }))
  const stores = record.options.stores.map((kind) => judgeStore(kind, record, warmUp))
  const failures = [
    ...(record.errorCount > 0 ? [`${record.errorCount} wrong answers or other errors`] : []),
    // What is expected of the applications; the load is only a tool.
    ...processes
      .filter(({ name }) => name !== 'load')
      .flatMap(({ name, counts }) =>
        Object.entries(counts)
          .filter(([, { verdict }]) => verdict === 'growing')
          .map(([what, { before, after }]) => `${name}: ${what} grow from ${before} to ${after}`),
      ),
  ]
  return {
    startedAt: record.startedAt,
    minutes: round(minutes),
    warmUpMinutes: round(warmUp),
    options: { ...record.options, json: undefined, report: undefined },
    versions: record.versions,
    failures,
    errorCount: record.errorCount,
    errors: record.errors,
    stores,
    processes,
    machineLoad: {
      median: round(median(record.storeSamples.map(({ load }) => load)) ?? 0),
      max: round(Math.max(0, ...record.storeSamples.map(({ load }) => load))),
    },
  }
}

function judgeProcess(name, { samples, storeSamples }, { warmUp, minutes }) {
  const own = samples.filter((sample) => sample.name === name)
  const judged = own.filter(({ minute }) => minute >= warmUp)
  const sockets = storeSamples.filter(({ kind }) => name.startsWith(`${kind}-`))
  const isLong = minutes - warmUp >= MIN_JUDGED_MINUTES
  const collected = judged.filter(({ isCollected }) => isCollected)
  const kinds = [...new Set(own.flatMap(({ handles }) => Object.keys(handles)))].toSorted()
  const counts = {
    descriptors: judgeCount(judged.map(({ descriptors }) => descriptors ?? 0)),
    ...(sockets.length > 0 && {
      'sockets to the store': judgeCount(
        sockets.filter(({ minute }) => minute >= warmUp).map((sample) => sample.sockets[name] ?? 0),
      ),
    }),
  }
  for (const kind of kinds)
    counts[`handles ${kind}`] = judgeCount(judged.map(({ handles }) => handles[kind] ?? 0))
  return {
    name,
    slopes: {
      rss: judgeSlope(
        judged.map(({ minute, rss }) => [minute, rss]),
        RSS_LIMIT_PER_HOUR,
        isLong,
      ),
      heapUsed: judgeSlope(
        collected.map(({ minute, heapUsed }) => [minute, heapUsed]),
        HEAP_LIMIT_PER_HOUR,
        isLong,
      ),
    },
    counts,
    events: own.at(-1)?.events ?? null,
    // Heap and RSS of the sample of each minute that follows a collection.
    series: own
      .filter(({ isCollected }) => isCollected)
      .map(({ minute, rss, heapUsed, external, descriptors, delayP99Ms, replica }) => ({
        minute,
        rss,
        heapUsed,
        external,
        descriptors,
        delayP99Ms: round(delayP99Ms),
        ...(replica && { replicaEntries: replica.entries, replicaAgeMs: round(replica.ageMs ?? -1) }),
      })),
  }
}

// A cache that fills and is emptied by halves has a slope too, wherever the run ends. That is a verdict of its own, which
// does not pass for 'bounded': run again with a small --verified-cache to see whether the slope goes away.
function judgeSlope(points, limit, isLong) {
  const line = fitLine(points)
  if (line === null) return { verdict: 'not judged' }
  const middle = Math.floor(points.length / 2)
  const peak = (part) => Math.max(...part.map(([, value]) => value))
  const peaks = [peak(points.slice(0, middle)), peak(points.slice(middle))]
  const isSteep = line.perHour > Math.max(limit, 3 * line.standardErrorPerHour)
  const steepVerdict = peaks[1] > peaks[0] * PEAK_LIMIT ? 'growing' : 'slope, no new peak'
  return { ...line, peaks, verdict: !isLong ? 'not judged' : isSteep ? steepVerdict : 'bounded' }
}

function judgeCount(values) {
  const { before, after } = compareQuarters(values)
  const verdict = before === null ? 'not judged' : after - before > COUNT_LIMIT ? 'growing' : 'bounded'
  return { before, after, max: Math.max(0, ...values), verdict }
}

function judgeStore(kind, { minutes, storeSamples }, warmUp) {
  const own = minutes.filter((entry) => entry.kind === kind)
  const sizes = storeSamples.filter((sample) => sample.kind === kind)
  const totals = {}
  for (const { counts } of own) {
    for (const [name, count] of Object.entries(counts)) totals[name] = (totals[name] ?? 0) + count
  }
  const last = sizes.at(-1)
  const expected = own.at(-1)?.expected
  return {
    kind,
    requests: Object.entries(totals).reduce(
      (sum, [name, count]) => (name === 'errors' ? sum : sum + count),
      0,
    ),
    totals,
    latency: summarizeLatency(own, warmUp),
    rows: last === undefined || expected === undefined ? null : judgeRows(last, expected),
    size: judgeCountSeries(sizes.filter(({ minute }) => minute >= warmUp).map(({ bytes }) => bytes)),
    series: own.map(({ minute, all }) => ({ minute, ...all })),
    sizes: sizes
      .filter((_, at) => at % 6 === 0)
      .map(({ minute, bytes, tableBytes, sessions, revocations }) => ({
        minute,
        bytes,
        ...(tableBytes !== undefined && { tableBytes }),
        sessions,
        revocations,
      })),
  }
}

function judgeRows({ sessions, revocations }, expected) {
  const isKept = sessions >= expected.liveSessions && sessions <= expected.mostSessions * 1.1 + 20
  const isPruned = revocations <= expected.mostRevocations * 1.1 + 20
  return { sessions, revocations, ...expected, verdict: isKept && isPruned ? 'as expected' : 'unexpected' }
}

function judgeCountSeries(values) {
  const { before, after } = compareQuarters(values)
  return { before, after, max: Math.max(0, ...values) }
}

function summarizeLatency(own, warmUp) {
  const after = own.filter(({ minute }) => minute >= warmUp)
  const names = [...new Set(own.flatMap(({ operations }) => Object.keys(operations)))]
  const summarize = (list) => ({
    count: list.reduce((sum, { count }) => sum + count, 0),
    medianP50: median(list.map(({ p50 }) => p50)),
    medianP99: median(list.map(({ p99 }) => p99)),
    worstP99: Math.max(0, ...list.map(({ p99 }) => p99)),
    max: Math.max(0, ...list.map(({ max }) => max)),
  })
  const read = (name) =>
    after.map(({ operations }) => operations[name]).filter((entry) => entry !== undefined)
  return {
    all: summarize(after.map(({ all }) => all)),
    operations: Object.fromEntries(names.map((name) => [name, summarize(read(name))])),
  }
}

/** The tables that are printed at the end. */
export function describeResult(result) {
  const { stores, processes, failures } = result
  const applications = processes.filter(({ name }) => name !== 'load')
  const lines = [
    `${result.minutes} minutes at ${result.options.rate} requests/s, ${result.options.processes} processes for each store; ` +
      `load of the machine: median ${result.machineLoad.median}, max ${result.machineLoad.max}`,
    '',
    toTable(
      ['', 'start', 'warm', 'middle', 'end', 'peak of 1st, 2nd half', 'slope per hour', 'verdict'],
      applications.flatMap(toMemoryRows),
    ),
    '',
    toTable(['', 'before', 'after', 'max', 'verdict'], applications.flatMap(toCountRows)),
    '',
    toTable(
      ['latency, ms', 'requests', 'p50', 'p99', 'worst minute p99', 'max'],
      stores.flatMap(({ kind, latency }) =>
        [['all', latency.all], ...Object.entries(latency.operations)].map(([name, entry]) => [
          `${kind} ${name}`,
          ...[entry.count, entry.medianP50, entry.medianP99, entry.worstP99, entry.max].map(String),
        ]),
      ),
    ),
    '',
    ...stores.map(describeStore),
    ...applications.map(({ name, events }) => `${name} events: ${JSON.stringify(events)}`),
    '',
    failures.length === 0 ? `No failures, ${result.errorCount} errors` : `FAILED: ${failures.join('; ')}`,
  ]
  return lines.join('\n')
}

function toMemoryRows({ name, series, slopes }) {
  return ['rss', 'heapUsed'].map((field) => {
    const at = [
      0,
      Math.min(WARM_UP_MINUTES, Math.floor(series.length / 3)),
      Math.floor(series.length / 2),
      -1,
    ]
    const cells = at.map((index) => `${toMegabytes(series.at(index)?.[field] ?? 0)} MB`)
    const { perHour, standardErrorPerHour, verdict } = slopes[field]
    const slope =
      perHour === undefined
        ? ''
        : `${(perHour / MEGABYTE).toFixed(2)} ± ${(standardErrorPerHour / MEGABYTE).toFixed(2)} MB`
    const highest = slopes[field].peaks?.map((bytes) => `${toMegabytes(bytes)} MB`).join(', ') ?? ''
    return [`${name} ${field === 'rss' ? 'RSS' : 'heap after gc'}`, ...cells, highest, slope, verdict]
  })
}

function toCountRows({ name, counts }) {
  return Object.entries(counts).map(([what, { before, after, max, verdict }]) => [
    `${name} ${what}`,
    ...[before, after, max].map(String),
    verdict,
  ])
}

function describeStore({ kind, requests, totals, rows, size }) {
  const kept =
    rows === null
      ? ''
      : `${rows.sessions} session rows (${rows.liveSessions} live, at most ${rows.mostSessions} not pruned), ` +
        `${rows.revocations} revocations (${rows.liveRevocations} live, at most ${rows.mostRevocations}): ${rows.verdict}; `
  return `${kind}: ${requests} requests ${JSON.stringify(totals)}; ${kept}${toMegabytes(size.before ?? 0)} MB -> ${toMegabytes(size.after ?? 0)} MB`
}

function toTable(head, rows) {
  const all = [head, ...rows]
  const widths = head.map((_, at) => Math.max(...all.map((row) => row[at].length)))
  const toLine = (row) =>
    row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]) : cell.padStart(widths[at]))).join('  ')
  return all.map(toLine).join('\n')
}

function toMegabytes(bytes) {
  return (bytes / MEGABYTE).toFixed(1)
}

function round(value) {
  return Math.round(value * 100) / 100
}
