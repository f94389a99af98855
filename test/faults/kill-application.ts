import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../helpers/race-logout.js'
import { atLeast, exactly, type FigureRules } from './harness/figures.js'
import { checkLogin, readOutcome } from './harness/outcomes.js'
import { migrate, openManager, PATIENT, type Place } from './harness/place.js'
import { startWorker, type Worker } from './harness/start-worker.js'
import type { Login } from './harness/worker-protocol.js'

/** How often. */
export interface KillApplicationSizes {
  readonly kills: number
  readonly seed: number
}

/** What came of it. */
export interface KillApplicationOutcome {
  readonly kills: number
  /** How many of them struck a logout that had not been acknowledged. */
  readonly killedWithin: number
  readonly acknowledged: number
  /** Logins of an acknowledged logout of which a token was accepted afterwards. */
  readonly lost: number
  /** Acknowledged logouts whose login could be refreshed afterwards. */
  readonly refreshed: number
  /** Logins of which one token was revoked and the other was not. */
  readonly halfRevoked: number
  /** Tokens of acknowledged logouts that a process started afterwards accepted. */
  readonly acceptedByFresh: number
}

/** Kills processes that log users out: at the moment of the acknowledgement, or at any moment. */
export async function runKillApplication(
  program: string,
  place: Place,
  { kills, seed }: KillApplicationSizes,
): Promise<KillApplicationOutcome> {
  await migrate(place)
  const { tokens, close } = await openManager(place, PATIENT)
  const random = createRandom(seed)
  const acknowledged: Login[] = []
  let killedWithin = 0
  let lost = 0
  let refreshed = 0
  let halfRevoked = 0

  const begin = async (): Promise<Worker> => {
    const worker = startWorker(program)
    await worker.ask('open', place, PATIENT)
    return worker
  }
  let next = begin()
  try {
    for (let kill = 0; kill < kills; kill++) {
      const worker = await next
      // Starting a process takes longer than all that is done with it.
      next = begin()
      const known = new Map<string, Login>()
      const done = new Set<string>()
      await killAfter(worker, kill % 2 === 0 ? null : random(8), known, done)
      for (const [accessToken, login] of known) {
        let outcomes = await checkLogin(tokens, login)
        if (outcomes[0] !== outcomes[1]) {
          // The server may have finished what the process had asked for between the two looks.
          outcomes = await checkLogin(tokens, login)
          if (outcomes[0] !== outcomes[1]) halfRevoked++
        }
        if (!done.has(accessToken)) {
          killedWithin++
          continue
        }
        acknowledged.push(login)
        if (outcomes.some((outcome) => outcome !== 'revoked')) lost++
        if ((await readOutcome(tokens.sessions.refresh(login.refreshToken))) !== 'revoked') refreshed++
      }
    }
    const fresh = await next
    const acceptedByFresh = await fresh.ask('countAccepted', acknowledged)
    return {
      kills,
      killedWithin,
      acknowledged: acknowledged.length,
      lost,
      refreshed,
      halfRevoked,
      acceptedByFresh,
    }
  } finally {
    await (await next).kill()
    await close()
  }
}

/** Lets a process log users out, and kills it: at its first acknowledgement, or some time after its first logout. */
async function killAfter(
  worker: Worker,
  delayMs: number | null,
  known: Map<string, Login>,
  done: Set<string>,
): Promise<void> {
  let killing: Promise<void> | undefined
  const begun = new Promise<void>((resolve) => {
    worker.onLogout((event) => {
      if (event.step === 'acknowledged') done.add(event.accessToken)
      else known.set(event.login.accessToken, event.login)
      if (event.step === 'acknowledged' && delayMs === null) killing ??= worker.kill()
      if (delayMs !== null || event.step === 'acknowledged') resolve()
    })
  })
  const running = worker.ask('logOutUntilKilled')
  await Promise.race([begun, running])
  if (delayMs !== null) await sleep(delayMs)
  await (killing ?? worker.kill())
  await running
}

/** How the figures are printed, and what they must be. */
export function killApplicationFigures({ kills }: KillApplicationSizes): FigureRules<KillApplicationOutcome> {
  return {
    kills: { label: 'processes killed with -9, half at the acknowledgement, half at any moment' },
    killedWithin: { label: 'logouts that were under way' },
    acknowledged: { label: 'logouts acknowledged', promise: atLeast(kills / 2) },
    lost: { label: 'acknowledged logouts lost', promise: exactly(0) },
    refreshed: { label: 'logins refreshed after an acknowledged logout', promise: exactly(0) },
    halfRevoked: { label: 'logins with one token revoked and one not', promise: exactly(0) },
    acceptedByFresh: { label: 'revoked tokens accepted by a new process', promise: exactly(0) },
  }
}
