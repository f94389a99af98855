import type { BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { FRAMEWORKS } from '../../examples/options.js'
import { describeWithChromium } from '../helpers/servers/describe-with-servers.js'
import { describeExampleAttacks } from './describe-example-attacks.js'
import { type ExampleSite, openExample } from './example-site.js'
import { advance, logIn, openPage } from './example-visitor.js'
import { expectExampleServed } from './expect-example-served.js'

// Hono and Express are those of example-page.test.ts.
const OTHERS = FRAMEWORKS.filter((name) => name !== 'hono' && name !== 'express')

test.each(OTHERS)('%s serves the page, its session routes and the console', (framework) =>
  expectExampleServed(framework),
)

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

  test('ends another device, which is then logged out', async () => {
    const page = await open()
    await logIn(page)
    await page.getByRole('button', { name: 'End all others' }).isHidden()
    const device = await open({ userAgent: 'Analytical Engine' })
    await logIn(device)
    await advance(page, 2, page.getByRole('button', { name: 'End the session in Analytical Engine' }))
    await page.getByRole('button', { name: 'End the session in Analytical Engine' }).click()
    await page.getByText('Analytical Engine').waitFor({ state: 'detached' })
    await advance(device, 2, device.getByText('You are logged out'))
    expect(await page.locator('#state').innerText()).toBe('logged in')
  })

  test('stays logged in while the store is stopped, and goes on when it is started', async () => {
    const page = await open()
    await logIn(page)
    await page.getByRole('button', { name: 'Stop the store' }).click()
    await advance(page, 1, page.getByText('The store does not answer. You are still logged in'))
    expect(await page.locator('#log').innerText()).toContain('GET 503')
    // Also with an access token that has to be renewed now.
    await advance(page, 30, page.locator('#log').getByText('offline'))
    expect(await page.locator('#who').innerText()).toBe('ada')
    await page.getByRole('button', { name: 'Start the store' }).click()
    await advance(page, 1, page.getByText('Requests are answered again, and you are still logged in.'))
    expect(await page.locator('#log').innerText()).not.toContain('loggedOut')
  })

  test('after a reload without a store it is not known who is logged in, and nobody is logged out', async () => {
    const page = await open()
    await logIn(page)
    await page.getByRole('button', { name: 'Stop the store' }).click()
    await page.getByRole('button', { name: 'Start the store' }).waitFor()
    await page.reload()
    await advance(
      page,
      1,
      page.getByText('It is not known whether you are logged in: The store does not answer.'),
    )
    expect(await page.getByRole('button', { name: 'Log in' }).isVisible()).toBe(false)
    await page.getByRole('button', { name: 'Start the store' }).click()
    await advance(page, 1, page.getByText('this device'))
    expect(await page.locator('#notice').innerText()).toBe('')
  })

  test('a network that is gone is not a store that is stopped', async () => {
    const page = await open()
    await logIn(page)
    await page.context().setOffline(true)
    await advance(page, 2, page.getByText('The application cannot be reached. You are still logged in'))
    expect(await page.locator('#log').innerText()).toContain('GET failed')
    await page.context().setOffline(false)
    await advance(page, 2, page.getByText('Requests are answered again, and you are still logged in.'))
    expect(await page.locator('#log').innerText()).not.toMatch(/undefined|\b1 failed requests/)
  })

  test('can be used although the facts about the application are not answered', async () => {
    const page = await open()
    await page.route('**/app/api/facts', (route) => route.fulfill({ status: 502, body: '' }))
    await page.reload()
    await logIn(page)
    expect(await page.getByText('this device').isVisible()).toBe(true)
  })

  test('offers the console to an operator, and to nobody else', async () => {
    const page = await open()
    await logIn(page)
    expect(await page.getByRole('link', { name: 'Open the console' }).isHidden()).toBe(true)
    expect((await page.request.get(`${site.url}/console/`)).status()).toBe(403)
    await page.getByRole('button', { name: 'Log out', exact: true }).click()
    await logIn(page, { user: 'grace' })
    await page.getByRole('link', { name: 'Open the console' }).click()
    await page.getByRole('heading', { name: 'Sessions of a user' }).waitFor()
    await page.getByLabel('User id').fill('grace')
    await page.getByRole('button', { name: 'Show sessions' }).click()
    await page.getByText('sessions of grace').or(page.getByText('session of grace')).first().waitFor()
  })

  test('works with the keyboard alone, and every control has a name', async () => {
    const page = await open()
    await page.getByLabel('Password').focus()
    await page.keyboard.press('Enter')
    await page.getByText('this device').waitFor()
    expect(await page.evaluate('document.activeElement.id')).toBe('session-title')
    const names = await page.evaluate(
      `Array.from(document.querySelectorAll('button, a, input, progress'), (element) =>
        element.ariaLabel ?? (element.labels?.length ? element.labels[0].textContent : null) ??
        (element.textContent.trim() || element.getAttribute('aria-labelledby') || ''))`,
    )
    expect(names).not.toContain('')
  })

  describe('attacks on the page', () => describeExampleAttacks(browser, () => site))
})
