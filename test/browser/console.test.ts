import { expect, test } from 'vitest'
import { describeWithChromium } from '../helpers/servers/describe-with-servers.js'
import { openConsoleSite, openPage } from './open-console.js'

// What runs if it ever becomes markup, in an element, an attribute, a script or a template.
const INJECTION = `"'><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}\${alert(3)}</td></dialog>`

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'

// console.long.test.ts has more.
describeWithChromium('the console in a real browser', (browser) => {
  test('an operator lists sessions, revokes one with a reason and sees it live', async () => {
    const site = await openConsoleSite()
    await site.tokens.sessions.open({ uid: 'ada' }, { ip: '192.0.2.1', userAgent: FIREFOX })
    const data = { label: "Ada's phone", tenant: 'north' }
    await site.tokens.sessions.open({ uid: 'ada' }, { ip: '192.0.2.2', userAgent: 'Chrome/141', data })
    const { page, problems } = await openPage(browser(), site.app)
    await page.goto(`${site.app}/login`)
    await page.goto(`${site.app}/console`)
    expect(page.url()).toBe(`${site.app}/console/`)
    await page.getByText('You are grace').waitFor()
    await page.getByLabel('User id').fill('ada')
    await page.getByRole('button', { name: 'Show sessions' }).click()
    await page.getByText('2 sessions of ada').waitFor()
    const phone = page.getByRole('row', { name: "Ada's phone" })
    expect(await phone.innerText()).toContain('{"tenant":"north"}')
    expect(await phone.innerText()).not.toContain('Chrome')
    await phone.getByRole('button', { name: "Ada's phone" }).click()
    expect(await phone.innerText()).toContain('Chrome/141')
    await page.getByRole('row', { name: 'Firefox on Linux' }).getByRole('button', { name: 'Revoke' }).click()
    await page.getByLabel('Reason').fill('Ticket 4711')
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByText('1 session of ada').waitFor()
    await page.getByRole('log').getByText('Reason: Ticket 4711').waitFor()
    expect(await page.getByRole('row', { name: 'Firefox on Linux' }).count()).toBe(0)
    expect(site.revoked).toMatchObject([{ kind: 'session', sub: 'ada', actor: 'grace', note: 'Ticket 4711' }])
    expect(problems).toEqual([])
  })

  test('text of users, clients and errors stays text', async () => {
    const site = await openConsoleSite()
    const data = { label: `A ${INJECTION}`, [INJECTION]: INJECTION }
    await site.tokens.sessions.open(
      { uid: INJECTION },
      { ip: INJECTION.slice(0, 60), userAgent: INJECTION, data },
    )
    const { page, problems } = await openPage(browser(), site.app)
    await page.goto(`${site.app}/open/`)
    await page.getByLabel('User id').fill(INJECTION)
    await page.getByRole('button', { name: 'Show sessions' }).click()
    await page.getByText('1 session of').waitFor()
    const device = page.locator('[data-label=Device]')
    await device.getByRole('button').click()
    for (const text of [INJECTION, data.label, JSON.stringify({ [INJECTION]: INJECTION })]) {
      expect(await device.innerText()).toContain(text)
    }
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

  test('an id cannot pass for a part of the sentence around it', async () => {
    const site = await openConsoleSite()
    const { page, problems } = await openPage(browser(), site.app)
    await page.goto(`${site.app}/open/`)
    await page.getByText('You are anybody').waitFor()
    // Words of our own, an unfinished reversal of text, an invisible character, a line end, and many spaces.
    const ids = [
      'eve revoked by grace',
      'ada\u202Eecarg yb dekover',
      'a\u200Bda',
      'ada\nKey 1 revoked',
      'ada      by grace',
    ]
    for (const id of ids) await site.tokens.revoke.user(id, { actor: 'bob' })
    const log = page.getByRole('log')
    await log
      .getByRole('listitem')
      .nth(ids.length - 1)
      .waitFor()
    // `rest` is what is not in an element of its own: our words.
    const lines = (await page.evaluate(`[...document.querySelectorAll('#live li')].reverse().map((item) => ({
      values: [...item.querySelectorAll('bdi')].map((value) => value.textContent),
      rest: [...item.childNodes].filter(({ nodeName }) => nodeName !== 'BDI').map((node) => node.textContent),
      isIsolated: [...item.querySelectorAll('bdi')].every((value) => {
        const { unicodeBidi, borderTopStyle } = getComputedStyle(value)
        const quote = getComputedStyle(value, '::before').content
        return unicodeBidi === 'isolate' && borderTopStyle === 'solid' && quote.includes('“')
      }),
    }))`)) as { values: string[]; rest: string[]; isIsolated: boolean }[]
    const shown = [
      ids[0],
      String.raw`ada\u{202e}ecarg yb dekover`,
      String.raw`a\u{200b}da`,
      String.raw`ada\u{a}Key 1 revoked`,
      ids[4],
    ]
    expect(lines.map(({ values }) => values)).toEqual(shown.map((id) => [id, 'bob']))
    for (const { rest, isIsolated } of lines) {
      expect([rest.slice(1), isIsolated]).toEqual([['User ', ' revoked', ' by ', ''], true])
    }
    // The same in the other sentences of the page.
    await page.getByLabel('User id').fill('eve revoked by grace')
    await page.getByRole('button', { name: 'Show sessions' }).click()
    await page.getByText('has no live session').waitFor()
    expect(await page.locator('#found-text bdi').textContent()).toBe('eve revoked by grace')
    expect(problems).toEqual([])
  })

  test('close ends the stream of an open page, and the page says so', async () => {
    const site = await openConsoleSite()
    const { page } = await openPage(browser(), site.app)
    await page.goto(`${site.app}/open/`)
    await page.getByText('Only what this process').waitFor()
    site.closeOpen()
    const notice = page.getByText('Not connected. This process of the application is shutting down')
    await notice.waitFor()
    expect(await notice.isVisible()).toBe(true)
  })
})
