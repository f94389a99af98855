import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { atMost, exactly, type FigureRules } from './harness/figures.js'
import {
  type AnswerCounts,
  answerFigures,
  countAnswers,
  countDescriptors,
  createLoadTokens,
  fillPool,
  startLoad,
} from './harness/load.js'
import { type ClientName, migrate, openManager } from './harness/place.js'

/** How often, and through which clients at the same time. */
export interface FlappingStoreSizes {
  readonly flaps: number
  readonly clients: readonly ClientName[]
}

/** What came of it. */
export interface FlappingStoreOutcome extends AnswerCounts {
  readonly stuck: number
  readonly recoveryMs: number
  readonly descriptorsBefore: number
  readonly mostDescriptors: number
  readonly moreDescriptors: number
}

const IN_A_ROW = 20
const RECOVERY_LIMIT = 30_000
const PER_SECOND = 100

/** Kills and restarts a server over and over, without waiting for anybody to recover, while requests keep coming. */
export async function runFlappingStore(
  server: RunningServer,
  { flaps, clients }: FlappingStoreSizes,
): Promise<FlappingStoreOutcome> {
  const places = clients.map((client) => ({ client, url: server.url }))
  for (const place of places) await migrate(place)
  const managers = await Promise.all(
    places.map((place) => openManager(place, { JWT_REVOCATION_TIMEOUT: '1s' })),
  )
  const [first] = managers
  if (first === undefined) throw new TypeError('There must be a client')
  const loadTokens = await createLoadTokens(first.tokens, 9)
  const loads = managers.map(({ tokens }) => startLoad(tokens, loadTokens, PER_SECOND))
  try {
    const recover = (): Promise<boolean[]> =>
      Promise.all(loads.map((load) => load.recover(IN_A_ROW, RECOVERY_LIMIT)))
    const fillPools = async (): Promise<void> => {
      for (const { tokens } of managers) await fillPool(tokens, loadTokens)
    }
    await recover()
    await fillPools()
    const before = countDescriptors()
    let most = before
    for (let flap = 0; flap < flaps; flap++) {
      await server.kill()
      await sleep(20)
      await server.restart()
      most = Math.max(most, countDescriptors())
      await sleep(20)
    }
    const restartedAt = performance.now()
    const recovered = await recover()
    const recoveryMs = performance.now() - restartedAt
    await fillPools()
    const after = countDescriptors()
    await Promise.all(loads.map((load) => load.stop()))
    const answers = loads.flatMap((load) => load.answers)
    return {
      ...countAnswers(answers),
      stuck: recovered.filter((isBack) => !isBack).length,
      recoveryMs,
      descriptorsBefore: before,
      mostDescriptors: most,
      moreDescriptors: Math.max(0, after - before),
    }
  } finally {
    await Promise.all(loads.map((load) => load.stop()))
    await Promise.all(managers.map(({ close }) => close()))
  }
}

/** How the figures are printed, and what they must be. */
export function flappingStoreFigures({ flaps }: FlappingStoreSizes): FigureRules<FlappingStoreOutcome> {
  return {
    ...answerFigures(`requests while it was killed and restarted ${flaps} times`),
    stuck: { label: 'managers that did not recover by themselves', promise: exactly(0) },
    recoveryMs: { label: `from the last restart to ${IN_A_ROW} right answers in a row`, unit: 'ms' },
    descriptorsBefore: { label: 'open descriptors before' },
    mostDescriptors: { label: 'most open descriptors meanwhile' },
    moreDescriptors: { label: 'more open descriptors afterwards', promise: atMost(2) },
  }
}
