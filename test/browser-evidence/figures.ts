import type { LogLine } from './open-site.js'
import type { TabCounts } from './page.js'

/** What a scenario has counted. */
export interface Figures {
  readonly tabs: number
  /** Requests of the code of the pages. */
  readonly requests: number
  /** Of these, answers 401 and 403 that reached it. */
  readonly refused: number
  /** Of these, answers 5xx and errors that reached it. */
  readonly unavailable: number
  /** Log-outs that a page reported although nobody had logged out, and tabs that were not logged in at the end. */
  readonly falseLogOuts: number
  readonly offline: number
  /** How often the access token had expired, and was replaced. */
  readonly expiries: number
  /** Refreshes that the server answered with tokens, and how many of them the busiest expiry needed. */
  readonly refreshes: number
  readonly mostRefreshes: number
  /** What else was not answered with 200, by status and code. */
  readonly reasons: Readonly<Record<string, number>>
}

/** A scenario in one browser on one store, and what it shows. */
export interface ScenarioResult {
  readonly figures: Figures
  /** One sentence each; none if everything is as promised. */
  readonly problems: readonly string[]
  /** Facts that are no figures. */
  readonly notes?: readonly string[]
}

/** Adds up what the tabs and the application have seen. */
export function toFigures(tabs: readonly TabCounts[], loggedIn: number, log: readonly LogLine[]): Figures {
  const sum = (name: Exclude<keyof TabCounts, 'reasons'>): number =>
    tabs.reduce((total, counts) => total + counts[name], 0)
  const calls = countTogether(
    log.flatMap((line) => ('event' in line && line.event === 'refreshed' ? [line.at] : [])),
  )
  return {
    tabs: tabs.length,
    requests: sum('requests'),
    refused: sum('refused'),
    unavailable: sum('unavailable'),
    falseLogOuts: Math.max(sum('loggedOut'), tabs.length - loggedIn),
    offline: sum('offline'),
    expiries: calls.length,
    refreshes: calls.reduce((total, count) => total + count, 0),
    mostRefreshes: Math.max(0, ...calls),
    reasons: mergeReasons(tabs),
  }
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

/** What is promised of every scenario in which nobody logs out and no token is stolen. */
export function findProblems(figures: Figures): string[] {
  const { requests, refused, falseLogOuts, tabs, mostRefreshes } = figures
  return [
    requests === 0 && 'no request was sent',
    refused > 0 && `${refused} requests of the page were refused`,
    falseLogOuts > 0 && `${falseLogOuts} false log-outs`,
    mostRefreshes > 2 * tabs && `${mostRefreshes} refreshes for one expiry, with ${tabs} tabs`,
  ].filter((problem) => problem !== false)
}
