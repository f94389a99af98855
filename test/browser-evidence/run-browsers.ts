import { parseArgs } from 'node:util'
import type { BrowserName } from '../helpers/servers/browser.js'
import { ensureServer } from '../helpers/servers/missing-server.js'
import { startBrowser } from '../helpers/servers/start-browser.js'
import type { ScenarioResult } from './figures.js'
import { buildParts, type StoreName } from './open-site.js'
import { FULL, SCENARIOS, SHORT } from './scenarios/index.js'
import { runScenario } from './scenarios/scenario.js'

/** A scenario that was run. */
export interface BrowserRun extends ScenarioResult {
  readonly scenario: string
  readonly title: string
  readonly browser: BrowserName
  readonly store: StoreName
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
}

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
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  })
  const browsers = BROWSERS.filter((name) => values.only === undefined || name === values.only)
  const scenarios = values.scenario ?? Object.keys(SCENARIOS)
  if (browsers.length === 0) return `--only takes ${BROWSERS.join(' or ')}`
  const unknown = scenarios.find((name) => !Object.hasOwn(SCENARIOS, name))
  if (unknown !== undefined) return `--scenario takes ${Object.keys(SCENARIOS).join(', ')}`
  return { browsers, scenarios, isQuick: values.quick, isJson: values.json }
}

/** Runs scenarios in browsers, one after the other; `report` is called after each. */
export async function runBrowsers(
  { browsers, scenarios, isQuick }: BrowserOptions,
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
        for (const key of scenarios) {
          const scenario = SCENARIOS[key]
          for (const store of scenario?.stores ?? []) {
            if (scenario === undefined) continue
            const result = await runScenario(scenario, { browser, parts, store, sizes })
            const run = { scenario: key, title: scenario.title, browser: name, store, ...result }
            runs.push(run)
            report(run)
          }
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
