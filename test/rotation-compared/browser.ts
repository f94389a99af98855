import type { PresentedToken } from '../../packages/tokenlib/src/revocation/rotation.js'
import type { Random } from '../fuzz/random.js'
import type { Day } from './day.js'
import type { Answer } from './rules.js'
import type { Timeline } from './timeline.js'

/** What can happen to the messages of a browser. */
export interface Network {
  /** Of a hundred messages. */
  readonly lostPercent: number
  /** Of a hundred refreshes, those that reach the server twice. */
  readonly doubledPercent: number
  /** The longest time that a message takes. */
  readonly maxDelayMs: number
}

/** What a browser needs. */
export interface BrowserOptions {
  readonly timeline: Timeline
  readonly random: Random
  readonly day: Day
  readonly network: Network
  readonly accessMs: number
  readonly graceMs: number
  readonly firstToken: PresentedToken
  /** `null` for a session that has ended. */
  readonly present: (token: PresentedToken) => Answer | null
}

/** A browser whose tabs share one jar of cookies, and nothing else. */
export interface Browser {
  /** The refresh token in the jar, or `null` once the user is logged out. */
  readRefreshToken(): PresentedToken | null
}

// Most messages are this fast.
const USUAL_DELAY_MS = 300

/** Starts a browser that does what the day says. A tab refreshes when a request of it is refused. */
export function startBrowser(options: BrowserOptions): Browser {
  const { timeline, random, day, network, accessMs, graceMs, present } = options
  const jar = { refreshToken: options.firstToken, accessUntil: accessMs }
  const isRefreshing = new Set<number>()
  let [isLoggedOut, sleepsBegun, isAsleep] = [false, 0, false]

  const after = (delayMs: number, run: () => void): void => timeline.at(timeline.now() + delayMs, run)
  const isOneOf = (percent: number): boolean => random.integer(10_000) < percent * 100
  const toDelay = (): number =>
    isOneOf(90) ? 10 + random.integer(USUAL_DELAY_MS) : random.integer(network.maxDelayMs)

  const visit = (tab: number): void => {
    if (isAsleep || isLoggedOut || isRefreshing.has(tab)) return
    const arrival = timeline.now() + toDelay()
    if (arrival < jar.accessUntil || isOneOf(network.lostPercent)) return
    const begun = sleepsBegun
    timeline.at(arrival + toDelay(), () => {
      if (begun === sleepsBegun) refresh(tab, 0)
    })
  }

  const refresh = (tab: number, refusals: number): void => {
    if (isAsleep || isLoggedOut || isRefreshing.has(tab)) return
    isRefreshing.add(tab)
    const [token, begun] = [jar.refreshToken, sleepsBegun]
    let isSettled = false
    const settle = (run: () => void): void => {
      if (isSettled) return
      isSettled = true
      isRefreshing.delete(tab)
      run()
    }
    const giveUp = (): void =>
      settle(() => {
        if (isOneOf(70)) after(1000 + random.integer(5000), () => visit(tab))
      })
    const send = (): void =>
      after(toDelay(), () => {
        if (isOneOf(network.lostPercent)) return
        const answer = present(token)
        if (isOneOf(network.lostPercent)) return
        after(toDelay(), () => {
          if (begun === sleepsBegun) settle(() => take(tab, answer, refusals))
        })
      })
    send()
    if (isOneOf(network.doubledPercent)) send()
    after(graceMs / 2, giveUp)
  }

  const take = (tab: number, answer: Answer | null, refusals: number): void => {
    if (answer === null || answer.outcome === 'reuse') {
      isLoggedOut = true
    } else if (answer.outcome === 'superseded') {
      // The cookies of another tab may be under way; if they do not come, only the grace is left to wait for.
      after(refusals === 0 ? 1000 : graceMs, () => refresh(tab, refusals + 1))
    } else {
      if (answer.refreshToken !== null) jar.refreshToken = answer.refreshToken
      jar.accessUntil = answer.accessIssuedAt + accessMs
    }
  }

  for (const { at, tab } of day.visits) timeline.at(at, () => visit(tab))
  for (const { from, to } of day.sleeps) {
    timeline.at(from, () => {
      ;[isAsleep, sleepsBegun] = [true, sleepsBegun + 1]
    })
    timeline.at(to, () => {
      isAsleep = false
    })
  }
  return { readRefreshToken: () => (isLoggedOut ? null : jar.refreshToken) }
}
