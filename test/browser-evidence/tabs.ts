import type { BrowserContext, BrowserPage } from '../helpers/servers/browser.js'
import type { TabCounts } from './page.js'
import type { Site } from './open-site.js'

/** Tabs of one browser context, each with the page of the application. */
export interface Tabs {
  readonly pages: readonly BrowserPage[]
  /** Every tab sends requests from now on, one at a time, with this pause between them. */
  start(intervalMs: number): Promise<void>
  /** Resolves when the last request of every tab is answered. */
  stop(): Promise<void>
  readCounts(): Promise<readonly TabCounts[]>
  /** How many tabs are logged in, by an answer of the application to each. */
  countLoggedIn(): Promise<number>
}

/** Opens tabs; the first one logs in, if a name is given. */
export async function openTabs(
  context: BrowserContext,
  site: Site,
  { count, name = 'ada' }: { readonly count: number; readonly name?: string | null },
): Promise<Tabs> {
  const pages: BrowserPage[] = []
  const open = async (): Promise<BrowserPage> => {
    const page = await context.newPage()
    await page.goto(`${site.origin}/`)
    await page.evaluate(READY)
    pages.push(page)
    return page
  }
  const first = await open()
  if (name !== null) await first.evaluate(`evidence.logIn(${JSON.stringify(name)})`)
  while (pages.length < count) await open()

  const all = <Value>(expression: string): Promise<Value[]> =>
    Promise.all(pages.map((page) => page.evaluate<Value>(expression)))
  return {
    pages,
    start: async (intervalMs) => void (await all(`evidence.start(${intervalMs})`)),
    stop: async () => void (await all('evidence.stop()')),
    readCounts: () => all<TabCounts>('evidence.counts'),
    countLoggedIn: async () => (await all<boolean>(IS_LOGGED_IN)).filter(Boolean).length,
  }
}

// The module of the page may still be loading its imports when the page has loaded.
const READY = `(async () => {
  while (globalThis.evidence === undefined) await new Promise((resolve) => setTimeout(resolve, 10))
})()`

// A request that only a logged-in user gets an answer to, and not from this tab's memory.
const IS_LOGGED_IN = `evidence.client.fetch('/api/me').then(({ ok }) => ok, () => false)`
