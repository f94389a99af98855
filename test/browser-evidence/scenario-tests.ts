import { afterAll, beforeAll, test } from 'vitest'
import type { BrowserName } from '../helpers/servers/browser.js'
import { describeWithBrowser, describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import { startBrowser } from '../helpers/servers/start-browser.js'
import { buildParts, type SiteParts } from './open-site.js'
import { SCENARIOS, SHORT } from './scenarios/index.js'
import { runScenario } from './scenarios/scenario.js'

/** Tests scenarios in a browser: shorter than `node tools/browsers`, and on one store each; the counts are the same. */
export function testScenarios(kind: BrowserName, names: readonly string[]): void {
  describeWithOwnServer('redis', 'with Redis', () => {
    describeWithBrowser(kind, kind, (shared) => {
      let parts: SiteParts
      beforeAll(async () => void (parts = await buildParts()), 60_000)
      afterAll(() => parts.remove())

      // Each has a context, an application and a store of its own, and mostly waits.
      test.concurrent.for(names)('%s', async (name, { expect }) => {
        const scenario = SCENARIOS[name]
        if (scenario === undefined) throw new Error(`There is no scenario ${name}`)
        const [store = 'redis'] = scenario.stores
        // One that stops the whole browser needs another.
        const own = name === 'asleep' ? await startBrowser(kind) : null
        try {
          const browser = own ?? shared()
          const result = await runScenario(scenario, { browser, parts, store, sizes: SHORT })
          expect(result.problems).toEqual([])
          expect(result.figures.falseLogouts).toBe(0)
          expect(result.figures.requests).toBeGreaterThan(0)
        } finally {
          await own?.stop()
        }
      })
    })
  })
}
