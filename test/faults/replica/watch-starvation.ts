import { machineMs } from './history.js'

const TICK_MS = 5

/**
 * Reports whenever this process could not run for longer than a limit, because the machine ran others.
 *
 * Returns a function that stops it. What this process computes itself is its own fault; the rest of a late timer is the machine's.
 */
export function watchStarvation(limitMs: number, report: (t0: number, t1: number) => void): () => void {
  let tickedAt = machineMs()
  let usage = process.cpuUsage()
  const timer = setInterval(() => {
    const now = machineMs()
    const { user, system } = process.cpuUsage(usage)
    if (now - tickedAt - TICK_MS - (user + system) / 1000 > limitMs) report(tickedAt, now)
    tickedAt = now
    usage = process.cpuUsage()
  }, TICK_MS)
  return () => clearInterval(timer)
}
