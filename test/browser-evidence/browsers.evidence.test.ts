import { afterAll, beforeAll, test, type TestContext } from 'vitest'
import { describeWithBrowsers, describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import { buildParts, type SiteParts } from './open-site.js'
import { SCENARIOS, SHORT } from './scenarios/index.js'
import { runScenario } from './scenarios/scenario.js'

// Shorter than `node tools/browsers`, and on one store each; the counts are the same.
describeWithOwnServer('redis', 'with Redis', () => {
  describeWithBrowsers('a browser', (browser) => {
    let parts: SiteParts
    beforeAll(async () => void (parts = await buildParts()), 60_000)
    afterAll(() => parts.remove())

    const run = async (name: string, { expect }: TestContext): Promise<void> => {
      const scenario = SCENARIOS[name]
      if (scenario === undefined) throw new Error(`There is no scenario ${name}`)
      const [store = 'redis'] = scenario.stores
      const result = await runScenario(scenario, { browser: browser(), parts, store, sizes: SHORT })
      expect(result.problems).toEqual([])
      expect(result.figures.falseLogouts).toBe(0)
      expect(result.figures.requests).toBeGreaterThan(0)
    }
    // Each has a context, an application and a store of its own, and mostly waits.
    test.concurrent.for(Object.keys(SCENARIOS).filter((name) => name !== 'asleep'))('%s', run)
    // Stops the whole browser.
    test('asleep', (context) => run('asleep', context))
  })
})
