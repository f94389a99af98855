import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { findFreePort } from '../helpers/servers/free-port.js'

const MAIN = fileURLToPath(new URL('../../build/examples/nest-browser/main.js', import.meta.url))

/** The built NestJS application, in a process of its own. */
export interface NestApplication {
  readonly url: string
  /** The lines of its audit log so far. */
  readonly audit: readonly { event: string; sub: string | null; code?: string }[]
  stop(): Promise<void>
}

/** Starts the application; `npm run build:examples` builds it. */
export async function startNestApplication(): Promise<NestApplication> {
  const url = `http://localhost:${await findFreePort()}`
  const child = spawn(process.execPath, [MAIN], {
    env: { ...process.env, APP_URL: url },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const audit: { event: string; sub: string | null; code?: string }[] = []
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    const lines = output.split('\n')
    output = lines.pop() ?? ''
    audit.push(...lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as never))
  })
  // If it ends instead, the code is what is found in place of the address.
  const [started] = (await Promise.race([once(child.stdout, 'data'), exited])) as [unknown]
  expect(String(started)).toContain(url)
  return {
    url,
    audit,
    async stop() {
      child.kill()
      await exited
    },
  }
}

/** The page, in a browser of its own; an error in it fails the test. */
export async function visit(browser: Browser, url: string): Promise<{ page: Page; context: BrowserContext }> {
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  onTestFinished(() => expect(problems).toEqual([]))
  await page.goto(url)
  return { page, context }
}

/** Fills in the form and sends it. */
export async function logIn(page: Page, name = 'ada', password = 'correct horse'): Promise<void> {
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
}
