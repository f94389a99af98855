import type { TokenManager } from '../../packages/tokenlib/src/index.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { atLeast, atMost, exactly, type FigureRules } from './harness/figures.js'
import {
  type AnswerCounts,
  answerFigures,
  countAnswers,
  countDescriptors,
  createLoadTokens,
  fillPool,
  startLoad,
} from './harness/load.js'
import { countAccepted, readOutcome } from './harness/outcomes.js'
import { type ClientName, migrate, openManager, PATIENT } from './harness/place.js'
import type { Login } from './harness/worker-protocol.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

/** How often, and through which clients at the same time. */
export interface KillStoreSizes {
  readonly kills: number
  readonly clients: readonly ClientName[]
  /** Whether the server writes before it acknowledges; if not, there is nothing to promise. */
  readonly isDurable: boolean
  /** Sent to the server, in turns. */
  readonly signals: readonly NodeJS.Signals[]
}

/** What came of it. */
export interface KillStoreOutcome extends AnswerCounts {
  readonly kills: number
  readonly acknowledged: number
  /** Logouts that the kill struck before the acknowledgement: the application was told. */
  readonly refused: number
  /** Tokens of acknowledged logouts that were accepted after the restart. */
  readonly lost: number
  /** The same, of all of them, at the end. */
  readonly lostAtTheEnd: number
  /** Restarts after which the store had noticed a loss, and revoked everything from before. */
  readonly massLogouts: number
  /** Restarts after which a manager did not come back by itself. */
  readonly stuck: number
  readonly slowestRecoveryMs: number
  readonly moreDescriptors: number
}

const LOGOUTS = 6
const IN_A_ROW = 6
const RECOVERY_LIMIT = 30_000
const RECOVERY_STEP = 2000

/** Kills a server at the moment it acknowledges a logout, while requests keep coming, and starts it again. */
export async function runKillStore(
  server: RunningServer,
  { kills, clients, signals }: KillStoreSizes,
): Promise<KillStoreOutcome> {
  const places = clients.map((client) => ({ client, url: server.url }))
  for (const place of places) await migrate(place)
  const managers = await Promise.all(places.map((place) => openManager(place, DEADLINE)))
  const patient = await Promise.all(places.map((place) => openManager(place, PATIENT)))
  const [first] = patient
  if (first === undefined) throw new TypeError('There must be a client')
  let loadTokens = await createLoadTokens(first.tokens, 12)
  const loads = managers.map(({ tokens }) => startLoad(tokens, loadTokens, 50))
  await Promise.all(loads.map((load) => load.recover(IN_A_ROW, RECOVERY_LIMIT)))

  const fillPools = async (): Promise<void> => {
    for (const { tokens } of [...managers, ...patient]) await fillPool(tokens, loadTokens)
  }
  await fillPools()
  const before = countDescriptors()
  const all: Login[] = []
  let refused = 0
  let lost = 0
  let massLogouts = 0
  let stuck = 0
  let slowestRecoveryMs = 0
  // Everybody logs in again after the store has logged everybody out.
  const recover = async (): Promise<number> => {
    const since = performance.now()
    for (;;) {
      const recovered = await Promise.all(loads.map((load) => load.recover(IN_A_ROW, RECOVERY_STEP)))
      const missing = recovered.filter((isBack) => !isBack).length
      if (missing === 0 || performance.now() - since > RECOVERY_LIMIT) return missing
      const [good = ''] = loadTokens.good
      if ((await readOutcome(first.tokens.verify(good))) !== 'revoked') continue
      massLogouts++
      loadTokens = await createLoadTokens(first.tokens, 12)
      for (const load of loads) load.replace(loadTokens)
    }
  }
  try {
    for (let kill = 0; kill < kills; kill++) {
      const { tokens } = managers[kill % managers.length] as { tokens: TokenManager }
      const logins = await Promise.all(
        Array.from({ length: LOGOUTS }, (_, at) => first.tokens.sessions.open({ uid: `user-${kill}-${at}` })),
      )
      const { acknowledged, killed } = await logOutAndKill(tokens, logins, () =>
        server.kill(signals[kill % signals.length]),
      )
      await killed
      refused += logins.length - acknowledged.length
      all.push(...acknowledged)
      await server.restart()
      const restartedAt = performance.now()
      stuck += await recover()
      slowestRecoveryMs = Math.max(slowestRecoveryMs, performance.now() - restartedAt)
      for (const one of patient) lost += await countAccepted(one.tokens, acknowledged)
    }
    const lostAtTheEnd = await countAccepted(first.tokens, all)
    await fillPools()
    const moreDescriptors = Math.max(0, countDescriptors() - before)
    await Promise.all(loads.map((load) => load.stop()))
    const answers = loads.flatMap((load) => load.answers)
    return {
      kills,
      acknowledged: all.length,
      refused,
      lost,
      lostAtTheEnd,
      ...countAnswers(answers),
      massLogouts,
      stuck,
      slowestRecoveryMs,
      moreDescriptors,
    }
  } finally {
    await Promise.all(loads.map((load) => load.stop()))
    await Promise.all([...managers, ...patient].map(({ close }) => close()))
  }
}

/** Logs all of them out at once, and kills the server as soon as it has acknowledged the first. */
async function logOutAndKill(
  tokens: TokenManager,
  logins: readonly Login[],
  kill: () => Promise<void>,
): Promise<{ acknowledged: Login[]; killed: Promise<void> }> {
  const payloads = logins.map(({ accessToken }) => internalsOf(tokens).verifyWithoutRevocation(accessToken))
  let killed: Promise<void> | undefined
  const acknowledged: Login[] = []
  const logouts = payloads.map(async (payload, at) => {
    await tokens.logout(payload)
    acknowledged.push(logins[at] as Login)
    killed ??= kill()
  })
  await Promise.allSettled(logouts)
  return { acknowledged, killed: killed ?? kill() }
}

// Short, so that a server that is gone is noticed; long enough for a loaded machine.
const DEADLINE = { JWT_REVOCATION_TIMEOUT: '1s' }

/** How the figures are printed, and what they must be. */
export function killStoreFigures({ kills, isDurable }: KillStoreSizes): FigureRules<KillStoreOutcome> {
  const none = isDurable ? { promise: exactly(0) } : {}
  return {
    kills: { label: 'servers killed at the first acknowledgement of a batch of logouts' },
    acknowledged: { label: 'logouts acknowledged', promise: atLeast(kills) },
    refused: { label: 'logouts the kill struck before, answered with an error' },
    lost: { label: 'tokens of acknowledged logouts accepted after the restart', ...none },
    lostAtTheEnd: { label: 'the same, of all of them at the end', ...none },
    ...answerFigures('requests meanwhile'),
    ...(!isDurable && {
      strange: { label: 'answers that are wrong otherwise, good tokens refused included' },
    }),
    massLogouts: {
      label: 'losses that the store noticed, and revoked everything from before',
      ...none,
    },
    stuck: { label: 'managers that did not recover by themselves', promise: exactly(0) },
    slowestRecoveryMs: { label: 'slowest recovery after a restart', unit: 'ms' },
    moreDescriptors: { label: 'more open descriptors than before', promise: atMost(2) },
  }
}
