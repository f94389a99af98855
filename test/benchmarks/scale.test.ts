import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import {
  MODES,
  toLimit,
  toMassRevocation,
  toMemory,
  toProcessCosts,
  toRefreshes,
  toServerCosts,
} from '../../benchmarks/scale/model.js'
import { type ScaleResults, toScaleFigures, toScalePage } from '../../benchmarks/scale/report.js'
import { simulate } from '../../benchmarks/scale/simulate.js'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const [woken, , polled] = MODES as [(typeof MODES)[0], unknown, (typeof MODES)[0]]

// Round figures, so that everything can be checked by hand.
const COSTS = {
  version: 'Redis',
  load: [0, 0],
  read: { server: 50, process: 100, received: 300, sent: 70 },
  entry: { server: 1, process: 1, sent: 40 },
  wakeUp: { server: 5, sent: 50 },
  revoke: { server: 200, inBulk: 20 },
  session: { login: 90, refresh: 90 },
  memory: { session: 500, entry: 300, connection: 20_000 },
  start: { entries: 1_000_000, seconds: 2, cpu: 2, serverCpu: 0.7, bytes: 30 },
  reads: {
    idle: { reads: 4.5, entries: 0, process: 0, server: 0 },
    woken: { reads: 40, entries: 100, process: 0, server: 0 },
    polled: { reads: 4.5, entries: 100, process: 0, server: 0 },
  },
}

describe('the calculation', () => {
  test('with wake-ups: the reads that were measured, every entry, and every wake-up', () => {
    expect(toProcessCosts(COSTS, woken)).toEqual({
      reads: 40,
      received: 40 * 300,
      sent: 40 * 70 + 100 * 40 + 100 * 50,
      server: 40 * 50 + 100 * 1 + 100 * 5,
    })
  })

  test('without: 4.6 reads per bound, and every entry', () => {
    const { reads, server } = toProcessCosts(COSTS, polled)
    expect(reads).toBeCloseTo(4.57 / 5, 2)
    expect(server).toBeCloseTo((4.57 / 5) * 50 + 100, 0)
  })

  test('all processes, and the revocations themselves', () => {
    expect(toServerCosts(COSTS, woken, 100).cores).toBeCloseTo((100 * 2600 + 100 * 200) / 1e6)
  })

  test('a core is full at its limit', () => {
    for (const mode of MODES) {
      expect(toServerCosts(COSTS, mode, toLimit(COSTS, mode)).cores).toBeCloseTo(1)
    }
    expect(toLimit(COSTS, woken, 0)).toBeCloseTo(1e6 / (4.5714 * 50), 0)
  })

  test('memory, refreshes and a mass revocation', () => {
    expect(toMemory(COSTS, 1)).toEqual({
      entries: 8_640_000,
      sessions: 5e9,
      server: 8_640_000 * 300,
      process: 8_640_000 * 30,
    })
    expect(toRefreshes(COSTS)).toEqual({ perSecond: 1e6 / 900, cores: 0.1 })
    expect(toMassRevocation(COSTS, 100)).toEqual({ sent: 4e9, seconds: 20 + 70 })
  })
})

describe('the simulation', () => {
  test('a revocation arrives within a quarter of the bound where nobody is woken, and sooner otherwise', async () => {
    const slow = await simulate(COSTS, { boundMs: 1000, hasWakeUps: false }, 20, 100)
    expect(slow).toMatchObject({ stale: 0, most: expect.any(Number) })
    expect(slow.most).toBeGreaterThan(100)
    // Half a millisecond each way, and the time of the server.
    expect(slow.most).toBeLessThan(255)
    const fast = await simulate(COSTS, { boundMs: 1000, hasWakeUps: true }, 20, 100)
    expect(fast.most).toBeLessThan(25)
  })

  test('copies become too old where the server is too slow for all of them', async () => {
    const slow = { ...COSTS, read: { ...COSTS.read, server: 100_000 } }
    const { stale } = await simulate(slow, { boundMs: 1000, hasWakeUps: false }, 20, 10)
    expect(stale).toBeGreaterThan(0.4)
  })
})

describe('the page', () => {
  const page = read('docs/scale.md')
  const results = JSON.parse(read('benchmarks/results/scale.json')) as ScaleResults

  test('has the figures of the last run, word for word', () => {
    expect(toScalePage(page, results)).toBe(page)
    expect(toScaleFigures(results)).toBe(read('benchmarks/results/scale.md'))
  })

  test.each(['limits', 'memory'])('needs a place for the %s', (part) => {
    expect(() => toScalePage(page.replace(`<!-- ${part}: generated -->`, ''), results)).toThrow(part)
  })

  test('turns wake-ups off by leaving out what the stores call so', () => {
    expect(page).toContain('{ watch: _watch, ...store }')
    expect(createMemoryStore()).toHaveProperty('watch')
  })
})
