import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserPage } from '../../helpers/servers/browser.js'
import type { Site } from '../open-site.js'
import { openTabs } from '../tabs.js'
import { openAttacker } from './attacker.js'
import { readResult, type Scenario } from './scenario.js'

const ROUTES = [
  ['POST', 'login'],
  ['POST', 'refresh'],
  ['POST', 'logout'],
  ['POST', 'logout-everywhere'],
  ['POST', 'step-up'],
  ['GET', 'session'],
  ['GET', 'sessions'],
  ['DELETE', 'sessions'],
  ['DELETE', 'sessions/own'],
] as const

// What the attacker has: an account of their own.
const CREDENTIALS = '{"name":"mallory","password":"correct"}'

/** Pages of another site, and of another port of the same site, try to use every route with the user's cookies. */
export const otherOrigins: Scenario = {
  title: 'Pages of other origins send requests to every route',
  stores: ['sqlite'],
  async run({ newContext, site }) {
    const context = await newContext()
    const attacker = await openAttacker()
    const problems: string[] = []
    let attacks = 0
    try {
      const tabs = await openTabs(context, site, { count: 1 })
      const [page] = tabs.pages as readonly [BrowserPage]
      const check = async (attack: string): Promise<void> => {
        attacks++
        const user = await page.evaluate<string | null>(WHO)
        const log = site.readLog()
        const logIns = log.filter(
          (line) => 'event' in line && line.event === 'loggedIn' && isBy(line, 'mallory'),
        )
        if (user !== 'ada') problems.push(`${attack}: the page is ${user === null ? 'logged out' : user}`)
        if (logIns.length > seen.logIns) problems.push(`${attack}: logged in as the attacker`)
        seen.logIns = logIns.length
        if (user !== 'ada') await page.evaluate("evidence.logIn('ada')")
      }
      const seen = { logIns: 0 }

      for (const origin of attacker.origins) {
        const visited = await context.newPage()
        await visited.goto(`${origin}/`)
        for (const [method, route] of ROUTES) {
          for (const [kind, init] of toInits(method)) {
            const answer = await visited.evaluate<string>(toFetch(`${site.origin}/auth/${route}`, init))
            const attack = `${method} ${route} by fetch, ${kind}, from ${nameOf(origin)}`
            if (answer.startsWith('readable')) problems.push(`${attack}: the answer is ${answer}`)
            await check(attack)
          }
        }
        await visited.close()
        for (const [method, route] of ROUTES) {
          if (method !== 'POST') continue
          for (const encoding of ['text/plain', 'application/x-www-form-urlencoded']) {
            const visit = await context.newPage()
            const before = countAnswers(site, route)
            await visit.goto(
              `${origin}/?form=${encodeURIComponent(toForm(`${site.origin}/auth/${route}`, encoding))}`,
            )
            while (countAnswers(site, route) === before) await sleep(20)
            await check(`${method} ${route} by a form, ${encoding}, from ${nameOf(origin)}`)
            // Not closed: the page is loading the answer, and Chromium may then never report that it is closed.
          }
        }
      }
      const { figures } = await readResult(site, [tabs])
      return { figures: { ...figures, requests: attacks }, problems, notes: [`${attacks} attacks`] }
    } finally {
      attacker.close()
    }
  },
}

// Whom the application takes the user of this page for.
const WHO = `evidence.client.fetch('/auth/session')
  .then((answer) => (answer.ok ? answer.json() : null))
  .then((body) => body?.session.sub ?? null, () => null)`

function isBy(line: object, sub: string): boolean {
  return 'sub' in line && line.sub === sub
}

function countAnswers(site: Site, route: string): number {
  return site.readLog().filter((line) => 'path' in line && line.path === `/auth/${route}`).length
}

function nameOf(origin: string): string {
  return origin.includes('localhost') ? 'another site' : 'another port'
}

function toInits(method: string): [kind: string, init: string][] {
  const body = method === 'POST' ? `, body: '${CREDENTIALS}'` : ''
  const csrf = `(/csrf_\\w+=([^;]+)/.exec(document.cookie)?.[1] ?? 'none')`
  const json = `'content-type': 'application/json', 'x-csrf-token': ${csrf}`
  const withJson: [string, string] = ['with JSON', `{ method: '${method}', headers: { ${json} }${body} }`]
  if (method === 'DELETE') return [withJson]
  return [['without CORS', `{ method: '${method}', mode: 'no-cors'${body} }`], withJson]
}

function toFetch(url: string, init: string): string {
  return `fetch('${url}', { credentials: 'include', ...${init} }).then(
    (answer) => (answer.type === 'opaque' ? 'opaque' : 'readable: ' + answer.status),
    () => 'blocked',
  )`
}

// A form with text/plain can send JSON: the name of its field is all but the end.
function toForm(action: string, encoding: string): string {
  const name = CREDENTIALS.slice(0, -1).replaceAll('"', '&quot;')
  const field = `<input name="${name},&quot;x&quot;:&quot;" value="&quot;}">`
  const form = `<form method="post" action="${action}" enctype="${encoding}">${field}</form>`
  // After the page has loaded: Firefox reports a load that is cut short as a failed one.
  return `${form}<script>addEventListener('load', () => setTimeout(() => document.forms[0].submit()))</script>`
}
