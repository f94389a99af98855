import { expect, test } from 'vitest'
import { readSamples, toResult, toSection } from '../../tools/soak/report.js'

const MEGABYTE = 1024 * 1024
const expected = { liveSessions: 10, mostSessions: 20, liveRevocations: 5, mostRevocations: 10 }

interface Given {
  minutes?: number
  /** Bytes after a collection. */
  heap?: (minute: number) => number
  rss?: (minute: number) => number
  descriptors?: (minute: number) => number
  sessions?: number
  errors?: number
}

// What a run with one process writes, a line for each sample.
function soak({
  minutes = 120,
  heap = () => 0,
  rss = () => 0,
  descriptors = () => 30,
  sessions = 15,
  errors = 0,
}: Given) {
  const lines: object[] = [
    {
      list: 'run',
      startedAt: '2026-11-17T00:00:00.000Z',
      options: { rate: 60, processes: 1, verifiedCache: 500, stores: ['redis'] },
      versions: { node: 'v20.0.0', redis: '7.0.15' },
    },
  ]
  for (let minute = 1; minute <= minutes; minute++) {
    const sample = { list: 'samples', minute, name: 'redis-1', handles: {}, events: {}, external: MEGABYTE }
    const sizes = { rss: 90 * MEGABYTE + rss(minute), descriptors: descriptors(minute) }
    const heapUsed = 18 * MEGABYTE + heap(minute)
    lines.push(
      { ...sample, ...sizes, isCollected: true, heapUsed },
      // Between two collections the heap is a sawtooth.
      {
        ...sample,
        ...sizes,
        minute: minute + 0.5,
        isCollected: false,
        heapUsed: heapUsed + minute * MEGABYTE,
      },
      {
        list: 'minutes',
        minute,
        kind: 'redis',
        all: { count: 9, p50: 4, p99: 9, max: 12 },
        counts: { check: 9, ...(errors > 0 && { errors }) },
        expected,
      },
      {
        list: 'storeSamples',
        minute,
        kind: 'redis',
        load: 2,
        sessions,
        revocations: 5,
        sockets: { 'redis-1': 2 },
      },
    )
  }
  const { record, minutes: took } = readSamples(lines.map((line) => JSON.stringify(line)).join('\n'))
  return toResult(record, took)
}

const growBy = (perHour: number) => (minute: number) => (minute / 60) * perHour * MEGABYTE

test('memory that grows after a forced collection fails the run, from 1 MB per hour on', () => {
  const [below, above] = [soak({ heap: growBy(0.9) }), soak({ heap: growBy(1.1) })]
  expect(below.failures).toEqual([])
  expect(below.processes[0]!.memory.verdict).toBe('bounded')
  expect(above.processes[0]!.memory.verdict).toBe('growing')
  expect(above.failures).toEqual(['redis-1: memory grows by 1.10 ± 0.00 MB per hour'])
})

test('what fills during the warm-up is not growth', () => {
  expect(soak({ heap: (minute) => Math.min(minute, 10) * MEGABYTE }).failures).toEqual([])
})

test('a run that is too short says nothing about memory', () => {
  const result = soak({ minutes: 60, heap: growBy(50) })
  expect(result.processes[0]!.memory.verdict).toBe('too short to judge')
  expect(result.failures).toEqual([])
  expect(toSection(result)).toContain('The run was too short to judge memory.')
})

test('RSS is shown and not judged', () => {
  const result = soak({ rss: growBy(20) })
  expect(result.failures).toEqual([])
  expect(toSection(result)).toMatch(/\| RSS, growth per hour \(not judged\) +\| 20\.00 ± 0\.01 MB/)
  expect(toSection(result)).toContain('The run passed.')
})

test('errors, descriptors and rows that grow fail the run', () => {
  expect(soak({ errors: 2 }).failures).toEqual(['240 errors; 0 of the first 0 are REVOCATION_UNAVAILABLE'])
  expect(soak({ descriptors: (minute) => minute }).failures[0]).toMatch(/^redis-1: descriptors grow from/)
  expect(soak({ sessions: 500 }).failures[0]).toMatch(/^redis: unexpected number of rows/)
})
