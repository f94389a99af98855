import type { Browser, BrowserContext, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import type { Answer, Route } from './application.js'
import type { Sites } from './open-sites.js'

/** Someone who uses the application, in a browser that remembers nothing yet. */
export interface Visitor {
  readonly context: BrowserContext
  readonly page: Page
  logIn(uid?: string): Promise<void>
  /** Opens a page of the application and sends a request as its script does, CSRF value included. */
  sendOwn(path: `/${string}`): Promise<Answer>
  addNote(): Promise<Answer>
  /** Whom the application takes this visitor for, who opens a page of it. */
  askWho(): Promise<Answer>
  /** The names of all cookies that the browser has, no matter who set them. */
  cookieNames(): Promise<readonly string[]>
  /** Runs a script in the page that is open. */
  run(script: string): Promise<unknown>
  /** Opens an address whose page, or a frame in it, by itself goes to the application; the answer is shown there. */
  fallFor(address: string, route?: Route): Promise<Answer>
  /** Opens an address whose script by itself sends a request to the application, and stays. */
  fallForScript(address: string, route?: Route): Promise<Answer>
}

/** Gives someone a browser of their own. */
export async function createVisitor(browser: Browser, sites: Sites): Promise<Visitor> {
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const csrfCookie = sites.tokens.config.JWT_ACCESS_CSRF_COOKIE_NAME

  async function sendOwn(path: `/${string}`): Promise<Answer> {
    await page.goto(sites.app)
    const answer = sites.nextAnswer(`POST ${path}`)
    const headers = `{ 'X-CSRF-TOKEN': (${READ_COOKIE})('${csrfCookie}') }`
    await page.evaluate(
      `fetch('${path}', { method: 'POST', headers: ${headers} }).then(({ status }) => status)`,
    )
    return answer
  }

  return {
    context,
    page,
    cookieNames: async () => (await context.cookies()).map(({ name }) => name),
    run: (script) => page.evaluate(script),
    async logIn(uid = 'ada') {
      await page.goto(sites.app)
      const init = `{ method: 'POST', headers: { 'content-type': 'application/json' } }`
      await page.evaluate(`fetch('/login?uid=${uid}', ${init}).then(({ status }) => status)`)
    },
    addNote: () => sendOwn('/notes'),
    sendOwn,
    async askWho() {
      const answer = sites.nextAnswer('GET /me')
      await page.goto(`${sites.app}/me`)
      return answer
    },
    async fallFor(address, route = 'POST /notes') {
      const answer = sites.nextAnswer(route)
      // Every wait starts before its cause. `waitForURL` afterwards can see the address where the last attack ended,
      // which is the same; then the next navigation would interrupt this one. `networkidle` may never come: Playwright
      // can miss the end of a request whose frame moves to another process.
      const [, path = ''] = route.split(' ')
      const arrival = page.waitForEvent(
        'framenavigated',
        (frame) => frame.url().split('?', 1)[0] === sites.app + path,
      )
      // Rejects if the page goes on before it is loaded; what counts is where it goes.
      const opened = page.goto(address).catch(() => undefined)
      const [result, frame] = await Promise.all([answer, arrival, opened])
      await frame.waitForLoadState()
      return result
    },
    async fallForScript(address, route = 'POST /notes') {
      const [result] = await Promise.all([sites.nextAnswer(route), page.goto(address)])
      return result
    },
  }
}

/** A page that submits a form when it is loaded. */
export function selfSubmitting(action: string, fields: Readonly<Record<string, string>> = {}): string {
  const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`)
  const form = `<form method="post" action="${action}">${inputs.join('')}</form>`
  return `${form}<script>addEventListener('load', () => document.forms[0].submit())</script>`
}

/** A script that reads a cookie as docs/cookies-and-csrf.md does; of two cookies with one name it takes the first. */
export const READ_COOKIE = `(name) =>
  document.cookie.split('; ').find((pair) => pair.startsWith(name + '='))?.slice(name.length + 1) ?? ''`
