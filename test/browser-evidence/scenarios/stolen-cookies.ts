import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserCookie } from '../../helpers/servers/browser.js'
import { toFigures } from '../figures.js'
import type { LogLine, Site } from '../open-site.js'
import { readSession, type Tabs } from '../tabs.js'
import { openSessions, type Scenario, type Stage } from './scenario.js'

// Another address of this machine; Linux has all of 127.0.0.0/8.
const THIEF_IP = '127.0.0.2'
const THIEF_AGENT = 'Thief/1.0'
const USER_IP = '127.0.0.1'

/** After this many refreshes of the victim, a thief must get nothing more. */
const MOST_REFRESHES = 2
/** A thief who is neither caught nor refused gives up after this many. */
const ENOUGH_REFRESHES = 4
const LIMIT_MS = 180_000

/** What a thief knows of the victim: more than any real one, because he reads the log of the application. */
interface Knowledge {
  /** How often the victim got tokens, its login included. */
  readonly answers: number
  /** When it refreshes again at the earliest; epoch milliseconds. */
  readonly nextAt: number
}

/** When a thief strikes. */
interface Plan {
  readonly name: string
  /** Whether the victim refreshes first. */
  readonly isSecond: boolean
  /** `struckAt` is how often the victim had got tokens when the thief struck last. */
  isMoment(victim: Knowledge, struckAt: number): boolean
}

const PLANS: readonly Plan[] = [
  {
    name: 'right after the victim',
    isSecond: true,
    isMoment: ({ answers }, struckAt) => answers > struckAt,
  },
  {
    name: 'right before the victim',
    isSecond: false,
    isMoment: ({ answers, nextAt }, struckAt) => answers > struckAt && Date.now() > nextAt - 300,
  },
  { name: 'all the time', isSecond: false, isMoment: () => true },
]

/** Copies of the cookies of several browsers are used from another address, each by a thief with a plan. */
export const stolenCookies: Scenario = {
  title: 'Stolen cookies are used elsewhere',
  stores: ['redis'],
  async run(stage) {
    const { site, sizes } = stage
    const sessions = await openSessions(stage, { count: sizes.sessions, tabs: 1 })
    await Promise.all(sessions.map((tabs) => tabs.start(sizes.intervalMs)))
    const thefts = await Promise.all(sessions.map((tabs, at) => steal(stage, tabs, at)))
    const caught = thefts.filter(({ isCaught }) => isCaught)
    const problems = (await Promise.all(caught.map((theft) => findLeftovers(stage, theft)))).flat()
    await Promise.all(sessions.map((tabs) => tabs.stop()))
    const figures = toFigures(await Promise.all(sessions.map(readSession)), site.readLog())
    return {
      // To be logged out is right here, and is looked at above.
      figures: { ...figures, falseLogouts: 0, endedSessions: 0 },
      thefts: {
        thieves: thefts.length,
        servedLate: thefts.filter(({ servedLate }) => servedLate > 0).length,
        caught: caught.length,
      },
      problems: [...thefts.flatMap(findFailures), ...problems],
      notes: thefts.map(describe),
    }
  },
}

interface Theft {
  readonly tabs: Tabs
  readonly plan: string
  /** What the thief has in the end. */
  readonly jar: Jar
  /** How often the victim got tokens after the theft. Not every refresh is a rotation: what is promised here is stricter. */
  readonly refreshes: number
  /** How often the thief did. */
  readonly served: number
  /** How often the thief did after two refreshes of the victim. */
  readonly servedLate: number
  readonly isCaught: boolean
}

async function steal({ site, sizes }: Stage, tabs: Tabs, at: number): Promise<Theft> {
  const { name, isSecond, isMoment } = PLANS[at % PLANS.length] as Plan
  const limit = performance.now() + LIMIT_MS
  const events = (): readonly EventLine[] => readEvents(site, tabs.user)
  const know = (): Knowledge => toKnowledge(events(), sizes.accessSeconds)
  let jar = await tabs.context.cookies()
  // Some steal the token of the login, and some a later one.
  if (at % 2 === 1) jar = await waitForRefresh(tabs, jar)
  const before = events().length
  let struckAt = isSecond ? know().answers : 0
  for (;;) {
    const { refreshes, isCaught } = summarize(events().slice(before))
    if (isCaught || refreshes >= ENOUGH_REFRESHES || performance.now() > limit) break
    const victim = know()
    if (isMoment(victim, struckAt)) {
      struckAt = victim.answers
      const { status, cookies } = await send(site, 'POST', '/auth/refresh', jar)
      if (status === 200) jar = merge(jar, cookies)
    }
    await sleep(50)
  }
  return { tabs, plan: name, jar, ...summarize(events().slice(before)) }
}

/** The cookies once the victim has refreshed. */
async function waitForRefresh({ context }: Tabs, before: Jar): Promise<Jar> {
  const readToken = (jar: Jar): string | undefined =>
    jar.find(({ name }) => name === 'access_token_cookie')?.value
  for (;;) {
    const jar = await context.cookies()
    // In between, the cookie has expired and is gone.
    if (![undefined, readToken(before)].includes(readToken(jar))) return jar
    await sleep(20)
  }
}

type Jar = readonly BrowserCookie[]

type EventLine = Extract<LogLine, { readonly sub: string }>

/** The login, the refreshes and the alarms of a session, in their order. */
function readEvents(site: Site, user: string): readonly EventLine[] {
  return site
    .readLog()
    .filter((line): line is EventLine => 'sub' in line && line.sub === user)
    .filter(({ event }) => event !== 'loggedOut')
}

function toKnowledge(events: readonly EventLine[], accessSeconds: number): Knowledge {
  const own = events.filter(({ event, ip }) => event !== 'reuseDetected' && ip === USER_IP)
  // What is left of the last second of an access token is not used.
  return { answers: own.length, nextAt: (own.at(-1)?.at ?? 0) + (accessSeconds - 1) * 1000 }
}

function summarize(
  events: readonly EventLine[],
): Pick<Theft, 'refreshes' | 'served' | 'servedLate' | 'isCaught'> {
  let [refreshes, served, servedLate] = [0, 0, 0]
  for (const { event, ip } of events) {
    if (event !== 'refreshed') continue
    if (ip === USER_IP) refreshes++
    else served++
    if (ip === THIEF_IP && refreshes >= MOST_REFRESHES) servedLate++
  }
  return { refreshes, served, servedLate, isCaught: events.some(({ event }) => event === 'reuseDetected') }
}

function describe({ plan, served, servedLate, refreshes, isCaught }: Theft): string {
  const end = isCaught ? 'caught' : 'not caught'
  return `thief ${plan}: served ${served} times, ${servedLate} of them late; ${end} after ${refreshes} refreshes`
}

function findFailures({ plan, served, servedLate, isCaught }: Theft): readonly string[] {
  return [
    served === 0 && `a thief ${plan} got nothing at all`,
    servedLate > 0 && `a thief ${plan} got tokens after ${MOST_REFRESHES} refreshes of the victim`,
    !isCaught && `a thief ${plan} was not caught`,
  ].filter((problem) => problem !== false)
}

/** What is wrong after an alarm: both must be out, and the event must have both addresses. */
async function findLeftovers({ site }: Stage, { tabs, jar }: Theft): Promise<readonly string[]> {
  const problems: string[] = []
  const limit = performance.now() + LIMIT_MS
  const countLogouts = async (): Promise<number> => (await tabs.readCounts())[0]?.loggedOut ?? 0
  while ((await countLogouts()) === 0 && performance.now() < limit) await sleep(100)
  const logouts = await countLogouts()
  if (logouts !== 1) problems.push(`the page of ${tabs.user} was told ${logouts} times that it is logged out`)
  if ((await tabs.countLoggedIn()) > 0) problems.push(`the page of ${tabs.user} is still logged in`)
  for (const [method, path] of [
    ['GET', '/api/me'],
    ['POST', '/api/notes'],
    ['POST', '/auth/refresh'],
  ] as const) {
    const { status } = await send(site, method, path, jar)
    if (status !== 401) problems.push(`${method} ${path} of the thief was answered with ${status}`)
  }
  const alarms = readEvents(site, tabs.user).filter(({ event }) => event === 'reuseDetected')
  const addresses = alarms.map(({ ip, previous }) => [ip, previous?.ip].toSorted().join(' and '))
  if (addresses.join() !== `${USER_IP} and ${THIEF_IP}`) problems.push(`alarms have ${addresses.join()}`)
  return problems
}

function merge(jar: readonly BrowserCookie[], added: readonly BrowserCookie[]): readonly BrowserCookie[] {
  return [...jar.filter(({ name }) => added.every((cookie) => cookie.name !== name)), ...added]
}

interface Answer {
  readonly status: number
  readonly cookies: Jar
}

/** A request from another address, with all cookies of a jar and the CSRF value that fits. */
function send(site: Site, method: string, path: string, jar: Jar): Promise<Answer> {
  const headers = {
    cookie: jar.map(({ name, value }) => `${name}=${value}`).join('; '),
    'user-agent': THIEF_AGENT,
    'x-csrf-token': jar.find(({ name }) => name === 'csrf_access_token')?.value ?? '',
  }
  const url = site.application.url + path
  return new Promise((resolve, reject) => {
    request(url, { method, headers, localAddress: THIEF_IP, agent: false }, (response) => {
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
