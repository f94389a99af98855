import { request } from 'node:http'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { describeWithChromium } from '../helpers/servers/describe-with-servers.js'
import { type ExampleSite, openExample } from './example-site.js'
import { advance, logIn, openPage } from './example-visitor.js'
import { expectExampleServed } from './expect-example-served.js'

test.each(['hono', 'express'] as const)(
  '%s serves the page, its session routes and the console',
  (framework) => expectExampleServed(framework),
)

// example-page-more.long.test.ts has more, and the other frameworks.
describeWithChromium('the page of the example application', (browser) => {
  let site: ExampleSite
  beforeAll(async () => {
    // As from the command line: the page takes the lifetimes of the environment.
    vi.stubEnv('JWT_ACCESS_TOKEN_EXPIRES', '60')
    site = await openExample()
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    await site.close()
  })

  const open = (options: BrowserContextOptions = {}) => openPage(browser(), site, options)

  test('shows claims, the time left and this device after a login, and refuses a wrong password', async () => {
    const page = await open()
    await page.getByLabel('Password').fill('wrong')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('Wrong password.').waitFor()
    await logIn(page, { name: 'Countess' })
    expect(await page.locator('#claims').innerText()).toMatch(/sub\s+ada\s+name\s+Countess\s+role\s+user/)
    expect(await page.locator('#access-time').innerText()).toMatch(/^(60|59|58) s left$|^1 min 00 s left$/)
    expect(await page.locator('#session-time').innerText()).toMatch(/^59 min|^60 min/)
    expect(await page.getByText('this device').count()).toBe(1)
    await page.getByRole('button', { name: 'Send a request' }).click()
    await page.getByText('Hello, ada').waitFor()
    await page.getByRole('button', { name: 'Log out', exact: true }).click()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
    expect(await page.context().cookies()).toEqual([])
  })

  test('renews an access token that has expired, and a second tab sees it too', async () => {
    const page = await open()
    await logIn(page)
    const tab = await openTab(page, site)
    expect(await tab.locator('#who').innerText()).toBe('ada')
    await advance(page, 61, page.locator('#log').getByText('refreshed'))
    await tab.locator('#log').getByText('refreshed').first().waitFor()
    expect(await page.locator('#claims').innerText()).toMatch(/fresh\s+false/)

    await page.getByRole('button', { name: 'Log out', exact: true }).click()
    await tab.getByText('You are logged out').waitFor()
  })

  test('the store is not stopped by a page whose name was made to point to this machine', async () => {
    const change = (host: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = { host, 'x-example-page': '1' }
        request(`${site.url}/app/api/store/start`, { method: 'POST', headers }, (response) => {
          response.resume()
          resolve(response.statusCode)
        })
          .on('error', reject)
          .end()
      })
    const { host, port } = new URL(site.url)
    expect(await change(host)).toBe(200)
    expect(await change(`localhost:${port}`)).toBe(200)
    expect(await change(`evil.test:${port}`)).toBe(403)
  })
})

async function openTab(page: Page, { page: address }: ExampleSite): Promise<Page> {
  const tab = await page.context().newPage()
  await tab.goto(address)
  await tab.getByText('this device').waitFor()
  return tab
}
