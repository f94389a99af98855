import { setTimeout as sleep } from 'node:timers/promises'
import { isRunning } from '../../helpers/servers/process-tree.js'
import { createKey, type LogLine } from '../open-site.js'
import { ARRIVES, type RelayedResponse } from '../relay.js'
import { openTabs, openVisits } from '../tabs.js'
import { abortedNavigation } from './aborted-navigation.js'
import { otherOrigins } from './other-origins.js'
import { createUndisturbed, readResult, type Scenario, type Sizes, type Stage } from './scenario.js'
import { stolenCookies } from './stolen-cookies.js'

/** As the command runs them. */
export const FULL: Sizes = {
  tabs: 20,
  sessions: 10,
  rounds: 5,
  // A quarter of the grace is what a request or a response may take, on a machine that is busy.
  accessSeconds: 5,
  graceSeconds: 4,
  seconds: 60,
  outageSeconds: 20,
  intervalMs: 1000,
}

/** As `npm run test:all` runs them. */
export const SHORT: Sizes = {
  ...FULL,
  tabs: 3,
  sessions: 3,
  rounds: 2,
  seconds: 5,
  outageSeconds: 4,
  intervalMs: 500,
}

const HOUR_MS = 3_600_000

/** What happens to the application and its pages, by name. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  tabs: createUndisturbed({
    title: 'Many tabs of one session',
    stores: ['redis', 'sqlite'],
    disturb: ({ sizes }) => sleep(sizes.seconds * 1000),
    check: ({ unavailable, offline, expiries }) =>
      [
        unavailable > 0 && `${unavailable} requests were not answered`,
        offline > 0 && `${offline} times offline`,
        expiries === 0 && 'no access token has expired',
      ].filter((problem) => problem !== false),
  }),
  'lost-responses': createUndisturbed({
    title: 'Responses are lost',
    stores: ['redis', 'sqlite'],
    hasSessions: true,
    disturb: loseResponses,
  }),
  'lost-pages': createUndisturbed({
    title: 'Pages with an implicit refresh are lost',
    stores: ['redis'],
    hasSessions: true,
    open: openVisits,
    disturb: loseResponses,
  }),
  'aborted-navigation': abortedNavigation,
  asleep: createUndisturbed({
    title: 'The laptop sleeps through the response to a refresh',
    stores: ['redis', 'sqlite'],
    hasSessions: true,
    async disturb({ browser, site, sizes }, sessions) {
      // The clock of Redis cannot be moved: there, the time really passes.
      const [aheadMs, seconds] =
        site.store === 'redis' ? [0, sizes.accessSeconds + sizes.graceSeconds] : [HOUR_MS, 1]
      const before = site.readLog().length
      site.relay.decide(({ hasTokens }) => (hasTokens ? 'held' : 'arrives'))
      while (countRefreshed(site.readLog().slice(before)) < sessions.length) await sleep(50)
      browser.signal('SIGSTOP')
      await site.advanceClock(aheadMs)
      await sleep(seconds * 1000)
      site.relay.decide(ARRIVES)
      browser.signal('SIGCONT')
      const pages = sessions.flatMap((tabs) => tabs.pages)
      await Promise.all(pages.map((page) => page.evaluate(jumpClock(aheadMs))))
      return [`asleep for ${seconds + aheadMs / 1000} s, ${site.relay.lost.withTokens} refreshes lost`]
    },
  }),
  'store-stopped': createUndisturbed({
    title: 'The store hangs',
    stores: ['redis'],
    async disturb({ site, sizes }) {
      await site.redis?.kill('SIGSTOP')
      await sleep(sizes.outageSeconds * 1000)
      await site.redis?.kill('SIGCONT')
    },
  }),
  'store-killed': createUndisturbed({
    title: 'The store is killed and restarted',
    stores: ['redis'],
    async disturb({ site, sizes }) {
      await site.redis?.kill('SIGKILL')
      await sleep(sizes.outageSeconds * 1000)
      await site.redis?.restart()
    },
  }),
  'store-stopped-idle': {
    title: 'The store hangs during a refresh, and the user comes back after the grace',
    stores: ['redis'],
    async run({ newContext, site, sizes }) {
      const tabs = await openTabs(await newContext(), site, { count: 1 })
      await sleep(sizes.accessSeconds * 1000)
      await site.redis?.kill('SIGSTOP')
      // Its refresh is given up, but Redis has it, and carries it out as soon as it can.
      await tabs.pages[0]?.evaluate('evidence.send()')
      await site.redis?.kill('SIGCONT')
      await sleep((sizes.graceSeconds + 1) * 1000)
      return readResult(site, [tabs])
    },
  },
  'application-killed': createUndisturbed({
    title: 'The application is killed while it answers a refresh',
    stores: ['redis', 'sqlite'],
    async disturb({ site, sizes }) {
      for (let kill = 0; kill < sizes.rounds; kill++) {
        // The first refresh after a start, or the second.
        site.change({ diesAtRefresh: 1 + (kill % 2) })
        await site.application.restart()
        while (isRunning(site.application.pid)) await sleep(50)
      }
      site.change({ diesAtRefresh: null })
      await sleep((sizes.outageSeconds * 1000) / 2)
      await site.application.restart()
      return [`killed ${sizes.rounds} times`]
    },
  }),
  'keys-rotated': createUndisturbed({
    title: 'The signing key is replaced',
    stores: ['redis'],
    async disturb({ site }) {
      site.change({ previousKey: site.settings.key, key: createKey() })
      await site.application.restart()
    },
  }),
  'tabs-asleep': createUndisturbed({
    title: 'The browser freezes all tabs but one',
    stores: ['redis'],
    async disturb({ sizes }, [tabs]) {
      const sleeping = tabs?.pages.slice(1) ?? []
      const frozen = await Promise.all(sleeping.map((page) => page.setFrozen(true)))
      if (!frozen.every(Boolean)) return ['this browser freezes no tabs; they were in the background']
      await sleep((Math.max(sizes.accessSeconds, sizes.graceSeconds) + 2) * 1000)
      await Promise.all(sleeping.map((page) => page.setFrozen(false)))
      return
    },
  }),
  'clock-wrong': createUndisturbed({
    title: 'The clock of the page jumps',
    stores: ['redis'],
    async disturb({ sizes }, [tabs]) {
      const jump = (at: number): string => jumpClock((at % 2 === 0 ? 24 : -24) * HOUR_MS)
      await Promise.all(tabs?.pages.map((page, at) => page.evaluate(jump(at))) ?? [])
      await sleep(sizes.accessSeconds * 2000)
      return ['half of the tabs a day ahead, the others a day behind']
    },
  }),
  'stolen-cookies': stolenCookies,
  'other-origins': otherOrigins,
}

// Refreshes are few, and what matters is their loss.
const LOST = { withTokens: 0.3, other: 0.05 }

async function loseResponses({ site, sizes }: Stage): Promise<readonly string[]> {
  const { relay } = site
  relay.decide(({ hasTokens }: RelayedResponse) =>
    Math.random() < (hasTokens ? LOST.withTokens : LOST.other) ? 'cut' : 'arrives',
  )
  await sleep(sizes.seconds * 1000)
  while (relay.lost.withTokens === 0) await sleep(100)
  return [`${relay.lost.responses} responses lost, ${relay.lost.withTokens} of them with new tokens`]
}

// In how many sessions there was a refresh.
function countRefreshed(log: readonly LogLine[]): number {
  return new Set(log.flatMap((line) => ('outcome' in line ? [line.sub] : []))).size
}

// Date() and new Date() too: a client may use any of them.
function jumpClock(milliseconds: number): string {
  return `(() => {
    const RealDate = Date
    const shift = ${milliseconds}
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
