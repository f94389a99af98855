import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import type { BrowserPage } from '../helpers/servers/browser.js'
import { describeWithBrowser } from '../helpers/servers/describe-with-servers.js'
import { type ExampleSite, openExample } from './example-site.js'

// The other tests of this page run in Chromium and control its clock. This one runs in real time, with access tokens that
// live for two seconds.
describeWithBrowser('firefox', 'the page of the example application', (browser) => {
  let site: ExampleSite
  beforeAll(async () => {
    vi.stubEnv('JWT_ACCESS_TOKEN_EXPIRES', '2')
    site = await openExample()
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    await site.close()
  })

  async function open(): Promise<BrowserPage> {
    const context = await browser().newContext()
    onTestFinished(() => context.close())
    const page = await context.newPage()
    await page.goto(site.page)
    await expectShown(page, 'login', 'Log in')
    await click(page, '#login-form button')
    await expectShown(page, 'device-list', 'this device')
    return page
  }

  test('login, a renewed token, another device that is ended, and a store that is stopped', async () => {
    const page = await open()
    await expectShown(page, 'claims', 'Ada Lovelace')
    await expectShown(page, 'log', 'refreshed')

    const device = await open()
    await expectShown(page, 'device-list', 'End')
    await click(page, '#device-list button')
    await expectShown(device, 'notice', 'You are logged out')

    await click(page, '#store-switch')
    await expectShown(page, 'notice', 'The store does not answer. You are still logged in')
    await expectShown(page, 'log', 'offline')
    await click(page, '#store-switch')
    await expectShown(page, 'notice', 'you are still logged in')
    expect(await readText(page, 'log')).not.toContain('loggedOut')
  }, 60_000)
})

function click(page: BrowserPage, selector: string): Promise<unknown> {
  return page.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`)
}

/** The text of an element as it is shown; empty if it is hidden. */
function readText(page: BrowserPage, id: string): Promise<string> {
  return page.evaluate(`document.getElementById('${id}').innerText`)
}

async function expectShown(page: BrowserPage, id: string, text: string): Promise<void> {
  await expect.poll(() => readText(page, id), { timeout: 30_000, interval: 50 }).toContain(text)
}
