import { beforeAll, expect, test } from 'vitest'
import { describeWithChromium } from '../helpers/servers/describe-with-servers.js'
import { advance } from './example-visitor.js'
import { logIn, type NestApplication, startNestApplication, visit } from './open-nest-browser.js'

describeWithChromium('the NestJS application in a browser', (browser) => {
  let application: NestApplication
  beforeAll(async () => {
    application = await startNestApplication()
    return () => application.stop()
  }, 60_000)

  test('ends another device, whose socket is closed with it', async () => {
    const first = await visit(browser(), application.url)
    const second = await visit(browser(), application.url)
    await logIn(first.page)
    await first.page.locator('#devices li').first().waitFor()
    await logIn(second.page)
    // The socket has told the first page.
    await first.page.locator('#devices li').nth(1).waitFor()
    await first.page.getByRole('button', { name: 'End', exact: true }).click()
    await second.page.getByText('Socket closed: 4401').waitFor()
    await second.page.getByRole('button', { name: 'Log in' }).waitFor()
    await expect.poll(() => first.page.locator('#devices li').count()).toBe(1)
    await first.page.getByRole('button', { name: 'Log out everywhere' }).click()
    await first.page.getByRole('button', { name: 'Log in' }).waitFor()
  })

  test('shows no login while it is not known who is logged in, and finds out', async () => {
    const { page } = await visit(browser(), application.url)
    await logIn(page, 'grace', 'battery staple')
    await page.getByText('"user": "grace"').waitFor()
    await page.clock.install()
    await page.route('**/auth/session', (route) => route.fulfill({ status: 502, body: 'Bad Gateway' }))
    await page.reload()
    await advance(page, 1, page.getByText('The server is not available'))
    expect(await page.getByRole('button', { name: 'Log in' }).isVisible()).toBe(false)
    await page.unroute('**/auth/session')
    await advance(page, 2, page.getByText('"user": "grace"'))
    expect(await page.getByRole('status').innerText()).toBe('')
  })

  test('asks for the password again before what cannot be undone', async () => {
    const { page } = await visit(browser(), application.url)
    await logIn(page)
    await page.getByRole('button', { name: 'Delete all notes' }).click()
    await page.getByLabel('Password again').fill('wrong')
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByText('CREDENTIALS_INVALID').waitFor()
    await page.getByLabel('Password again').fill('correct horse')
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByText('The notes of ada are deleted').waitFor()
    expect(await page.getByLabel('Password again').isVisible()).toBe(false)
  })

  test('a logout reaches the other tabs, and every device if it is to', async () => {
    const { page, context } = await visit(browser(), application.url)
    await logIn(page)
    const tab = await context.newPage()
    await tab.goto(application.url)
    const { page: elsewhere } = await visit(browser(), application.url)
    await logIn(elsewhere)
    await tab.getByRole('button', { name: 'Log out', exact: true }).click()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
    await logIn(page)
    await page.getByRole('button', { name: 'Log out everywhere' }).click()
    for (const one of [page, tab, elsewhere]) await one.getByRole('button', { name: 'Log in' }).waitFor()
    expect(application.audit).toContainEqual(expect.objectContaining({ event: 'revoked', sub: 'ada' }))
  })
})
