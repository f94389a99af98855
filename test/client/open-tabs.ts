import type { Browser, BrowserContext, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { openServer } from './open-server.js'

/** A server, and a way to open its page in tabs that share their cookies. */
export async function openTabs(
  browser: Browser,
  config: Parameters<typeof openServer>[0] = { JWT_TOKEN_LOCATION: 'cookies' },
) {
  const server = await openServer(config)
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  return { ...server, context, openTab: (options?: string) => openTab(context, server.origin, options) }
}

/** The code of a page that logs a user in. */
export const logIn = (name: string): string =>
  `return (await client.logIn({ name: '${name}', password: 'secret' })).sub`
/** The code of a page that sends a request, and returns its status. */
export const addNote = `return (await client.fetch('/notes', { method: 'POST', body: 'milk' })).status`

interface Tab {
  readonly page: Page
  run<Value>(body: string): Promise<Value>
  load(): Promise<void>
  /** The events so far, once there are this many. */
  heard(count: number): Promise<readonly string[]>
}

/** A tab with a client, as the page of an application has it. */
async function openTab(context: BrowserContext, origin: string, options = '{}'): Promise<Tab> {
  const page = await context.newPage()
  const run = <Value>(body: string): Promise<Value> =>
    page.evaluate(`(async () => { const { client } = window; ${body} })()`)
  const load = async (): Promise<void> => {
    await page.goto(`${origin}/page`)
    await page.evaluate(`import('/client.js').then(({ createTokenClient }) => {
      window.client = createTokenClient(${options})
      window.events = []
      for (const name of ['loggedIn', 'refreshed', 'loggedOut', 'offline'])
        client.on(name, (value) => events.push(name + ' ' + (value?.sub ?? '')))
    })`)
  }
  await load()
  const heard = async (count: number): Promise<readonly string[]> => {
    await page.waitForFunction(`events.length >= ${count}`)
    return page.evaluate<string[]>('events')
  }
  return { page, run, load, heard }
}
