import { readdirSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

// Every sixth sample, once a minute, is taken after a garbage collection.
const COLLECT_EVERY = 6

/** Takes samples of this process, which must run with --expose-gc. */
export function createSampler() {
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  let count = 0
  return () => {
    const isCollected = count++ % COLLECT_EVERY === 0
    // The pause of the collection itself belongs to no request of an application.
    const delayP99Ms = delay.percentile(99) / 1e6
    const delayMaxMs = delay.max / 1e6
    if (isCollected) globalThis.gc()
    const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage()
    delay.reset()
    return {
      rss,
      heapUsed,
      external,
      arrayBuffers,
      isCollected,
      handles: countKinds(process.getActiveResourcesInfo()),
      descriptors: countDescriptors(),
      delayP99Ms,
      delayMaxMs,
    }
  }
}

function countKinds(names) {
  const counts = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

function countDescriptors() {
  try {
    // One of them is that of the folder.
    return readdirSync('/proc/self/fd').length - 1
  } catch {
    return null
  }
}
