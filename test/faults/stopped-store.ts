import { setTimeout as sleep } from 'node:timers/promises'
import type { TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { countWaiting } from './harness/count-waiting.js'
import { atLeast, atMost, exactly, type FigureRules } from './harness/figures.js'
import {
  type AnswerCounts,
  answerFigures,
  countAnswers,
  createLoadTokens,
  slowest,
  slowestUnstarved,
  startLoad,
} from './harness/load.js'
import {
  type ClientName,
  createTokens,
  migrate,
  openManager,
  type OpenOptions,
  PATIENT,
} from './harness/place.js'

/** How long, and under how much. */
export interface StoppedStoreSizes {
  readonly client: ClientName
  readonly stoppedMs: number
  readonly perSecond: number
  readonly config: TokenConfigOptions
  readonly options?: OpenOptions
}

/** What came of it. */
export interface StoppedStoreOutcome extends AnswerCounts {
  /** Of requests sent and answered while the server stood still. */
  readonly answeredWhileStopped: number
  readonly acceptedWhileStopped: number
  readonly slowestMs: number
  /** The same, where the time does not count in which the machine ran others instead. */
  readonly slowestUnstarvedMs: number
  readonly mostWaiting: number
  readonly isRecovered: number
  readonly recoveryMs: number
}

const WARM = 100
const IN_A_ROW = 20
const RECOVERY_LIMIT = 30_000

/** Stops a server with SIGSTOP while requests keep coming, half of them with revoked tokens, and lets it go on. */
export async function runStoppedStore(
  server: RunningServer,
  { client, stoppedMs, perSecond, config, options }: StoppedStoreSizes,
): Promise<StoppedStoreOutcome> {
  const place = { client, url: server.url }
  await migrate(place)
  const { tokens: patient, store, close } = await openManager(place, PATIENT, options)
  let isStopped = false
  try {
    const loadTokens = await createLoadTokens(patient, 50)
    const counting = countWaiting(store)
    const tokens = createTokens(counting.store, config)
    const load = startLoad(tokens, loadTokens, perSecond)
    try {
      if (!(await load.recover(WARM, RECOVERY_LIMIT))) throw new Error('The store never answered')
      const first = load.answers.length
      const stoppedAt = performance.now()
      isStopped = true
      await server.kill('SIGSTOP')
      await sleep(stoppedMs)
      const continuedAt = performance.now()
      await server.kill('SIGCONT')
      isStopped = false
      const isRecovered = await load.recover(IN_A_ROW, RECOVERY_LIMIT)
      const recoveryMs = performance.now() - continuedAt
      await load.stop()
      const { answers } = load
      const during = answers.filter(
        ({ sentAt, answeredAt }) => sentAt > stoppedAt && answeredAt < continuedAt,
      )
      return {
        ...countAnswers(answers),
        answeredWhileStopped: during.length,
        acceptedWhileStopped: during.filter(({ outcome }) => outcome === 'accepted').length,
        slowestMs: slowest(answers.slice(first)),
        slowestUnstarvedMs: slowestUnstarved(answers.slice(first)),
        mostWaiting: counting.mostWaiting(),
        isRecovered: Number(isRecovered),
        recoveryMs,
      }
    } finally {
      await load.stop()
    }
  } finally {
    if (isStopped) await server.kill('SIGCONT')
    await close()
  }
}

/** How the figures are printed, and what they must be. */
export function stoppedStoreFigures(
  { stoppedMs, perSecond }: StoppedStoreSizes,
  deadlineMs: number,
): FigureRules<StoppedStoreOutcome> {
  const seconds = stoppedMs / 1000
  return {
    ...answerFigures(
      `requests at ${perSecond}/s, in process, half with revoked tokens; stopped for ${seconds} s`,
    ),
    answeredWhileStopped: { label: 'answered while it was stopped', promise: atLeast(1) },
    // The last answers may have been on their way already.
    acceptedWhileStopped: { label: 'of them a pass of a good token' },
    slowestMs: { label: `slowest answer, deadline ${deadlineMs} ms`, unit: 'ms' },
    slowestUnstarvedMs: {
      label: 'the same, without the time the machine gave to other processes',
      unit: 'ms',
      promise: atMost(deadlineMs + 50),
    },
    // The guard lets 1,000 wait, and then at most one every 100 ms to see whether the server is back.
    mostWaiting: { label: 'most calls waiting in the client', promise: atMost(1000 + 10 * seconds + 10) },
    isRecovered: { label: 'recovered by itself (1: yes)', promise: exactly(1) },
    recoveryMs: { label: 'from -CONT to 20 right answers in a row', unit: 'ms', promise: atMost(1000) },
  }
}
