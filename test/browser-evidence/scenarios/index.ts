import { setTimeout as sleep } from 'node:timers/promises'
import { findProblems, toFigures } from '../figures.js'
import { createKey, type Site } from '../open-site.js'
import { openTabs } from '../tabs.js'
import { otherOrigins } from './other-origins.js'
import { createUndisturbed, type Scenario, type Sizes } from './scenario.js'
import { stolenCookie } from './stolen-cookie.js'

/** As the command runs them. */
export const FULL: Sizes = {
  tabs: 20,
  accessSeconds: 5,
  graceSeconds: 10,
  seconds: 60,
  outageSeconds: 20,
  intervalMs: 1000,
}

/** As the evidence tests run them. */
export const SHORT: Sizes = {
  tabs: 4,
  accessSeconds: 2,
  graceSeconds: 4,
  seconds: 5,
  outageSeconds: 3,
  intervalMs: 300,
}

/** What happens to the application and its pages, by name. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  tabs: createUndisturbed(
    'Many tabs of one session',
    ['redis', 'sqlite'],
    ({ sizes }) => sleep(sizes.seconds * 1000),
    ({ unavailable, offline, expiries }) =>
      [
        unavailable > 0 && `${unavailable} requests were not answered`,
        offline > 0 && `${offline} times offline`,
        expiries === 0 && 'no access token has expired',
      ].filter((problem) => problem !== false),
  ),
  'store-stopped': createUndisturbed('The store hangs', ['redis'], async ({ site, sizes }) => {
    await site.redis?.kill('SIGSTOP')
    await sleep(sizes.outageSeconds * 1000)
    await site.redis?.kill('SIGCONT')
  }),
  'store-killed': createUndisturbed(
    'The store is killed and restarted',
    ['redis'],
    async ({ site, sizes }) => {
      await site.redis?.kill('SIGKILL')
      await sleep(sizes.outageSeconds * 1000)
      await site.redis?.restart()
    },
  ),
  'store-stopped-idle': {
    title: 'The store hangs during a refresh, and the user comes back after the grace',
    stores: ['redis'],
    async run({ context, site, sizes }) {
      const tabs = await openTabs(context, site, { count: 1 })
      await sleep(sizes.accessSeconds * 1000)
      await site.redis?.kill('SIGSTOP')
      // Its refresh is given up, but Redis has it, and carries it out as soon as it can.
      await tabs.pages[0]?.evaluate('evidence.send()')
      await site.redis?.kill('SIGCONT')
      await sleep((sizes.graceSeconds + 1) * 1000)
      const loggedIn = await tabs.countLoggedIn()
      const figures = toFigures(await tabs.readCounts(), loggedIn, site.readLog())
      return { figures, problems: findProblems(figures) }
    },
  },
  'application-killed': createUndisturbed(
    'The application is killed and restarted',
    ['redis', 'sqlite'],
    async ({ site, sizes }) => {
      await site.application.kill('SIGKILL')
      await sleep((sizes.outageSeconds * 1000) / 2)
      await site.application.restart()
    },
  ),
  'keys-rotated': createUndisturbed('The signing key is replaced', ['redis'], async ({ site }) => {
    site.change({ previousKey: site.settings.key, key: createKey() })
    await site.application.restart()
  }),
  asleep: createUndisturbed('The laptop sleeps', ['redis'], async ({ browser, site, sizes }) => {
    const seconds = Math.max(sizes.accessSeconds, sizes.graceSeconds) + 2
    await waitForQuiet(site)
    browser.signal('SIGSTOP')
    await sleep(seconds * 1000)
    browser.signal('SIGCONT')
    return [`all processes of the browser stopped for ${seconds} s`]
  }),
  'tabs-asleep': createUndisturbed(
    'The browser freezes all tabs but one',
    ['redis'],
    async ({ sizes }, tabs) => {
      const [, ...sleeping] = tabs.pages
      const frozen = await Promise.all(sleeping.map((page) => page.setFrozen(true)))
      if (!frozen.every(Boolean)) return ['this browser freezes no tabs; they were in the background']
      await sleep((Math.max(sizes.accessSeconds, sizes.graceSeconds) + 2) * 1000)
      await Promise.all(sleeping.map((page) => page.setFrozen(false)))
      return
    },
  ),
  'clock-wrong': createUndisturbed('The clock of the page jumps', ['redis'], async ({ sizes }, tabs) => {
    const days = tabs.pages.map((_, index) => (index % 2 === 0 ? 1 : -1))
    await Promise.all(tabs.pages.map((page, index) => page.evaluate(jumpClock(days[index] ?? 0))))
    await sleep(sizes.accessSeconds * 2000)
    return ['half of the tabs a day ahead, the others a day behind']
  }),
  'stolen-cookie': stolenCookie,
  'other-origins': otherOrigins,
}

// Half a second after a refresh. One whose response is lost, because the laptop falls asleep before it arrives, is a
// reuse when the laptop wakes up after the grace: docs/sessions.md.
async function waitForQuiet(site: Site): Promise<void> {
  for (;;) {
    const times = site
      .readLog()
      .flatMap((line) => ('event' in line && line.event === 'refreshed' ? [line.at] : []))
    const since = Date.now() - Math.max(...times)
    if (since > 500 && since < 1000) return
    await sleep(100)
  }
}

// Date() and new Date() too: a client may use any of them.
function jumpClock(days: number): string {
  return `(() => {
    const RealDate = Date
    const shift = ${days} * 86_400_000
    globalThis.Date = class extends RealDate {
      constructor(...given) {
        if (given.length === 0) super(RealDate.now() + shift)
        else super(...given)
      }
      static now() {
        return RealDate.now() + shift
      }
    }
  })()`
}
