import type { Browser } from './browser.js'
import type { Recorder } from './history.js'
import type { World } from './world.js'

// After its end, an entry is kept for a minute, and a cautious clock is behind for a while.
const MARGIN_MS = 400_000
// Each sweeps away a few of those that have ended.
export const WRITES_AT_REST = 60
const MAX_READS = 6000

/**
 * Waits until everything has expired, and lets a few more revocations arrive: then nobody may keep more than these. Worlds
 * in which that takes many reads are left out.
 */
export async function rest(
  { timeline, hosts, settings, cluster }: World,
  browsers: readonly Browser[],
  recorder: Recorder,
): Promise<void> {
  const { boundMs, accessLifetimeMs, sessionLifetimeMs } = settings
  const waitMs = Math.max(accessLifetimeMs, sessionLifetimeMs) + MARGIN_MS
  if ((5 * hosts.length * waitMs) / boundMs > MAX_READS) return
  await timeline.runUntil(timeline.now() + waitMs)
  const [host] = hosts
  for (let number = 0; number < WRITES_AT_REST; number++) {
    const target = { kind: 'token', id: `rest-${number}` } as const
    const { application } = host ?? {}
    application?.process.deliver(() => void application.revoke(target))
    await timeline.runUntil(timeline.now() + 100)
  }
  await timeline.runUntil(timeline.now() + 2 * boundMs + 5000)
  for (const { application } of hosts) {
    application?.process.deliver(() => void application.reportHealth(true))
  }
  await timeline.runUntil(timeline.now() + 1000)
  const now = timeline.now()
  const event = { life: 0, t0: now, t1: now, result: 'ok', op: 'health', isAtRest: true } as const
  const entries = await cluster.primary().countEntries()
  recorder.event({ ...event, application: 'store', entries, timers: 0 })
  for (const { machine, countTimers } of browsers) {
    recorder.event({ ...event, application: machine.name, entries: 0, timers: countTimers() })
  }
}
