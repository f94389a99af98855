import { parseArgs } from 'node:util'
import type { BrowserName } from '../helpers/servers/browser.js'
import { ensureServer } from '../helpers/servers/missing-server.js'
import { startBrowser } from '../helpers/servers/start-browser.js'
import { type Rule, RULES } from '../rotation-compared/rules.js'
import type { ScenarioResult } from './figures.js'
import { buildParts, type StoreName } from './open-site.js'
import { OUR_RULE } from './other-rules.js'
import { FULL, SCENARIOS, SHORT } from './scenarios/index.js'
import { runScenario, type Scenario } from './scenarios/scenario.js'

/** A scenario that was run. */
export interface BrowserRun extends ScenarioResult {
  readonly scenario: string
  readonly title: string
  readonly browser: BrowserName
  readonly store: StoreName
  /** The rule that the store `memory` follows; `null` for another store. */
  readonly rule: Pick<Rule, 'name' | 'title'> | null
  /** Whether it must hold what this library promises. */
  readonly isOurs: boolean
}

/** All of a run of the command. */
export interface BrowserRecord {
  readonly date: string
  readonly versions: Readonly<Record<string, string>>
  readonly runs: readonly BrowserRun[]
}

/** What the command was asked for. */
export interface BrowserOptions {
  readonly browsers: readonly BrowserName[]
  readonly scenarios: readonly string[]
  readonly isQuick: boolean
  /** Compares our rule of rotation with others, instead of the stores. */
  readonly hasRules: boolean
}

/** What is compared for all rules of rotation. */
const COMPARED = ['lost-responses', 'aborted-navigation', 'asleep', 'stolen-cookies']

const BROWSERS: readonly BrowserName[] = ['chromium', 'firefox']

/** The options of the command line, or a text that says what is wrong with them. */
export function parseBrowserOptions(
  args: string[],
): (BrowserOptions & { readonly isJson: boolean }) | string {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string' },
      scenario: { type: 'string', multiple: true },
      rules: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  })
  const browsers = BROWSERS.filter((name) => values.only === undefined || name === values.only)
  const { scenario: scenarios = values.rules ? COMPARED : Object.keys(SCENARIOS) } = values
  if (browsers.length === 0) return `--only takes ${BROWSERS.join(' or ')}`
  const unknown = scenarios.find((name) => !Object.hasOwn(SCENARIOS, name))
  if (unknown !== undefined) return `--scenario takes ${Object.keys(SCENARIOS).join(', ')}`
  return { browsers, scenarios, isQuick: values.quick, isJson: values.json, hasRules: values.rules }
}

/** Runs scenarios in browsers, one after the other; `report` is called after each. */
export async function runBrowsers(
  { browsers, scenarios, isQuick, hasRules }: BrowserOptions,
  report: (run: BrowserRun) => void,
): Promise<BrowserRecord> {
  for (const kind of [...browsers, 'redis'] as const) {
    const missing = await ensureServer(kind, (line) => console.error(line))
    if (missing !== null) throw new Error(missing.reason)
  }
  const sizes = isQuick ? SHORT : FULL
  const parts = await buildParts()
  const versions: Record<string, string> = {}
  const runs: BrowserRun[] = []
  try {
    for (const name of browsers) {
      const browser = await startBrowser(name)
      versions[name] = browser.version
      try {
        for (const { key, store, rule } of plan(scenarios, hasRules)) {
          const scenario = SCENARIOS[key] as Scenario
          const result = await runScenario(scenario, {
            browser,
            parts,
            store,
            sizes,
            rule: rule?.name ?? null,
          })
          const isOurs = rule === null || rule.name === OUR_RULE
          const { title } = scenario
          const run: BrowserRun = { scenario: key, title, browser: name, store, rule, isOurs, ...result }
          runs.push(run)
          report(run)
        }
      } finally {
        await browser.stop()
      }
    }
  } finally {
    parts.remove()
  }
  return { date: new Date().toISOString().slice(0, 10), versions, runs }
}

interface Planned {
  readonly key: string
  readonly store: StoreName
  readonly rule: BrowserRun['rule']
}

function plan(scenarios: readonly string[], hasRules: boolean): readonly Planned[] {
  if (hasRules) {
    return RULES.flatMap(({ name, title }) =>
      scenarios.map((key): Planned => ({ key, store: 'memory', rule: { name, title } })),
    )
  }
  return scenarios.flatMap(
    (key) => SCENARIOS[key]?.stores.map((store): Planned => ({ key, store, rule: null })) ?? [],
  )
}
