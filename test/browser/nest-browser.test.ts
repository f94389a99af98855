import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { describeWithChromium } from '../helpers/servers/describe-with-servers.js'
import { findFreePort } from '../helpers/servers/free-port.js'
import { advance } from './example-visitor.js'

const SOURCE = new URL('../../examples/nest-browser/', import.meta.url)
const MAIN = fileURLToPath(new URL('../../build/examples/nest-browser/main.js', import.meta.url))

test('the application has at most 150 lines without its user table, none of them long', () => {
  const files = readdirSync(SOURCE, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name !== 'users.ts',
  )
  const lines = files
    .flatMap(({ parentPath, name }) => readFileSync(`${parentPath}/${name}`, 'utf8').split('\n'))
    .filter((line) => line.trim() !== '')
  expect(lines.length).toBeLessThanOrEqual(150)
  expect(lines.filter((line) => line.length > 110)).toEqual([])
})

describeWithChromium('the NestJS application in a browser', (browser) => {
  let child: ChildProcess
  let url: string
  const audit: { event: string; sub: string | null; code?: string }[] = []

  beforeAll(async () => {
    const port = await findFreePort()
    url = `http://localhost:${port}`
    child = spawn(process.execPath, [MAIN], {
      env: { ...process.env, APP_URL: url },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text
      const lines = output.split('\n')
      output = lines.pop() ?? ''
      audit.push(...lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as never))
    })
    const [started] = (await once(child.stdout as NonNullable<typeof child.stdout>, 'data')) as [string]
    expect(started).toContain(url)
  })
  afterAll(async () => {
    child.kill()
    await once(child, 'exit')
  })

  test('shows the claims of whoever logs in, and why somebody cannot', async () => {
    const { page } = await visit(browser(), url)
    await logIn(page, 'grace', 'wrong')
    await page.getByText('CREDENTIALS_INVALID').waitFor()
    await logIn(page, 'grace', 'battery staple')
    await page.getByText('"role": "reader"').waitFor()
    await page.reload()
    await page.getByText('"user": "grace"').waitFor()
    expect(audit).toContainEqual(expect.objectContaining({ event: 'loggedIn', sub: 'grace' }))
  })

  test('shows no log-in while it is not known who is logged in, and finds out', async () => {
    const { page } = await visit(browser(), url)
    await logIn(page, 'grace', 'battery staple')
    await page.getByText('"user": "grace"').waitFor()
    await page.clock.install()
    await page.route('**/auth/session', (route) => route.fulfill({ status: 502, body: 'Bad Gateway' }))
    await page.reload()
    await advance(page, 1, page.getByText('Not known if you are logged in'))
    expect(await page.getByRole('button', { name: 'Log in' }).isVisible()).toBe(false)
    await page.unroute('**/auth/session')
    await advance(page, 2, page.getByText('"user": "grace"'))
    expect(await page.getByRole('status').innerText()).toBe('')
  })

  test('no page can frame it', async () => {
    const response = await fetch(url)
    await response.arrayBuffer()
    expect(response.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  })

  test('ends another device, whose socket is closed with it', async () => {
    const first = await visit(browser(), url)
    const second = await visit(browser(), url)
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

  test('asks for the password again before what cannot be undone', async () => {
    const { page } = await visit(browser(), url)
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

  test('a log-out reaches the other tabs, and every device if it is to', async () => {
    const { page, context } = await visit(browser(), url)
    await logIn(page)
    const tab = await context.newPage()
    await tab.goto(url)
    const { page: elsewhere } = await visit(browser(), url)
    await logIn(elsewhere)
    await tab.getByRole('button', { name: 'Log out', exact: true }).click()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
    await logIn(page)
    await page.getByRole('button', { name: 'Log out everywhere' }).click()
    for (const one of [page, tab, elsewhere]) await one.getByRole('button', { name: 'Log in' }).waitFor()
    expect(audit).toContainEqual(expect.objectContaining({ event: 'revoked', sub: 'ada' }))
  })
})

async function visit(browser: Browser, url: string): Promise<{ page: Page; context: BrowserContext }> {
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  onTestFinished(() => expect(problems).toEqual([]))
  await page.goto(url)
  return { page, context }
}

async function logIn(page: Page, name = 'ada', password = 'correct horse'): Promise<void> {
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
}
