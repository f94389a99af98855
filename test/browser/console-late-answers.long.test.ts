import { expect, test } from 'vitest'
import { describeWithChromium } from '../helpers/servers/describe-with-servers.js'
import { openConsoleSite, openPage } from './open-console.js'

describeWithChromium('what a console does with answers that come late, and without any', (browser) => {
  test('the sessions of a user who is not asked for any more are not shown', async () => {
    const site = await openConsoleSite()
    await site.tokens.sessions.open({ uid: 'slow' }, { userAgent: 'Slow/1' })
    await site.tokens.sessions.open({ uid: 'ada' }, { userAgent: 'Ada/1' })
    const { page, problems } = await openPage(browser(), site.app)
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    await page.route('**/api/sessions?user=slow', async (route) => {
      await released
      await route.continue()
    })
    await page.goto(`${site.app}/open/`)
    const answered = page.waitForResponse('**/api/sessions?user=slow')
    await page.getByLabel('User id').fill('slow')
    await page.keyboard.press('Enter')
    await page.getByLabel('User id').fill('ada')
    await page.keyboard.press('Enter')
    await page.getByText('1 session of ada').waitFor()
    release()
    await (await answered).finished()
    // Whatever the page does with the answer is done before the next one.
    await page.evaluate(`fetch('api/health').then((answer) => answer.text())`)
    expect(await page.locator('#found-text').innerText()).toBe('1 session of ada')
    expect(await page.locator('#sessions tbody').innerText()).toContain('Ada')
    expect(problems).toEqual([])
  })

  test('until an answer comes, the heading, the rows and the button are those of the same user', async () => {
    const site = await openConsoleSite()
    await site.tokens.sessions.open({ uid: 'ada' }, { userAgent: 'Ada/1' })
    const { page } = await openPage(browser(), site.app)
    await page.route('**/api/sessions?user=slow', () => undefined)
    await page.goto(`${site.app}/open/`)
    await page.getByLabel('User id').fill('ada')
    await page.keyboard.press('Enter')
    await page.getByText('1 session of ada').waitFor()
    const asked = page.waitForRequest('**/api/sessions?user=slow')
    await page.getByLabel('User id').fill('slow')
    await page.keyboard.press('Enter')
    await asked
    await page.getByRole('button', { name: 'Revoke user…' }).click()
    expect(await page.locator('#expected').innerText()).toBe('ada')
  })

  test('the answer to a dialog that was closed leaves the next one alone, and is told', async () => {
    const site = await openConsoleSite()
    const { page, problems } = await openPage(browser(), site.app)
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    await page.route('**/api/revoke', async (route) => {
      await released
      await route.continue()
    })
    await page.goto(`${site.app}/open/`)
    await page.getByLabel('Id', { exact: true }).fill('first')
    await page.keyboard.press('Enter')
    await page.getByLabel('Reason').fill('Ticket 1')
    await page.getByLabel('to confirm').fill('first')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Escape')
    await page.getByLabel('Id', { exact: true }).fill('second')
    await page.keyboard.press('Enter')
    await page.getByLabel('Reason').fill('Ticket 2')
    release()
    await page.getByText('The user first is revoked.').waitFor()
    expect(await page.getByRole('dialog').count()).toBe(1)
    expect(await page.locator('#expected').innerText()).toBe('second')
    expect(await page.getByLabel('Reason').inputValue()).toBe('Ticket 2')
    expect(site.revoked.map(({ id }) => id)).toEqual(['first'])
    expect(problems).toEqual([])
  })

  test('a page that is hidden holds no connection, and shows what it has missed', async () => {
    const site = await openConsoleSite()
    const { page, problems } = await openPage(browser(), site.app)
    await page.goto(`${site.app}/open/`)
    await page.getByText('Only what this process').waitFor()
    await site.tokens.revoke.user('ada', { note: 'before' })
    await page.getByText('Reason: before').waitFor()

    // Browsers under automation keep every tab visible.
    const ended = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/api/live'))
    await page.evaluate(setHidden(true))
    await ended
    await site.tokens.revoke.user('bob', { note: 'meanwhile' })
    await page.evaluate(setHidden(false))
    await page.getByText('Reason: meanwhile').waitFor()
    // What the new stream repeats is not shown again.
    expect(await page.getByText('Reason: before').count()).toBe(1)
    expect(problems).toEqual([])
  })

  test('an access token that has expired is a reason to reload, not to log in', async () => {
    const site = await openConsoleSite()
    const { page } = await openPage(browser(), site.app)
    await page.route('**/api/health', (route) =>
      route.fulfill({ status: 401, json: { code: 'TOKEN_EXPIRED', message: 'Token is expired' } }),
    )
    await page.goto(`${site.app}/open/`)
    expect(await page.getByRole('alert').innerText()).toBe('Your access has expired: reload the page.')
  })

  test.each([320, 1100])('at %d pixels nothing sticks out of its section', async (width) => {
    const site = await openConsoleSite()
    await site.tokens.sessions.open(
      { uid: 'ada' },
      { ip: '2001:db8::ffff:192.0.2.1', userAgent: 'W'.repeat(200) },
    )
    const { page } = await openPage(browser(), site.app)
    await page.setViewportSize({ width, height: 700 })
    await page.goto(`${site.app}/open/`)
    await page.getByLabel('User id').fill('ada')
    await page.keyboard.press('Enter')
    await page.getByText('1 session of ada').waitFor()
    await page.locator('.plain').click()
    const outside = await page.evaluate(
      `Array.from(document.querySelectorAll('td, td *, .bar *')).filter((element) => {
        const { right } = element.closest('section, dialog').getBoundingClientRect()
        return element.getBoundingClientRect().right > right || element.scrollWidth > element.clientWidth && element.clientWidth > 0
      }).map((element) => element.outerHTML)`,
    )
    expect(outside).toEqual([])
  })
})

function setHidden(isHidden: boolean): string {
  return `Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} })
    document.dispatchEvent(new Event('visibilitychange'))`
}
