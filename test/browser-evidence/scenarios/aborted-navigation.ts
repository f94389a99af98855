import { setTimeout as sleep } from 'node:timers/promises'
import { openVisits, type Tabs } from '../tabs.js'
import { openAttacker } from './attacker.js'
import { openSessions, readResult, type Scenario, type Stage } from './scenario.js'

const STOP_AFTER_MS = 500

/** A page of another site navigates to one that refreshes implicitly, and aborts that; the user comes back after the grace. */
export const abortedNavigation: Scenario = {
  title: 'Another site aborts navigations',
  stores: ['redis'],
  async run(stage) {
    const { site, sizes } = stage
    const attacker = await openAttacker()
    const arrived = new Set<string>()
    const withoutTokens: string[] = []
    site.relay.decide(({ path, status, hasTokens }) => {
      if (!path.includes('aborted')) return 'arrives'
      arrived.add(path)
      if (!hasTokens) withoutTokens.push(`${path}: ${status} without new tokens`)
      return 'held'
    })
    try {
      const sessions = await openSessions(stage, { count: sizes.sessions, tabs: 1, open: openVisits })
      const [origin] = attacker.origins
      await Promise.all(sessions.map((tabs) => visitAttacker(stage, tabs, origin, arrived)))
      const { figures, problems, notes } = await readResult(site, sessions)
      return {
        figures,
        problems: [...problems, ...withoutTokens],
        notes: [`${site.relay.lost.withTokens} refreshes aborted`, ...notes],
      }
    } finally {
      attacker.close()
    }
  },
}

async function visitAttacker(
  { site, sizes }: Stage,
  { context, user, countLoggedIn }: Tabs,
  attacker: string,
  arrived: ReadonlySet<string>,
): Promise<void> {
  const page = await context.newPage()
  await page.goto(`${attacker}/`)
  let [attempts, aborted] = [0, 0]
  while (aborted < sizes.rounds) {
    await sleep(sizes.accessSeconds * 1000)
    const path = `/account?aborted=${user}-${attempts++}`
    // Nothing can be asked of the page before the navigation is over.
    const stop = `setTimeout(() => window.stop(), ${STOP_AFTER_MS})`
    await page.evaluate(`void (location.assign('${site.origin}${path}'), ${stop})`)
    await sleep(STOP_AFTER_MS + sizes.graceSeconds * 1000)
    // A browser that was too busy has not sent the request.
    if (!arrived.has(path)) continue
    if (!(await page.evaluate<string>('location.href')).startsWith(attacker)) throw new Error('Not aborted')
    aborted++
    await countLoggedIn()
  }
}
