import { expect, test } from 'vitest'
import { describeWithChromium } from '../helpers/servers/describe-with-servers.js'
import { openConsoleSite, openPage } from './open-console.js'

// What runs if it ever becomes markup, in an element, an attribute, a script or a template.
const INJECTION = `"'><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}\${alert(3)}</td></dialog>`

// console.long.test.ts has more.
describeWithChromium('the console in a real browser', (browser) => {
  test('an operator lists sessions, revokes one with a reason and sees it live', async () => {
    const site = await openConsoleSite()
    await site.tokens.createTokenPair({ uid: 'ada' }, { ip: '192.0.2.1', userAgent: 'Firefox/140' })
    await site.tokens.createTokenPair({ uid: 'ada' }, { ip: '192.0.2.2', userAgent: 'Chrome/141' })
    const { page, problems } = await openPage(browser(), site.app)
    await page.goto(`${site.app}/login`)
    await page.goto(`${site.app}/console`)
    expect(page.url()).toBe(`${site.app}/console/`)
    await page.getByText('You are grace').waitFor()
    await page.getByLabel('User id').fill('ada')
    await page.getByRole('button', { name: 'Show sessions' }).click()
    await page.getByText('2 sessions of ada').waitFor()
    await page.getByRole('row', { name: 'Firefox/140' }).getByRole('button').click()
    await page.getByLabel('Reason').fill('Ticket 4711')
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByText('1 session of ada').waitFor()
    await page.getByRole('log').getByText('Reason: Ticket 4711').waitFor()
    expect(await page.getByRole('row', { name: 'Firefox/140' }).count()).toBe(0)
    expect(site.revoked).toMatchObject([{ kind: 'session', sub: 'ada', actor: 'grace', note: 'Ticket 4711' }])
    expect(problems).toEqual([])
  })

  test('text of users, clients and errors stays text', async () => {
    const site = await openConsoleSite()
    await site.tokens.createTokenPair(
      { uid: INJECTION },
      { ip: INJECTION.slice(0, 60), userAgent: INJECTION },
    )
    const { page, problems } = await openPage(browser(), site.app)
    await page.goto(`${site.app}/open/`)
    await page.getByLabel('User id').fill(INJECTION)
    await page.getByRole('button', { name: 'Show sessions' }).click()
    await page.getByText('1 session of').waitFor()
    expect(await page.getByRole('cell', { name: INJECTION }).count()).toBe(1)
    await page.getByRole('button', { name: 'Revoke user…' }).click()
    await page.getByLabel('Reason').fill(INJECTION)
    await page.getByLabel('to confirm').fill(INJECTION)
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByText('is revoked.', { exact: false }).first().waitFor()
    await page.getByRole('log').getByText(`Reason: ${INJECTION}`).waitFor()
    // What the server says about a failure is no markup either.
    await page.route('**/api/health', (route) => route.fulfill({ status: 500, json: { message: INJECTION } }))
    expect(await page.locator('main img, dialog img, main script').count()).toBe(0)
    await page.reload()
    await page.getByRole('alert').getByText(INJECTION).waitFor()
    expect(await page.locator('main img, dialog img, main script').count()).toBe(0)
    // The browser itself reports the status that this test made up, and nothing else.
    expect(problems.filter((problem) => !problem.includes('status of 500'))).toEqual([])
    expect(site.revoked).toMatchObject([{ kind: 'user', id: INJECTION, note: INJECTION }])
  })
})
