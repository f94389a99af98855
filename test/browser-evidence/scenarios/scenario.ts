import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserContext, RunningBrowser } from '../../helpers/servers/browser.js'
import { describeAlarms, findProblems, type Figures, type ScenarioResult, toFigures } from '../figures.js'
import { openSite, type Site, type SiteParts, type StoreName } from '../open-site.js'
import { ARRIVES } from '../relay.js'
import { openTabs, readSession, type Tabs } from '../tabs.js'

/** How long a scenario takes; the tests are shorter than the command. */
export interface Sizes {
  readonly tabs: number
  /** How many sessions share these tabs, where one does not matter to another. */
  readonly sessions: number
  /** How often something happens to each of them. */
  readonly rounds: number
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
  readonly site: Site
  readonly sizes: Sizes
  /** Closed when the scenario is over. */
  newContext(): Promise<BrowserContext>
}

/** Something that happens to an application and its pages. */
export interface Scenario {
  readonly title: string
  readonly stores: readonly StoreName[]
  run(stage: Stage): Promise<ScenarioResult>
}

/** Where a scenario is run. */
export interface ScenarioPlace {
  readonly browser: RunningBrowser
  readonly parts: SiteParts
  readonly store: StoreName
  readonly sizes: Sizes
  /** The rule of the store `memory`. */
  readonly rule?: string | null
}

/** Runs a scenario in a browser, on a store and an application of its own. */
export async function runScenario(
  scenario: Scenario,
  { browser, parts, store, sizes, rule = null }: ScenarioPlace,
): Promise<ScenarioResult> {
  const site = await openSite(parts, store, { ...sizes, rule })
  const contexts: BrowserContext[] = []
  const newContext = async (): Promise<BrowserContext> => {
    const context = await browser.newContext()
    contexts.push(context)
    return context
  }
  try {
    return await scenario.run({ browser, site, sizes, newContext })
  } finally {
    for (const context of contexts) await context.close()
    await site.close()
  }
}

/** Opens the tabs of several sessions; each has a cookie jar and a user of its own. */
export function openSessions(
  { site, newContext }: Stage,
  { count, tabs, open = openTabs }: { readonly count: number; readonly tabs: number; open?: typeof openTabs },
): Promise<readonly Tabs[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, at) =>
      open(await newContext(), site, { count: tabs, user: `user${at}` }),
    ),
  )
}

/** A scenario during which the tabs send requests, and after which all of them must be logged in. */
export interface Undisturbed {
  readonly title: string
  readonly stores: readonly StoreName[]
  /** Whether the tabs are those of several sessions. */
  readonly hasSessions?: boolean
  readonly open?: typeof openTabs
  /** Returns notes. */
  disturb(stage: Stage, sessions: readonly Tabs[]): Promise<readonly string[] | void>
  check?(figures: Figures): readonly string[]
}

/** Creates a scenario that must not be noticed by anybody who is logged in. */
export function createUndisturbed({
  title,
  stores,
  hasSessions = false,
  open = openTabs,
  disturb,
  check = () => [],
}: Undisturbed): Scenario {
  return {
    title,
    stores,
    async run(stage) {
      const { site, sizes } = stage
      const count = hasSessions ? sizes.sessions : 1
      const sessions = await openSessions(stage, { count, tabs: Math.ceil(sizes.tabs / count), open })
      await Promise.all(sessions.map((tabs) => tabs.start(sizes.intervalMs)))
      const notes = (await disturb(stage, sessions)) ?? []
      site.relay.decide(ARRIVES)
      // The next expiry after the disturbance belongs to it.
      await sleep((sizes.accessSeconds + 1) * 1000)
      await Promise.all(sessions.map((tabs) => tabs.stop()))
      const { figures, problems, notes: alarms } = await readResult(site, sessions)
      return { figures, problems: [...problems, ...check(figures)], notes: [...notes, ...alarms] }
    },
  }
}

/** What all tabs have seen, and which promises were broken. */
export async function readResult(
  site: Site,
  sessions: readonly Tabs[],
): Promise<Required<Omit<ScenarioResult, 'thefts'>>> {
  const counts = await Promise.all(sessions.map(readSession))
  const log = site.readLog()
  const figures = toFigures(counts, log)
  return { figures, problems: findProblems(figures, site.relay.lost.withTokens), notes: describeAlarms(log) }
}
