/** The load that the page is about. */
export const LOAD = {
  processes: [10, 100, 1000, 10_000],
  sessions: 10_000_000,
  shareInUse: 0.1,
  accessTokenMinutes: 15,
  revocationsPerSecond: 100,
  massRevocation: 1_000_000,
}

/** How replicas follow their store. */
export const MODES = [
  { name: 'bound of 1 s, wake-ups', boundMs: 1000, hasWakeUps: true },
  { name: 'bound of 1 s, no wake-ups', boundMs: 1000, hasWakeUps: false },
  { name: 'bound of 5 s, no wake-ups', boundMs: 5000, hasWakeUps: false },
]

// A replica at rest waits 0.75 to 1 quarters of the bound between two reads.
const READS_PER_BOUND = 4 / 0.875

/**
 * What one process costs per second.
 *
 * @param {import('./measure-costs.js').Costs} costs
 * @param {(typeof MODES)[number]} mode
 * @param {number} [revocations] Per second; 0 or the number of `LOAD`.
 */
export function toProcessCosts(
  { read, entry, wakeUp, reads },
  mode,
  revocations = LOAD.revocationsPerSecond,
) {
  // How often wake-ups make a replica read was measured with that many revocations.
  const isWoken = mode.hasWakeUps && revocations > 0
  const perSecond = isWoken ? reads.woken.reads : READS_PER_BOUND / (mode.boundMs / 1000)
  const woken = isWoken ? revocations : 0
  return {
    reads: perSecond,
    received: perSecond * read.received,
    sent: perSecond * read.sent + revocations * entry.sent + woken * wakeUp.sent,
    server: perSecond * read.server + revocations * entry.server + woken * wakeUp.server,
  }
}

/**
 * What a number of processes costs the server per second. `cores` is a share of one core.
 *
 * @param {import('./measure-costs.js').Costs} costs
 * @param {(typeof MODES)[number]} mode
 * @param {number} processes
 */
export function toServerCosts(costs, mode, processes) {
  const { reads, received, sent, server } = toProcessCosts(costs, mode)
  return {
    reads: processes * reads,
    received: processes * received,
    sent: processes * sent,
    cores: (processes * server + LOAD.revocationsPerSecond * costs.revoke.server) / 1e6,
  }
}

/**
 * With how many processes one core of the server is full.
 *
 * @param {import('./measure-costs.js').Costs} costs
 * @param {(typeof MODES)[number]} mode
 * @param {number} [revocations] Per second; 0 or the number of `LOAD`.
 */
export function toLimit(costs, mode, revocations = LOAD.revocationsPerSecond) {
  return (1e6 - revocations * costs.revoke.server) / toProcessCosts(costs, mode, revocations).server
}

/**
 * How many revocations are remembered, and what they and the sessions take, in bytes.
 *
 * @param {import('./measure-costs.js').Costs} costs
 * @param {number} days How long a session can be refreshed.
 */
export function toMemory({ memory, start }, days) {
  const entries = LOAD.revocationsPerSecond * 86_400 * days
  return {
    entries,
    sessions: LOAD.sessions * memory.session,
    server: entries * memory.entry,
    process: entries * start.bytes,
  }
}

/**
 * What refreshes cost if some of the sessions are in use.
 *
 * @param {import('./measure-costs.js').Costs} costs
 */
export function toRefreshes({ session }) {
  const perSecond = (LOAD.sessions * LOAD.shareInUse) / (LOAD.accessTokenMinutes * 60)
  return { perSecond, cores: (perSecond * session.refresh) / 1e6 }
}

/**
 * A mass revocation, token by token: every process has to read all of it.
 *
 * @param {import('./measure-costs.js').Costs} costs
 * @param {number} processes
 */
export function toMassRevocation({ entry, revoke, start }, processes) {
  const count = LOAD.massRevocation
  return {
    sent: processes * count * entry.sent,
    // On one core: what is written once, and read by each.
    seconds: (count * revoke.inBulk) / 1e6 + (processes * start.serverCpu * count) / start.entries,
  }
}
