import { systemClock, systemScheduler } from 'tokenlib/kit'

const { monotonicNow } = systemScheduler

/** How long calls took, in milliseconds. */
export interface Latency {
  readonly samples: number
  readonly medianMs: number
  readonly worstMs: number
}

/** By how much the clock of a store is ahead of this machine's; negative if it is behind. */
export interface ClockDifference {
  readonly differenceMs: number
  /** The difference is exact to this, because half of the round trip may be on either side. */
  readonly uncertaintyMs: number
}

const SAMPLES = 20

/** Makes the calls in sequence, after a warm-up call: it may prepare a statement or load a script. */
export async function measureLatency(call: () => Promise<unknown>): Promise<Latency> {
  await call()
  const times: number[] = []
  for (let sample = 0; sample < SAMPLES; sample++) {
    const start = monotonicNow()
    await call()
    times.push(monotonicNow() - start)
  }
  const sorted = times.toSorted((a, b) => a - b)
  return {
    samples: SAMPLES,
    medianMs: round(sorted[SAMPLES / 2] as number),
    worstMs: round(sorted.at(-1) as number),
  }
}

/** Compares the clock of a store, in epoch milliseconds, with this machine's; the shortest of a few calls counts. */
export async function measureClock(readTime: () => Promise<number>): Promise<ClockDifference> {
  let best: ClockDifference | null = null
  for (let sample = 0; sample < 5; sample++) {
    const start = monotonicNow()
    const before = systemClock()
    const time = await readTime()
    const uncertaintyMs = (monotonicNow() - start) / 2
    if (best === null || uncertaintyMs < best.uncertaintyMs) {
      best = { differenceMs: round(time - before - uncertaintyMs), uncertaintyMs: round(uncertaintyMs) }
    }
  }
  return best as ClockDifference
}

// To hundredths: smaller digits are noise.
function round(milliseconds: number): number {
  return Math.round(milliseconds * 100) / 100
}
