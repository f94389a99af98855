import type { Browser, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { ExampleSite } from './example-site.js'
import { advance, logIn, openPage } from './example-visitor.js'
import { selfSubmitting } from './visitor.js'

const MARKUP = '<img src=x onerror="window.wasRun = true"><script>window.wasRun = true</script>'

/** What others try on the page: scripts in values, frames around it, requests from elsewhere. */
export function describeExampleAttacks(browser: () => Browser, site: () => ExampleSite): void {
  const open = (options = {}) => openPage(browser(), site(), options)

  /** That a text is shown as it is, and that no part of it became markup or ran. */
  async function expectText(page: Page, text: string): Promise<void> {
    await page.getByText(text).first().waitFor()
    expect(await page.evaluate(`[document.images.length, document.scripts.length, window.wasRun]`)).toEqual([
      0,
      1,
      undefined,
    ])
  }

  test('markup in a claim and in a user agent is shown as text', async () => {
    const attacker = await open({ userAgent: MARKUP })
    await logIn(attacker, { name: MARKUP })
    await expectText(attacker, MARKUP)
    const page = await open()
    await logIn(page)
    await advance(page, 2, page.getByText(MARKUP))
    await expectText(page, MARKUP)
  })

  test('markup in an error of the server is shown as text', async () => {
    const page = await open()
    await page.route('**/auth/login', (route) =>
      route.fulfill({ status: 401, json: { message: MARKUP, code: MARKUP } }),
    )
    await page.getByRole('button', { name: 'Log in' }).click()
    await expectText(page, MARKUP)
  })

  test('a script that was put into the page does not run', async () => {
    const page = await open()
    const refused = page.waitForEvent('console', (message) => /Content Security Policy/.test(message.text()))
    await page.evaluate(`document.body.append(Object.assign(document.createElement('img'), { src: 'x:' }))`)
    await refused
    const inserted = await page.evaluate(
      `try { document.body.innerHTML = '<img src=x onerror="window.wasRun = true">'; 'inserted' } catch ({ name }) { name }`,
    )
    expect(inserted).toBe('TypeError')
    expect(await page.evaluate('window.wasRun')).toBe(undefined)
  })

  test.each(['/app', '/console/'])('%s is not shown in a frame of another page', async (path) => {
    const page = await open()
    await logIn(page, { user: 'grace' })
    for (const host of ['other site', 'other port'] as const) {
      const response = page.waitForResponse(site().url + path)
      await page.goto(site().pageOf(host, `<iframe src="${site().url}${path}"></iframe>`))
      expect(await (await response).headerValue('content-security-policy')).toContain(
        "frame-ancestors 'none'",
      )
      await expect.poll(() => page.frames().at(-1)?.url()).toBe('chrome-error://chromewebdata/')
    }
  })

  // Another port of the same host is of the same site: its pages send the cookies along, whatever SameSite says.
  test.each(['other site', 'other port'] as const)(
    'a page of the %s cannot use the session routes',
    async (host) => {
      const page = await open()
      await logIn(page)
      const before = await readSession(page)
      expect(before).toMatchObject({ sub: 'ada' })

      const routes = ['login', 'refresh', 'logout', 'logout-everywhere', 'step-up', 'sessions']
      // Cookies are sent with forms in frames as well as without, where they are sent at all.
      const forms = routes.map((route, at) => {
        const form = `<form method="post" action="${site().url}/auth/${route}" target="frame-${at}"></form>`
        return `<iframe name="frame-${at}"></iframe>${form}`
      })
      const attacker = await page.context().newPage()
      await attacker.goto(site().pageOf(host, forms.join('')))
      const answers = routes.map((route) => attacker.waitForResponse(`${site().url}/auth/${route}`))
      await attacker.evaluate('for (const form of document.forms) form.submit()')
      for (const answer of await Promise.all(answers)) {
        expect.soft([401, 405, 415], answer.url()).toContain(answer.status())
      }
      for (const [method, path] of [
        ...routes.map((route) => ['POST', `/auth/${route}`]),
        ['DELETE', '/auth/sessions'],
        ['DELETE', `/auth/sessions/${String(before.id)}`],
        ['GET', '/auth/session'],
        ['GET', '/auth/sessions'],
        ['POST', '/app/api/store/stop'],
        ['POST', '/console/api/revoke'],
      ]) {
        expect.soft(await sendFrom(attacker, site().url + path, method, 'cors'), path).toBe('TypeError')
        if (method === 'POST') await sendFrom(attacker, site().url + path, method, 'no-cors')
      }
      expect(await readSession(page)).toMatchObject({ sub: 'ada', id: before.id })
      await page.reload()
      await page.getByText('this device').waitFor()
      expect(await page.locator('#store-state').innerText()).toBe('running')
    },
  )

  // RFC 6749 §10.12 for forms of one's own: the victim would go on as the attacker's user.
  test.each(['other site', 'other port'] as const)(
    'a page of the %s cannot log its visitor in',
    async (host) => {
      const page = await open()
      const address = `${site().url}/auth/login`
      const credentials = { user: 'grace', password: 'correct horse' }
      const form = selfSubmitting(address, credentials)
      // A form can send JSON, but not its media type.
      const [start, end] = JSON.stringify({ ...credentials, x: '=' }).split('=')
      const json = `<form method="post" enctype="text/plain" action="${address}"><input name='${start}' value='${end}'></form>
      <script>addEventListener('load', () => document.forms[0].submit())</script>`
      for (const html of [form, json]) {
        expect([401, 415]).toContain(await submitFrom(page, site().pageOf(host, html), address))
      }
      await page.goto(site().pageOf(host, ''))
      expect(await sendFrom(page, address, 'POST', 'cors', JSON.stringify(credentials))).toBe('TypeError')
      expect(await page.context().cookies()).toEqual([])
    },
  )
}

/** Opens a page that submits a form by itself, in a tab of the same browser; the status of what the form gets. */
async function submitFrom(page: Page, url: string, address: string): Promise<number> {
  const tab = await page.context().newPage()
  // Not until it has loaded: by then the form has taken the tab elsewhere.
  const [answer] = await Promise.all([tab.waitForResponse(address), tab.goto(url, { waitUntil: 'commit' })])
  return answer.status()
}

async function readSession(page: Page): Promise<Record<string, unknown>> {
  const answer = await page.evaluate(`fetch('/auth/session').then((response) => response.json())`)
  return (answer as { session: Record<string, unknown> }).session
}

/** What a script of the open page learns of a request: the status of an answer it may read, or the name of the error. */
function sendFrom(page: Page, url: string, method = 'GET', mode = 'cors', body = '{}'): Promise<unknown> {
  const hasBody = method !== 'GET'
  const init = {
    method,
    mode,
    credentials: 'include',
    ...(hasBody && { body }),
    ...(hasBody &&
      mode === 'cors' && { headers: { 'content-type': 'application/json', 'X-CSRF-TOKEN': 'x' } }),
  }
  return page.evaluate(
    `fetch(${JSON.stringify(url)}, ${JSON.stringify(init)}).then(({ status }) => status, ({ name }) => name)`,
  )
}
