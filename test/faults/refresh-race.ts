import { atLeast, exactly, type FigureRules, percentile } from './harness/figures.js'
import { readGeneration } from './harness/outcomes.js'
import { migrate, openManager, PATIENT, type Place } from './harness/place.js'
import { startWorker } from './harness/start-worker.js'
import { machineNow } from './harness/worker-protocol.js'

/** How much is raced. */
export interface RefreshRaceSizes {
  readonly rounds: number
  /** Refreshes of one token at once, in each of the two processes. */
  readonly perProcess: number
}

/** What came of it. */
export interface RefreshRaceOutcome {
  readonly refreshes: number
  readonly succeeded: number
  readonly falseReuse: number
  readonly failures: number
  /** Rounds with more than one successor generation, or not the next one. */
  readonly forkedRounds: number
  /** The generation that the session has reached. */
  readonly generation: number
  /** Rounds in which both processes were at it at the same time. */
  readonly overlappingRounds: number
  readonly typicalRoundMs: number
  readonly slowestRoundMs: number
}

/** Two processes refresh one token at once, over and over, each time that of a new session. */
export async function runRefreshRace(
  program: string,
  place: Place,
  { rounds, perProcess }: RefreshRaceSizes,
): Promise<RefreshRaceOutcome> {
  await migrate(place)
  const { tokens, close } = await openManager(place, WITHOUT_GRACE)
  const workers = [startWorker(program), startWorker(program)]
  try {
    await Promise.all(workers.map((worker) => worker.ask('open', place, WITHOUT_GRACE)))
    let generation = 0
    const errors: string[] = []
    const durations: number[] = []
    let succeeded = 0
    let forkedRounds = 0
    let overlappingRounds = 0

    for (let round = 0; round < rounds; round++) {
      const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
      const startAt = machineNow() + START_DELAY
      const reports = await Promise.all(
        workers.map((worker) => worker.ask('refresh', refreshToken, perProcess, startAt)),
      )
      const successors = reports.flatMap((report) => report.successors)
      const generations = new Set(successors.map(readGeneration))
      succeeded += successors.length
      errors.push(...reports.flatMap((report) => report.errors))
      if (generations.size !== 1 || !generations.has(2)) forkedRounds++
      const firstAnswer = Math.min(...reports.map(({ answeredAt }) => answeredAt))
      if (reports.every(({ sentAt }) => sentAt < firstAnswer)) overlappingRounds++
      durations.push(Math.max(...reports.map(({ answeredAt }) => answeredAt)) - startAt)
      generation = Math.max(generation, ...generations)
    }

    const falseReuse = errors.filter((code) => code === 'REFRESH_TOKEN_REUSED').length
    return {
      refreshes: rounds * perProcess * workers.length,
      succeeded,
      falseReuse,
      failures: errors.length - falseReuse,
      forkedRounds,
      generation,
      overlappingRounds,
      typicalRoundMs: percentile(durations, 0.5),
      slowestRoundMs: Math.max(...durations),
    }
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()))
    await close()
  }
}

/** How the figures are printed, and what they must be. */
export function refreshRaceFigures({
  rounds,
  perProcess,
}: RefreshRaceSizes): FigureRules<RefreshRaceOutcome> {
  return {
    refreshes: { label: `refreshes of one token, ${2 * perProcess} at once from 2 processes` },
    succeeded: { label: 'succeeded', promise: exactly(2 * rounds * perProcess) },
    falseReuse: { label: 'taken for a theft', promise: exactly(0) },
    failures: { label: 'failed', promise: exactly(0) },
    forkedRounds: { label: 'rounds with other than one successor generation', promise: exactly(0) },
    generation: { label: 'generation reached', promise: exactly(2) },
    overlappingRounds: { label: 'rounds in which both processes overlapped', promise: atLeast(1) },
    typicalRoundMs: { label: 'a round, p50', unit: 'ms' },
    slowestRoundMs: { label: 'a round, slowest', unit: 'ms' },
  }
}

// The first refresh moves the session on, and all others repeat it.
const WITHOUT_GRACE = { ...PATIENT, JWT_REFRESH_GRACE: 0 }

// Long enough for the message to get there, in milliseconds.
const START_DELAY = 3
