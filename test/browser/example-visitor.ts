import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import type { ExampleSite } from './example-site.js'

/** The page of the example application in a browser that remembers nothing, with a clock that tests can move. */
export async function openPage(
  browser: Browser,
  site: ExampleSite,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await browser.newContext(options)
  onTestFinished(() => context.close())
  const page = await context.newPage()
  await page.clock.install()
  await page.goto(site.page)
  await page.getByRole('button', { name: 'Log in' }).waitFor()
  return page
}

/** Logs in on the page. */
export async function logIn(page: Page, { user = 'ada', name = '' } = {}): Promise<void> {
  await page.getByRole('radio', { name: new RegExp(`^${user}`) }).check()
  await page.getByLabel('Password').fill('correct horse')
  await page.getByLabel('Name').fill(name)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('this device').waitFor()
}

/** Moves the clock of a page on, in steps of some seconds, until something is shown. */
export async function advance(page: Page, seconds: number, shown: Locator): Promise<void> {
  await expect
    .poll(
      async () => {
        await page.clock.fastForward(seconds * 1000)
        return shown.first().isVisible()
      },
      { timeout: 20_000, interval: 20 },
    )
    .toBe(true)
}
