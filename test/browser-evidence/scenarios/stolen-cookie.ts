import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserContext, BrowserCookie } from '../../helpers/servers/browser.js'
import { toFigures } from '../figures.js'
import type { Site } from '../open-site.js'
import { openTabs, type Tabs } from '../tabs.js'
import type { Scenario, Stage } from './scenario.js'

// Another address of this machine; Linux has all of 127.0.0.0/8.
const THIEF_IP = '127.0.0.2'
const THIEF_AGENT = 'Thief/1.0'
const USER_IP = '127.0.0.1'

/** Copies of a browser's cookies are used from another address, before and after the browser refreshes. */
export const stolenCookie: Scenario = {
  title: 'A stolen refresh cookie is used elsewhere',
  stores: ['redis'],
  // Within the grace, two that use one token are taken for one; so it must be over before the next expiry.
  change: ({ accessSeconds }) => ({ accessSeconds: Math.max(3, accessSeconds), graceSeconds: 1 }),
  async run(stage) {
    const other = await stage.browser.newContext()
    try {
      const outcomes = await Promise.all([thiefFirst(stage, stage.context), userFirst(stage, other)])
      const counts = (await Promise.all(outcomes.map(({ tabs }) => tabs.readCounts()))).flat()
      // To be logged out is right here, and is looked at above.
      const figures = { ...toFigures(counts, counts.length, stage.site.readLog()), falseLogOuts: 0 }
      const problems = outcomes.flatMap((outcome) => outcome.problems)
      const notes = outcomes.map(({ name, seconds }) => `${name}: both out after ${seconds.toFixed(1)} s`)
      return { figures, problems, notes }
    } finally {
      await other.close()
    }
  },
}

interface Outcome {
  readonly name: string
  readonly tabs: Tabs
  readonly seconds: number
  readonly problems: readonly string[]
}

/** The thief refreshes; the browser presents the used token when its access token has expired. */
async function thiefFirst(stage: Stage, context: BrowserContext): Promise<Outcome> {
  const { site } = stage
  const tabs = await openTabs(context, site, { count: 1, name: 'ada' })
  const jar = await context.cookies()
  const startedAt = performance.now()
  const refreshed = await send(site, 'POST', '/auth/refresh', jar)
  const thief = [...withoutTokens(jar), ...refreshed.cookies]
  await tabs.start(stage.sizes.intervalMs)
  await waitForLogOut(tabs, stage)
  const seconds = (performance.now() - startedAt) / 1000
  return {
    name: 'the thief refreshes first',
    tabs,
    seconds,
    problems: [
      ...(refreshed.status === 200 ? [] : [`the thief's refresh was answered with ${refreshed.status}`]),
      ...(await findLeftovers(stage, tabs, thief)),
      ...findMissingAddresses(site, 'ada', [USER_IP, THIEF_IP]),
    ],
  }
}

/** The browser refreshes; the thief presents the used token after the grace. */
async function userFirst(stage: Stage, context: BrowserContext): Promise<Outcome> {
  const { site, sizes } = stage
  const tabs = await openTabs(context, site, { count: 1, name: 'grace' })
  const stolen = await context.cookies()
  await tabs.start(sizes.intervalMs)
  const isRefreshed = async (): Promise<boolean> => {
    const [value] = (await context.cookies()).filter(({ name }) => name === REFRESH_COOKIE)
    return value !== undefined && stolen.every((cookie) => cookie.value !== value.value)
  }
  while (!(await isRefreshed())) await sleep(50)
  await sleep(site.settings.graceSeconds * 1000)
  const startedAt = performance.now()
  const reused = await send(site, 'POST', '/auth/refresh', stolen)
  await waitForLogOut(tabs, stage)
  const seconds = (performance.now() - startedAt) / 1000
  return {
    name: 'the user refreshes first',
    tabs,
    seconds,
    problems: [
      ...(reused.status === 401 ? [] : [`the thief's refresh was answered with ${reused.status}`]),
      ...(await findLeftovers(stage, tabs, stolen)),
      ...findMissingAddresses(site, 'grace', [THIEF_IP, USER_IP]),
    ],
  }
}

const REFRESH_COOKIE = 'refresh_token_cookie'

function withoutTokens(jar: readonly BrowserCookie[]): readonly BrowserCookie[] {
  return jar.filter(({ name }) => !/token/.test(name))
}

async function waitForLogOut(tabs: Tabs, { site }: Stage): Promise<void> {
  const limit = performance.now() + 3000 * site.settings.accessSeconds
  while (performance.now() < limit) {
    if ((await tabs.readCounts()).some(({ loggedOut }) => loggedOut > 0)) break
    await sleep(50)
  }
  await tabs.stop()
}

async function findLeftovers(
  { site }: Stage,
  tabs: Tabs,
  thief: readonly BrowserCookie[],
): Promise<readonly string[]> {
  const problems: string[] = []
  const [counts] = await tabs.readCounts()
  if (counts?.loggedOut !== 1)
    problems.push(`the page was told ${counts?.loggedOut} times that it is logged out`)
  if ((await tabs.countLoggedIn()) > 0) problems.push('the page is still logged in')
  for (const [method, path] of [
    ['GET', '/api/me'],
    ['POST', '/api/notes'],
    ['POST', '/auth/refresh'],
  ] as const) {
    const { status } = await send(site, method, path, thief)
    if (status !== 401) problems.push(`${method} ${path} of the thief was answered with ${status}`)
  }
  return problems
}

function findMissingAddresses(
  site: Site,
  sub: string,
  addresses: readonly [string, string],
): readonly string[] {
  const events = site.readLog().filter((line) => 'event' in line && line.event === 'reuseDetected')
  const found = events.map((line) =>
    'previous' in line && 'sub' in line && line.sub === sub
      ? [line.ip, line.userAgent === THIEF_AGENT, line.previous?.ip, line.previous?.userAgent === THIEF_AGENT]
      : [],
  )
  const [ip, previous] = addresses
  const expected = JSON.stringify([ip, ip === THIEF_IP, previous, previous === THIEF_IP])
  const count = found.filter((event) => JSON.stringify(event) === expected).length
  return count === 1
    ? []
    : [`${count} events reuseDetected of ${sub} have both addresses: ${JSON.stringify(found)}`]
}

interface Answer {
  readonly status: number
  readonly cookies: readonly BrowserCookie[]
}

/** A request from another address, with all cookies of a jar and the CSRF value that fits. */
function send(site: Site, method: string, path: string, jar: readonly BrowserCookie[]): Promise<Answer> {
  const csrfName = path === '/auth/refresh' ? 'csrf_refresh_token' : 'csrf_access_token'
  const headers = {
    cookie: jar.map(({ name, value }) => `${name}=${value}`).join('; '),
    'user-agent': THIEF_AGENT,
    'x-csrf-token': jar.find(({ name }) => name === csrfName)?.value ?? '',
  }
  return new Promise((resolve, reject) => {
    request(site.origin + path, { method, headers, localAddress: THIEF_IP, agent: false }, (response) => {
      response.resume()
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          cookies: (response.headers['set-cookie'] ?? []).map(toCookie),
        }),
      )
    })
      .on('error', reject)
      .end()
  })
}

function toCookie(header: string): BrowserCookie {
  const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(header) ?? []
  return { name, value, path: '/' }
}
