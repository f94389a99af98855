/** Tells how long this process was kept waiting for a processor, in milliseconds; it grows for as long as it is watched. */
export interface Starvation {
  read(): number
  stop(): void
}

const TICK = 5

/**
 * Watches how long this process could not run because the machine was busy with others.
 *
 * A timer that is late tells of it, unless this process itself was computing meanwhile: what that takes is its own.
 */
export function watchStarvation(): Starvation {
  let total = 0
  let tickedAt = performance.now()
  let usage = process.cpuUsage()

  const readTick = (): number => {
    const { user, system } = process.cpuUsage(usage)
    const late = performance.now() - tickedAt - TICK
    return Math.max(0, late - (user + system) / 1000)
  }
  const timer = setInterval(() => {
    total += readTick()
    tickedAt = performance.now()
    usage = process.cpuUsage()
  }, TICK)

  return { read: () => total + readTick(), stop: () => clearInterval(timer) }
}
