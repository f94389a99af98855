import type { Held } from './held.js'
import type { World } from './world.js'

/** Heals everything; then every revocation must be known everywhere, and to processes that start anew. */
export async function judge(
  { timeline, hosts, settings, store, cluster }: World,
  revoked: Iterable<Held>,
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
  const settleMs = 6 * settings.boundMs + 30_000
  const checkAll = async (): Promise<void> => {
    for (const { application } of hosts) {
      for (const held of revoked) {
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
