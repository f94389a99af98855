import { expect, test } from 'vitest'
import { describeWithChromium } from '../helpers/servers/describe-with-servers.js'
import { openConsoleSite, openPage } from './open-console.js'

describeWithChromium('the console in a real browser', (browser) => {
  test('markup that a script would make is refused by the browser', async () => {
    const site = await openConsoleSite()
    const { page } = await openPage(browser(), site.app)
    await page.goto(`${site.app}/open/`)
    await expect(page.evaluate(`document.body.innerHTML = '<b>x</b>'`)).rejects.toThrow('TrustedHTML')
    const inline = `document.head.append(Object.assign(document.createElement('style'), { textContent: 'body { opacity: 0 }' }))`
    await page.evaluate(inline)
    expect(await page.evaluate(`getComputedStyle(document.body).opacity`)).toBe('1')
  })

  test('everything can be done with the keyboard alone, and the focus can be seen', async () => {
    const site = await openConsoleSite()
    await site.tokens.sessions.open({ uid: 'ada' })
    const { page, problems } = await openPage(browser(), site.app)
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    const focused = () => page.evaluate(`document.activeElement.id || document.activeElement.textContent`)
    const outline = () => page.evaluate(`getComputedStyle(document.activeElement).outlineStyle`)
    await page.goto(`${site.app}/open/`)
    await page.getByText('You are anybody').waitFor()

    await press('Tab')
    expect([await focused(), await outline()]).toEqual(['Skip to the content', 'solid'])
    await press('Tab')
    expect([await focused(), await outline()]).toEqual(['user', 'solid'])
    await page.keyboard.type('ada')
    await press('Enter')
    await page.getByText('1 session of ada').waitFor()
    await press('Tab', 'Tab')
    expect([await focused(), await outline()]).toEqual(['revoke-user', 'solid'])
    await press('Enter')
    expect(await focused()).toBe('reason')
    await press('Escape')
    expect([await page.getByRole('dialog').count(), await focused()]).toEqual([0, 'revoke-user'])

    await press('Tab', 'Space')
    expect(await focused()).toBe('reason')
    await page.keyboard.type('Ticket 1')
    // From the text over Cancel to Revoke; what is not asked for a session is skipped.
    await press('Tab', 'Tab')
    expect([await focused(), await outline()]).toEqual(['confirm-button', 'solid'])
    await press('Enter')
    await page.getByText('ada has no live session').waitFor()
    // The button went with its row, so the focus is where the result is.
    expect(await focused()).toBe('found-text')

    await page.getByLabel('What').focus()
    await page.keyboard.type('Everything')
    await press('Tab')
    expect(await focused()).toBe('Revoke…')
    await press('Enter')
    await page.keyboard.type('Ticket 2')
    await press('Tab')
    await page.keyboard.type('everythin')
    await press('Enter')
    await page.getByText('Type everything to confirm.').waitFor()
    expect(site.revoked).toHaveLength(1)
    await page.keyboard.type('g')
    await press('Enter')
    await page.getByText('Everything is revoked.').waitFor()
    expect(site.revoked.map(({ kind, note }) => [kind, note])).toEqual([
      ['session', 'Ticket 1'],
      ['all', 'Ticket 2'],
    ])
    expect(problems).toEqual([])
  })

  test('no page can frame it, not even one of the application', async () => {
    const site = await openConsoleSite()
    const { page } = await openPage(browser(), site.app)
    const frames = [site.evilPage(`<iframe src="${site.app}/open/"></iframe>`), `${site.app}/frame`]
    for (const address of frames) {
      await page.goto(address)
      await expect.poll(() => page.frames()[1]?.url()).toBe('chrome-error://chromewebdata/')
    }
  })

  test('a page of another site changes nothing and reads nothing', async () => {
    const site = await openConsoleSite()
    const target = `${site.app}/open/api/revoke`
    const body = JSON.stringify({ kind: 'all', id: '', reason: 'x', confirmation: 'everything' })
    const init = (type: string, more = '') =>
      `{ method: 'POST', credentials: 'include', body: '${body}', headers: { 'content-type': '${type}'${more} } }`
    const { page } = await openPage(browser(), site.app)
    const answers: number[] = []
    page.on('response', (response) => {
      if (response.url().startsWith(`${site.app}/open/api`)) answers.push(response.status())
    })
    await page.goto(site.evilPage('An attack'))
    const attempts = [
      `fetch('${target}', { ...${init('text/plain')}, mode: 'no-cors' })`,
      `fetch('${target}', ${init('application/json', `, 'x-tokenlib-console': '1'`)})`,
      `fetch('${site.app}/open/api/health', { credentials: 'include' }).then((answer) => answer.text())`,
    ]
    const outcomes: unknown[] = []
    for (const attempt of attempts) {
      outcomes.push(await page.evaluate(`${attempt}.then((answer) => answer.type ?? answer, () => 'failed')`))
    }
    expect(outcomes).toEqual(['failed', 'failed', 'failed'])
    const form = `<form method="post" enctype="text/plain" action="${target}"><input name='{"kind":"all","id":"","reason":"' value='","confirmation":"everything"}'></form>`
    await page.goto(site.evilPage(form))
    const answered = page.waitForResponse(target)
    await page.evaluate(`document.forms[0].submit()`)
    expect((await answered).status()).toBe(401)
    expect(answers.every((status) => status === 401 || status === 404)).toBe(true)
    expect(site.revoked).toEqual([])
  })

  test('a host without HTTPS, where browsers send no Sec-Fetch-Site, is known by its origin', async () => {
    const site = await openConsoleSite()
    const { page, problems } = await openPage(browser(), site.plain)
    await page.goto(`${site.plain}/open/`)
    await page.getByLabel('What').selectOption('key')
    await page.getByLabel('Id', { exact: true }).fill(site.tokens.keys.current ?? '')
    await page.getByText('You are anybody').waitFor()
    await page.locator('#revoke button').click()
    await page.getByText('This key signs new tokens at this moment').waitFor()
    await page.getByLabel('Reason').fill('Ticket 3')
    await page.getByLabel('to confirm').fill(site.tokens.keys.current ?? '')
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByText('is revoked.').waitFor()
    expect(site.revoked).toMatchObject([{ kind: 'key', actor: 'anybody', note: 'Ticket 3' }])
    // Only pages with HTTPS can have their own group of windows; Chromium says so.
    expect(problems.filter((problem) => !problem.includes('Cross-Origin-Opener-Policy'))).toEqual([])
  })

  test('an operator who was revoked is told so, and sees nothing more', async () => {
    const site = await openConsoleSite()
    const { page } = await openPage(browser(), site.app)
    await page.goto(`${site.app}/login`)
    await page.goto(`${site.app}/console/`)
    await page.getByText('You are grace').waitFor()
    await site.tokens.revoke.user('ada', { note: 'seen' })
    await page.getByText('Reason: seen').waitFor()
    await site.tokens.revoke.user('grace', { note: 'unseen' })
    await page.getByText('Not connected. Token is revoked').waitFor()
    await site.tokens.revoke.user('bob', { note: 'unseen' })
    expect(await page.getByText('unseen').count()).toBe(0)
    await page.reload()
    await page.getByRole('heading', { name: 'Not allowed' }).waitFor()
  })
})
