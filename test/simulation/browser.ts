import { createTokenClient, type TokenClient } from '../../packages/client/src/index.js'
import { createCookieJar } from '../helpers/cookie-jar.js'
import { ACCESS, REFRESH } from './door.js'
import { hold, type Tokens } from './held.js'
import type { Recorder } from './history.js'
import type { Machine, Process } from './machine.js'
import type { Surroundings } from './people.js'
import type { Reached } from './ways.js'

const ORIGIN = 'https://app.example'

/** A browser with tabs that run the real client and share their cookies. */
export interface Browser {
  readonly user: string
  readonly machine: Machine
  /** What a thief finds in it. */
  readonly steal: () => Tokens | null
  /** Something that a user does in one of the tabs. */
  act(): void
  /** How many timers are waiting in all tabs. */
  countTimers(): number
}

interface Tab {
  readonly client: TokenClient
  readonly process: Process
  session: string | null
}

/** The tab that is being made: the client opens its channel by a global. */
let making: { readonly open: (channel: Channel) => void } | null = null

class Channel {
  onmessage: ((event: { readonly data: unknown }) => void) | null = null
  isClosed = false
  post: (message: unknown) => void = () => {}

  constructor() {
    making?.open(this)
  }

  postMessage(message: unknown): void {
    this.post(structuredClone(message))
  }

  close(): void {
    this.isClosed = true
  }
}

Object.assign(globalThis, { location: { href: `${ORIGIN}/`, origin: ORIGIN }, BroadcastChannel: Channel })

/** A browser without a session. */
export function createBrowser(
  user: string,
  machine: Machine,
  { timeline, random, findApplication }: Surroundings,
  recorder: Recorder,
): Browser {
  const jar = createCookieJar()
  const channels = new Map<Channel, Process>()
  const tabs: Tab[] = []

  const send = async (
    process: Process,
    request: Request,
    { application, send: deliver }: Reached,
  ): Promise<Response> => {
    const { pathname } = new URL(request.url)
    for (const [name, value] of Object.entries(jar.headers(pathname))) request.headers.set(name, value)
    // A request that arrives twice is two requests: the result of a dependency is cached per `Request`.
    const response = await deliver(() => application.handle(request.clone()))
    // A tab that was closed, and a request that was given up.
    if (!process.isRunning() || request.signal.aborted) throw new TypeError('aborted')
    jar.store(response.headers.getSetCookie())
    return response
  }

  const fetch = (process: Process, request: Request): Promise<Response> =>
    new Promise((resolve, reject) => {
      const found = findApplication()
      if (found === null) return reject(new TypeError('fetch failed'))
      request.signal.addEventListener('abort', () => reject(request.signal.reason as Error), { once: true })
      send(process, request, found).then(
        (response) => process.deliver(() => resolve(response)),
        () => process.deliver(() => reject(new TypeError('fetch failed'))),
      )
    })

  const openTab = (): Tab => {
    const process = machine.startProcess()
    making = {
      open(channel) {
        channels.set(channel, process)
        channel.post = (data) => {
          for (const [other, receiver] of channels) {
            if (other.isClosed) channels.delete(other)
            if (other === channel || other.isClosed) continue
            timeline.at(timeline.now() + random.between(0, 5), () =>
              receiver.deliver(() => other.onmessage?.({ data })),
            )
          }
        }
      },
    }
    const client = createTokenClient({
      path: `${ORIGIN}/auth`,
      readCookie: (name) => jar.read(name) ?? null,
      fetch: (input, init) => fetch(process, new Request(input, init)),
      clock: process.clock,
    })
    making = null
    const tab: Tab = { client, process, session: null }
    client.on('loggedIn', ({ id }) => (tab.session = id))
    client.on('refreshed', ({ id }) => (tab.session = id))
    client.on('loggedOut', () => {
      const now = timeline.now()
      const event = { application: machine.name, life: 0, t0: now, t1: now, result: 'ok' }
      if (tab.session !== null) recorder.event({ ...event, op: 'loggedOut', session: tab.session })
      tab.session = null
    })
    tabs.push(tab)
    return tab
  }

  const closeTab = (tab: Tab): void => {
    tab.client.close()
    tab.process.kill()
    tabs.splice(tabs.indexOf(tab), 1)
  }

  // The user wants it, whether or not the request arrives.
  const logOut = (client: TokenClient, session: string): void => {
    const target = { kind: 'session', id: session } as const
    const asked = { application: machine.name, life: 0, t0: timeline.now(), t1: Infinity, result: 'asked' }
    recorder.event({ ...asked, op: 'revoke', target, isEverywhere: false })
    ignore(client.logOut())
  }

  const ignore = (answer: Promise<unknown>): void => void answer.catch(() => undefined)

  return {
    user,
    machine,
    steal() {
      const texts = [ACCESS, REFRESH].map((name) => readCookie(jar, name))
      const [access, refresh] = texts
      return access == null || refresh == null ? null : { access: hold(access), refresh: hold(refresh) }
    },
    countTimers: () => tabs.reduce((sum, { process }) => sum + process.countTimers(), 0),
    act() {
      const tab = tabs.length < 3 && random.chance(0.1) ? openTab() : (random.pick(tabs) ?? openTab())
      const { client, process } = tab
      process.deliver(() => {
        if (tab.session === null)
          return ignore(client.session().then((found) => found ?? client.logIn({ name: user })))
        const dice = random.next()
        if (dice < 0.02) return logOut(client, tab.session)
        if (dice < 0.05) return closeTab(tab)
        ignore(client.fetch(`${ORIGIN}/notes`, dice < 0.3 ? { method: 'POST', body: 'milk' } : {}))
      })
    },
  }
}

function readCookie(jar: ReturnType<typeof createCookieJar>, name: string): string | null {
  const pairs = (jar.headers('/auth')['cookie'] ?? '').split('; ')
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? null
}
