import type { Browser } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { openSites } from './open-sites.js'
import { createVisitor, READ_COOKIE } from './visitor.js'

// More than a page does in a day; a value that changes with a refresh is refused within the first few.
const REFRESHES = 60

/** Two tabs of one session: the cookies are shared, and what a page has read is its own. */
export function describeTwoTabs(browser: () => Browser): void {
  test('one tab refreshes continuously, and no request of the other is refused', async () => {
    const sites = await openSites(() => ({}))
    onTestFinished(() => sites.close())
    const visitor = await createVisitor(browser(), sites)
    await visitor.logIn('ada')
    const other = await visitor.context.newPage()
    await other.goto(sites.app)

    const [refreshes, posts] = (await Promise.all([
      visitor.run(`(async () => {
        ${SEND}
        for (let at = 0; at < ${REFRESHES}; at++) await send('/refresh', readCookie('csrf_access_token'))
        localStorage.setItem('isDone', 'true')
        return outcomes
      })()`),
      // One value is read just before it is sent, as in docs/cookies-and-csrf.md; the other is as old as the page.
      other.evaluate(`(async () => {
        ${SEND}
        const first = readCookie('csrf_access_token')
        while (localStorage.getItem('isDone') === null) {
          await send('/notes', readCookie('csrf_access_token'))
          await send('/notes', first)
        }
        return outcomes
      })()`),
    ])) as [Record<string, number>, Record<string, number>]

    expect(refreshes).toEqual({ passed: REFRESHES })
    expect(posts).toEqual({ passed: sites.notes.length })
    expect(sites.notes.length).toBeGreaterThan(1)
  })
}

// Counts what the application answers: the code of a refusal is the body of the answer.
const SEND = `
  const readCookie = ${READ_COOKIE}
  const outcomes = {}
  const send = async (path, csrf) => {
    const answer = await fetch(path, { method: 'POST', headers: { 'X-CSRF-TOKEN': csrf } })
    const outcome = answer.ok ? 'passed' : await answer.text()
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  }
`
