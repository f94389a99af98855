import type { Held } from './held.js'
import type { World } from './world.js'

const MAX_CHECKS = 2000

/** Heals everything; then every revocation must be known everywhere, and to processes that start again. */
export async function judge(
  { timeline, hosts, settings, store, cluster }: World,
  revoked: readonly Held[],
): Promise<void> {
  store.isUp = true
  store.isFull = false
  store.slownessMs = 0
  store.stallsUntil = 0
  cluster.heal()
  for (const host of hosts) {
    host.storeLink?.disturb(null)
    host.start()
  }
  // In a large world, each process checks some of the tokens, and some processes check each of them.
  const stride = Math.ceil((hosts.length * revoked.length) / MAX_CHECKS)
  const settleMs = 6 * settings.boundMs + 30_000
  const checkAll = async (): Promise<void> => {
    for (const [number, { application }] of hosts.entries()) {
      for (const [at, held] of revoked.entries()) {
        if ((at + number) % stride > 0) continue
        application?.process.deliver(() => void application.check(held, true))
      }
    }
    await timeline.runUntil(timeline.now() + 5000)
  }
  await timeline.runUntil(timeline.now() + settleMs)
  await checkAll()
  for (const host of hosts) {
    host.kill()
    host.start()
  }
  await timeline.runUntil(timeline.now() + settleMs)
  await checkAll()
}
