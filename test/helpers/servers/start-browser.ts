import type { BrowserContext as PlaywrightContext, Page } from 'playwright-core'
import type { BrowserContext, BrowserName, BrowserPage, RunningBrowser } from './browser.js'
import { descendantsOf, sendSignal } from './process-tree.js'
import { startChromium } from './start-chromium.js'
import { startFirefox } from './start-firefox.js'

/** Starts a headless browser of the caller's own, with an empty profile. */
export async function startBrowser(name: BrowserName): Promise<RunningBrowser> {
  return name === 'firefox' ? startFirefox() : startPlainChromium()
}

async function startPlainChromium(): Promise<RunningBrowser> {
  const { browser, pid, folder, stop } = await startChromium()
  const signal = (signal: 'SIGSTOP' | 'SIGCONT'): void => {
    for (const one of [pid, ...descendantsOf(pid)]) sendSignal(one, signal)
  }
  return {
    name: 'chromium',
    version: browser.version(),
    pid,
    folder,
    newContext: async () => createContext(await browser.newContext()),
    signal,
    async stop() {
      signal('SIGCONT')
      await stop()
    },
  }
}

function createContext(context: PlaywrightContext): BrowserContext {
  return {
    newPage: async () => createPage(context, await context.newPage()),
    cookies: () => context.cookies(),
    close: () => context.close(),
  }
}

function createPage(context: PlaywrightContext, page: Page): BrowserPage {
  return {
    goto: async (url) => void (await page.goto(url)),
    evaluate: <Value>(expression: string) =>
      page.evaluate<Value>(`(async () => (await (${expression})) ?? null)()`),
    async setFrozen(isFrozen) {
      const session = await context.newCDPSession(page)
      await session.send('Page.setWebLifecycleState', { state: isFrozen ? 'frozen' : 'active' })
      await session.detach()
      return true
    },
    close: () => page.close(),
  }
}
