import { setTimeout as sleep } from 'node:timers/promises'
import type { TokenConfigOptions, TokenManager } from '../../packages/tokenlib/src/index.js'
import { findFreePort } from '../helpers/servers/free-port.js'
import { createRandom } from '../helpers/race-logout.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { atMost, exactly, type FigureRules } from './harness/figures.js'
import {
  type Answer,
  type AnswerCounts,
  answerFigures,
  countAnswers,
  createLoadTokens,
  isRight,
  type LoadTokens,
  slowestUnstarved,
  startLoad,
} from './harness/load.js'
import { type ClientName, createTokens, migrate, openManager, openStore, PATIENT } from './harness/place.js'
import { createTcpProxy, type TcpProxy } from './harness/tcp-proxy.js'

/** How long each trouble lasts, and under how much. */
export interface BadNetworkSizes {
  readonly client: ClientName
  readonly troubleMs: number
  readonly perSecond: number
  readonly config: TokenConfigOptions
}

/** What came of it. */
export interface BadNetworkOutcome extends AnswerCounts {
  /** Requests to a closed port that were answered with anything but a 503. */
  readonly refusedOtherwise: number
  readonly slowestRefusedMs: number
  /** Requests over a network that takes 50 to 200 ms that were not answered as they should. */
  readonly slowWrong: number
  readonly slowestSlowMs: number
  /** Requests into a black hole that were answered with anything but a 503. */
  readonly holeOtherwise: number
  readonly slowestHoleMs: number
  /** Troubles after which the manager did not come back by itself, of four. */
  readonly stuck: number
  readonly slowestRecoveryMs: number
}

const IN_A_ROW = 10
const RECOVERY_LIMIT = 30_000

/** Puts a proxy before a server: a closed port, a slow network, a black hole, and connections that are cut. */
export async function runBadNetwork(
  server: Pick<RunningServer, 'url' | 'host' | 'port'>,
  sizes: BadNetworkSizes,
): Promise<BadNetworkOutcome> {
  const { client, troubleMs, config } = sizes
  const place = { client, url: server.url }
  await migrate(place)
  const direct = await openManager(place, PATIENT)
  const proxy = createTcpProxy(await findFreePort(), server)
  const url = new URL(server.url)
  url.port = String(proxy.port)
  const { store, close } = await openStore({ client, url: url.href }, { connections: 20 })
  try {
    const loadTokens = await createLoadTokens(direct.tokens, 20)
    const tokens = createTokens(store, config)
    const run = async (trouble: () => Promise<unknown>, perSecond = sizes.perSecond): Promise<Stretch> =>
      runStretch(tokens, loadTokens, perSecond, troubleMs, trouble)

    const refused = await run(async () => undefined)
    await proxy.listen()
    const heal = async (): Promise<number> => recoveryOf(tokens, loadTokens, sizes.perSecond)
    const recoveries = [await heal()]

    const random = createRandom(1)
    await warmUp(tokens, loadTokens, proxy, random)
    const slow = await run(async () => undefined, SLOW_RATE)
    proxy.setMode({ kind: 'pass' })
    recoveries.push(await heal())

    const hole = await run(async () => proxy.setMode({ kind: 'hold' }))
    proxy.setMode({ kind: 'pass' })
    recoveries.push(await heal())

    const cut = await run(async () => {
      for (let cuts = 0; cuts < CUTS; cuts++) {
        proxy.cut()
        await sleep(troubleMs / CUTS)
      }
    })
    recoveries.push(await heal())

    const answers = [refused, slow, hole, cut].flatMap((stretch) => stretch.answers)
    return {
      ...countAnswers(answers),
      refusedOtherwise: countOther(refused.answers),
      slowestRefusedMs: slowestUnstarved(refused.answers),
      slowWrong: slow.answers.filter((answer) => !isRight(answer)).length,
      slowestSlowMs: slowestUnstarved(slow.answers),
      holeOtherwise: countOther(hole.answers),
      slowestHoleMs: slowestUnstarved(hole.answers),
      stuck: recoveries.filter((took) => took === Number.POSITIVE_INFINITY).length,
      slowestRecoveryMs: Math.max(...recoveries),
    }
  } finally {
    proxy.setMode({ kind: 'pass' })
    await proxy.refuse()
    await close()
    await direct.close()
  }
}

interface Stretch {
  readonly answers: readonly Answer[]
}

// A pool of 20 connections answers about 160 in a second when each takes 125 ms.
const SLOW_RATE = 40
const CUTS = 5

async function runStretch(
  tokens: TokenManager,
  loadTokens: LoadTokens,
  perSecond: number,
  forMs: number,
  trouble: () => Promise<unknown>,
): Promise<Stretch> {
  const troubled = trouble()
  const load = startLoad(tokens, loadTokens, perSecond)
  await Promise.all([sleep(forMs), troubled])
  await load.stop()
  return load
}

async function recoveryOf(tokens: TokenManager, loadTokens: LoadTokens, perSecond: number): Promise<number> {
  const since = performance.now()
  const load = startLoad(tokens, loadTokens, perSecond)
  const isBack = await load.recover(IN_A_ROW, RECOVERY_LIMIT)
  await load.stop()
  return isBack ? performance.now() - since : Number.POSITIVE_INFINITY
}

/** Opens every connection of a pool first: over a slow network that alone takes longer than the deadline. */
async function warmUp(
  tokens: TokenManager,
  loadTokens: LoadTokens,
  proxy: TcpProxy,
  random: (limit: number) => number,
): Promise<void> {
  proxy.setMode({ kind: 'delay', next: () => 50 + random(151) })
  const load = startLoad(tokens, loadTokens, 4 * SLOW_RATE)
  await sleep(500)
  await load.stop()
}

function countOther(answers: readonly Answer[]): number {
  return answers.filter(({ outcome }) => outcome !== 'unavailable').length
}

/** How the figures are printed, and what they must be. */
export function badNetworkFigures(deadlineMs: number): FigureRules<BadNetworkOutcome> {
  const inTime = atMost(deadlineMs + 50)
  return {
    ...answerFigures('requests in process, half with revoked tokens'),
    refusedOtherwise: { label: 'port closed: answers other than 503', promise: exactly(0) },
    slowestRefusedMs: {
      label: 'port closed: slowest answer, without the time given to other processes',
      unit: 'ms',
      promise: inTime,
    },
    slowWrong: { label: 'network of 50-200 ms: answers that are not right', promise: exactly(0) },
    slowestSlowMs: { label: 'network of 50-200 ms: slowest answer, likewise', unit: 'ms', promise: inTime },
    holeOtherwise: { label: 'black hole: answers other than 503', promise: exactly(0) },
    slowestHoleMs: { label: 'black hole: slowest answer, likewise', unit: 'ms', promise: inTime },
    stuck: {
      label: 'troubles without recovery, of 4 (the last: connections cut 5 times)',
      promise: exactly(0),
    },
    slowestRecoveryMs: { label: 'slowest recovery', unit: 'ms' },
  }
}
