import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserContext, RunningBrowser } from '../../helpers/servers/browser.js'
import { findProblems, type Figures, type ScenarioResult, toFigures } from '../figures.js'
import type { Site, SiteParts, StoreName } from '../open-site.js'
import { openSite } from '../open-site.js'
import { openTabs, type Tabs } from '../tabs.js'

/** How long a scenario takes; the evidence tests are shorter than the command. */
export interface Sizes {
  readonly tabs: number
  /** The lifetime of access tokens. */
  readonly accessSeconds: number
  readonly graceSeconds: number
  /** How long tabs send requests where nothing else happens. */
  readonly seconds: number
  /** How long something is stopped. */
  readonly outageSeconds: number
  readonly intervalMs: number
}

/** What a scenario works with. */
export interface Stage {
  readonly browser: RunningBrowser
  readonly context: BrowserContext
  readonly site: Site
  readonly sizes: Sizes
}

/** Something that happens to an application and its pages. */
export interface Scenario {
  readonly title: string
  readonly stores: readonly StoreName[]
  /** The lifetimes that it needs, if not those that were asked for. */
  change?(sizes: Sizes): Pick<Sizes, 'accessSeconds' | 'graceSeconds'>
  run(stage: Stage): Promise<ScenarioResult>
}

/** Runs a scenario in a browser, on a store and an application of its own. */
export async function runScenario(
  scenario: Scenario,
  {
    browser,
    parts,
    store,
    sizes,
  }: {
    readonly browser: RunningBrowser
    readonly parts: SiteParts
    readonly store: StoreName
    readonly sizes: Sizes
  },
): Promise<ScenarioResult> {
  const site = await openSite(parts, store, scenario.change?.(sizes) ?? sizes)
  const context = await browser.newContext()
  try {
    return await scenario.run({ browser, context, site, sizes })
  } finally {
    await context.close()
    await site.close()
  }
}

/** A scenario during which the tabs send requests, and after which all of them must be logged in. */
export function createUndisturbed(
  title: string,
  stores: readonly StoreName[],
  disturb: (stage: Stage, tabs: Tabs) => Promise<readonly string[] | void>,
  check: (figures: Figures) => readonly string[] = () => [],
): Scenario {
  return {
    title,
    stores,
    async run(stage) {
      const { context, site, sizes } = stage
      const tabs = await openTabs(context, site, { count: sizes.tabs })
      await tabs.start(sizes.intervalMs)
      const notes = (await disturb(stage, tabs)) ?? []
      // The next expiry after the disturbance belongs to it.
      await sleep((sizes.accessSeconds + 1) * 1000)
      await tabs.stop()
      const loggedIn = await tabs.countLoggedIn()
      const figures = toFigures(await tabs.readCounts(), loggedIn, site.readLog())
      return { figures, problems: [...findProblems(figures), ...check(figures)], notes }
    },
  }
}
