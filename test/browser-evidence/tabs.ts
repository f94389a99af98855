import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserContext, BrowserPage } from '../helpers/servers/browser.js'
import type { SessionCounts } from './figures.js'
import type { TabCounts } from './page.js'
import type { Site } from './open-site.js'

/** Tabs of one browser context, which share a session. */
export interface Tabs {
  readonly context: BrowserContext
  readonly pages: readonly BrowserPage[]
  /** The user that they are logged in as. */
  readonly user: string
  /** Every tab sends requests from now on, one at a time, with this pause between them. */
  start(intervalMs: number): Promise<void>
  /** Resolves when the last request of every tab is answered. */
  stop(): Promise<void>
  readCounts(): Promise<readonly TabCounts[]>
  /** How many tabs are logged in, by an answer of the application to each. */
  countLoggedIn(): Promise<number>
}

/** How tabs are opened. */
export interface TabsOptions {
  readonly count: number
  /** The first tab logs in with this name. */
  readonly user?: string
}

/** Opens tabs with the page of the application, which uses the client. */
export async function openTabs(
  context: BrowserContext,
  { origin }: Pick<Site, 'origin'>,
  { count, user = 'ada' }: TabsOptions,
): Promise<Tabs> {
  const pages: BrowserPage[] = []
  const open = async (): Promise<BrowserPage> => {
    const page = await context.newPage()
    await page.goto(`${origin}/`)
    await page.evaluate(READY)
    pages.push(page)
    return page
  }
  const first = await open()
  await first.evaluate(`evidence.logIn(${JSON.stringify(user)})`)
  while (pages.length < count) await open()

  const all = <Value>(expression: string): Promise<Value[]> =>
    Promise.all(pages.map((page) => page.evaluate<Value>(expression)))
  return {
    context,
    pages,
    user,
    start: async (intervalMs) => void (await all(`evidence.start(${intervalMs})`)),
    stop: async () => void (await all('evidence.stop()')),
    readCounts: () => all<TabCounts>('evidence.counts'),
    countLoggedIn: async () => (await all<boolean>(IS_LOGGED_IN)).filter(Boolean).length,
  }
}

/** Opens tabs that load a page of the server again and again; nothing but an implicit refresh renews their tokens. */
export async function openVisits(
  context: BrowserContext,
  site: Pick<Site, 'origin'>,
  options: TabsOptions,
): Promise<Tabs> {
  const tabs = await openTabs(context, site, options)
  const counts = tabs.pages.map(() => ({ requests: 0, refused: 0, unavailable: 0 }))
  const running = new Set<Promise<void>>()
  const over = new AbortController()

  const visit = async (index: number): Promise<boolean> => {
    const [page, count] = [tabs.pages[index], counts[index]]
    if (page === undefined || count === undefined) return false
    count.requests++
    try {
      await page.goto(`${site.origin}/account`)
      const isLoggedIn = (await page.evaluate<string>('document.title')) === 'logged in'
      if (!isLoggedIn) count.refused++
      return isLoggedIn
    } catch {
      // The response was lost, and the browser shows an error of its own.
      count.unavailable++
      return false
    }
  }
  return {
    ...tabs,
    async start(intervalMs) {
      const run = async (index: number): Promise<void> => {
        while (!over.signal.aborted) {
          await visit(index)
          await sleep(intervalMs * (0.8 + 0.4 * Math.random()))
        }
      }
      for (const index of counts.keys()) running.add(run(index))
    },
    async stop() {
      over.abort()
      await Promise.all(running)
    },
    readCounts: async () =>
      counts.map((count) => ({ ...count, loggedOut: 0, offline: 0, refreshed: 0, reasons: {} })),
    countLoggedIn: async () =>
      (await Promise.all(counts.map((_, index) => visit(index)))).filter(Boolean).length,
  }
}

/** What the tabs of a session have seen. */
export async function readSession(tabs: Tabs): Promise<SessionCounts> {
  const loggedIn = await tabs.countLoggedIn()
  return { loggedIn, tabs: await tabs.readCounts() }
}

// The module of the page may still be loading its imports when the page has loaded.
const READY = `(async () => {
  while (globalThis.evidence === undefined) await new Promise((resolve) => setTimeout(resolve, 10))
})()`

// A request that only a logged-in user gets an answer to, and not from this tab's memory.
const IS_LOGGED_IN = `evidence.client.fetch('/api/me').then(({ ok }) => ok, () => false)`
