import type { LogLine } from './open-site.js'
import type { TabCounts } from './page.js'

/** What the tabs of one session have seen. */
export interface SessionCounts {
  readonly tabs: readonly TabCounts[]
  /** How many of them are logged in at the end. */
  readonly loggedIn: number
}

/** What a scenario has counted. */
export interface Figures {
  readonly sessions: number
  readonly tabs: number
  /** Requests of the code of the pages. */
  readonly requests: number
  /** Of these, answers 401 and 403 that reached it. */
  readonly refused: number
  /** Of these, answers 5xx and errors that reached it. */
  readonly unavailable: number
  /** Logouts that a page reported although nobody had logged out, and tabs that were not logged in at the end. */
  readonly falseLogouts: number
  /** In how many sessions that happened. */
  readonly endedSessions: number
  readonly offline: number
  /** How often the access token had expired, and was replaced. */
  readonly expiries: number
  /** Refreshes that the server answered with tokens, and how many of them the busiest expiry needed. */
  readonly refreshes: number
  readonly mostRefreshes: number
  /** What else was not answered with 200, by status and code. */
  readonly reasons: Readonly<Record<string, number>>
}

/** What thieves got. */
export interface Thefts {
  readonly thieves: number
  /** Those who got tokens after two refreshes of the victim. */
  readonly servedLate: number
  /** Those who ended the session, or made the victim end it, with an alarm. */
  readonly caught: number
}

/** A scenario in one browser on one store, and what it shows. */
export interface ScenarioResult {
  readonly figures: Figures
  /** One sentence each; none if everything is as promised. */
  readonly problems: readonly string[]
  /** Facts that are no figures. */
  readonly notes?: readonly string[]
  readonly thefts?: Thefts
}

/** Adds up what the tabs and the application have seen. */
export function toFigures(sessions: readonly SessionCounts[], log: readonly LogLine[]): Figures {
  const tabs = sessions.flatMap((session) => session.tabs)
  const calls = countExpiries(log)
  const logouts = sessions.map(countLogouts)
  return {
    sessions: sessions.length,
    tabs: tabs.length,
    requests: sum(tabs, 'requests'),
    refused: sum(tabs, 'refused'),
    unavailable: sum(tabs, 'unavailable'),
    falseLogouts: logouts.reduce((total, count) => total + count, 0),
    endedSessions: logouts.filter((count) => count > 0).length,
    offline: sum(tabs, 'offline'),
    expiries: calls.length,
    refreshes: calls.reduce((total, count) => total + count, 0),
    mostRefreshes: Math.max(0, ...calls),
    reasons: mergeReasons(tabs),
  }
}

function sum(tabs: readonly TabCounts[], name: Exclude<keyof TabCounts, 'reasons'>): number {
  return tabs.reduce((total, counts) => total + counts[name], 0)
}

function countLogouts({ tabs, loggedIn }: SessionCounts): number {
  return Math.max(sum(tabs, 'loggedOut'), tabs.length - loggedIn)
}

// The refreshes of each expiry of each session.
function countExpiries(log: readonly LogLine[]): number[] {
  const times = new Map<string, number[]>()
  for (const line of log) {
    if (!('outcome' in line)) continue
    times.set(line.sub, [...(times.get(line.sub) ?? []), line.at])
  }
  return [...times.values()].flatMap(countTogether)
}

// Refreshes of several tabs belong to one expiry if they follow each other within a second.
function countTogether(times: readonly number[]): number[] {
  const counts: number[] = []
  let before = Number.NEGATIVE_INFINITY
  for (const at of times.toSorted((one, other) => one - other)) {
    if (at - before > 1000) counts.push(0)
    counts.push((counts.pop() ?? 0) + 1)
    before = at
  }
  return counts
}

function mergeReasons(tabs: readonly TabCounts[]): Record<string, number> {
  const merged: Record<string, number> = {}
  for (const { reasons } of tabs) {
    for (const [reason, count] of Object.entries(reasons)) merged[reason] = (merged[reason] ?? 0) + count
  }
  return merged
}

/** For each alarm, what led to it: the last refreshes of its session. */
export function describeAlarms(log: readonly LogLine[]): string[] {
  return log.flatMap((line, at) => {
    if (!('sub' in line) || line.event !== 'reuseDetected') return []
    const before = log.slice(0, at).flatMap((one) => ('outcome' in one && one.sub === line.sub ? [one] : []))
    const steps = before
      .slice(-5)
      .map(({ at, outcome, ip }) => `${outcome} ${line.at - at} ms before (${ip})`)
    return [`alarm of ${line.sub} (${line.ip}): ${steps.join(', ')}`]
  })
}

/** What is promised of every scenario in which nobody logs out and no token is stolen; `lost` refreshes are repeated. */
export function findProblems(figures: Figures, lost: number): string[] {
  const { requests, refused, falseLogouts, sessions, tabs, mostRefreshes } = figures
  const limit = (2 * tabs) / sessions + lost
  return [
    requests === 0 && 'no request was sent',
    refused > 0 && `${refused} requests of the page were refused`,
    falseLogouts > 0 && `${falseLogouts} false logouts`,
    mostRefreshes > limit && `${mostRefreshes} refreshes for one expiry, with ${tabs / sessions} tabs`,
  ].filter((problem) => problem !== false)
}
