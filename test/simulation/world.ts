import { createHash } from 'node:crypto'
import { systemRandom } from '../../packages/tokenlib/src/tokens/ids.js'
import type { OwnKey } from '../../packages/tokenlib/src/tokens/own-key.js'
import { type Application, createApplication, type Settings } from './application.js'
import { createBrowser } from './browser.js'
import { createChecker, type Exception, type Violation } from './checker.js'
import { enterWorld } from './globals.js'
import type { Held, Tokens } from './held.js'
import type { Event, Fault, Recorder, Target } from './history.js'
import { createMachine, type Machine, WORLD_STARTS_AT } from './machine.js'
import { planFaults } from './nemesis.js'
import { type Conditions, createLink, type Link, type Peer } from './network.js'
import { createPerson, type Person, type Surroundings } from './people.js'
import { createRandom, type Random } from './random.js'
import { createRemoteStore } from './remote-store.js'
import { createStoreServer, type StoreServer } from './store-server.js'
import { createTimeline, type Timeline } from './timeline.js'

/** How large a world is. */
export interface WorldOptions {
  readonly seed: string
  readonly processes: number
  readonly seconds: number
  /** Receives every line of the history. */
  readonly print?: (line: string) => void
  /** Of the faults that the seed plans, only these, by number; all of them unless given. */
  readonly faults?: readonly number[]
}

/** What came of a world. */
export interface Outcome {
  readonly violations: readonly Violation[]
  readonly exceptions: ReadonlyMap<Exception, number>
  /** The SHA-256 of the history. */
  readonly digest: string
  readonly faults: readonly (Fault & { readonly number: number })[]
  readonly counts: Readonly<Record<string, number>>
  readonly happened: number
  /** The time of the world at its end, in milliseconds. */
  readonly endedAt: number
}

/** An application of a world, on its machine; it may be down. */
export interface Host {
  readonly name: string
  readonly machine: Machine
  application: Application | null
  /** To the store. */
  storeLink: Link | null
  start(): void
  kill(): void
}

/** Everything that faults can be done to. */
export interface World {
  readonly timeline: Timeline
  readonly random: Random
  readonly settings: Settings
  readonly hosts: readonly Host[]
  readonly server: StoreServer
  readonly store: { isUp: boolean; isFull: boolean; slownessMs: number | null }
}

const MAX_DRIFT = 0.0002
const WATCHED_MS = 5000
// The leeway, and how far a clock may be behind: nobody accepts a token that expired longer ago.
const SURELY_EXPIRED_MS = 40_000
// As many bytes as the library draws at once.
const RANDOM_STOCK = 4096

/** Lets a world run from its beginning to its end. */
export async function runWorld(options: WorldOptions): Promise<Outcome> {
  const { seed, processes, seconds, print } = options
  const random = createRandom(seed)
  const timeline = createTimeline()
  enterWorld(timeline, random.fork('chance'))
  // The library keeps random bytes in stock: these are of this world from now on.
  systemRandom(RANDOM_STOCK)
  const settings = drawSettings(random.fork('settings'))
  const isQuiet = random.chance(0.4)
  const conditions = drawConditions(random.fork('conditions'), isQuiet, settings.boundMs)
  const longestLifetimeMs = settings.sessionLifetimeMs + 600_000
  const digest = createHash('sha256')
  const counts: Record<string, number> = {}
  const checker = createChecker({
    boundMs: settings.boundMs,
    graceMs: settings.graceMs,
    sessionLifetimeMs: settings.sessionLifetimeMs,
    longestLifetimeMs,
    drift: 2 * MAX_DRIFT,
    isQuiet,
  })
  const write = (line: string): void => {
    digest.update(`${line}\n`)
    print?.(line)
  }
  write(JSON.stringify({ seed, processes, seconds, settings, conditions, isQuiet }))
  const recorder: Recorder = {
    event(event) {
      const name = `${event.op} ${event.result}`
      counts[name] = (counts[name] ?? 0) + 1
      write(toLine(event))
      checker.event(event)
    },
    fault(fault) {
      write(JSON.stringify(fault))
      checker.fault(fault)
    },
  }

  const drawMachine = (name: string): Machine =>
    createMachine(timeline, name, {
      drift: random.between(-MAX_DRIFT, MAX_DRIFT),
      leadMs: random.between(-2000, 2000),
    })
  const server = createStoreServer(drawMachine('store'), random.fork('server'), timeline.now)
  const store = { isUp: true, isFull: false, slownessMs: 0 as number | null }
  const peer: Peer = { isUp: () => store.isUp, readSlownessMs: () => store.slownessMs }
  const keys = createKeyRing(random.fork('keys'), longestLifetimeMs)
  const hosts = Array.from({ length: processes }, (_, at) =>
    createHost(`app-${at}`, drawMachine(`app-${at}`), random.fork(`host ${at}`)),
  )

  function createHost(name: string, machine: Machine, own: Random): Host {
    let life = 0
    const host: Host = {
      name,
      machine,
      application: null,
      storeLink: null,
      start() {
        if (host.application !== null) return
        const process = machine.startProcess()
        const link = createLink(timeline, own.fork(`link ${life}`), process, peer, conditions)
        const application = createApplication({
          place: { application: name, life: life++ },
          process,
          store: createRemoteStore(server, link, () => store.isFull),
          keys: keys.list(),
          random: own.fork(`ids ${life}`),
          settings,
          recorder,
          worldNow: timeline.now,
        })
        host.application = application
        host.storeLink = link
        application.ready().catch(() => undefined)
      },
      kill() {
        host.application?.process.kill()
        host.application = null
        host.storeLink = null
      },
    }
    return host
  }

  const world: World = { timeline, random, settings, hosts, server, store }
  const faults = planFaults(world, seconds * 1000, (fault) => recorder.fault(fault)).filter(
    ({ number }) => options.faults?.includes(number) ?? true,
  )
  for (const { t0, begin } of faults) timeline.at(t0, begin)
  for (const host of hosts) timeline.at(random.between(0, 2000), () => host.start())

  const life = startLife(world, keys, conditions, recorder)
  await timeline.runUntil(seconds * 1000)
  await life.judge()
  return {
    violations: checker.violations,
    exceptions: checker.exceptions,
    digest: digest.digest('hex'),
    faults: faults.map(({ begin: _begin, ...fault }) => fault),
    counts,
    happened: timeline.count().happened,
    endedAt: timeline.now(),
  }
}

/** The keys of all applications: each signs for a while, and verifies as long as its tokens live. */
interface KeyRing {
  list(): readonly OwnKey[]
  rotate(nowMs: number): void
  /** The one before the last, which signs nothing any more. */
  readonly previous: string | null
}

function createKeyRing(random: Random, longestLifetimeMs: number): KeyRing {
  const create = (number: number, startsAt: number | null): OwnKey => ({
    kid: `key-${number}`,
    algorithm: 'HS256',
    secret: Buffer.from(random.bytes(32)),
    ...(startsAt !== null && { notBefore: new Date(startsAt) }),
  })
  let created = 1
  let keys = [{ key: create(0, null), replacedAt: Infinity }]
  return {
    list: () => keys.map(({ key }) => key),
    rotate(nowMs) {
      const startsAt = nowMs + 30_000
      const last = keys.at(-1)
      if (last !== undefined) last.replacedAt = startsAt
      // The tokens of the others have expired.
      keys = keys.filter(({ replacedAt }) => replacedAt + longestLifetimeMs > nowMs)
      keys.push({ key: create(created++, WORLD_STARTS_AT + startsAt), replacedAt: Infinity })
    },
    get previous() {
      return keys.at(-3)?.key.kid ?? null
    },
  }
}

function drawSettings(random: Random): Settings {
  return {
    boundMs: random.pick([100, 500, 1000, 1000, 2000, 5000, 30_000]),
    whenStale: random.pick(['refuse', 'ask'] as const),
    graceMs: random.pick([5000, 10_000, 20_000]),
    accessLifetimeMs: random.pick([10_000, 20_000, 60_000]),
    sessionLifetimeMs: random.pick([120_000, 600_000, 3_600_000]),
    maxSessions: random.pick([null, null, 3]),
  }
}

function drawConditions(random: Random, isQuiet: boolean, boundMs: number): Conditions {
  // Docs: keep the bound above four times the slowest response of the store.
  const delayMs = Math.min(random.pick([0.5, 2, 10]), boundMs / 100)
  if (isQuiet) return { delayMs, loss: 0, duplication: 0, straggling: 0 }
  return {
    delayMs,
    loss: random.pick([0, 0.001, 0.01]),
    duplication: random.pick([0, 0.01]),
    straggling: random.pick([0, 0.01]),
  }
}

/** What people and operators do, all the time, and the judgement at the end. */
function startLife(world: World, keys: KeyRing, conditions: Conditions, recorder: Recorder) {
  const { timeline, hosts, settings } = world
  const random = world.random.fork('life')
  const people: Person[] = []
  let isOver = false
  // Tokens that were revoked, to be checked at the end.
  const checkedLater = new Map<string, Held>()

  const findHost = (): Host | null => {
    const areAllUp = hosts.every(({ application }) => application !== null)
    const running = areAllUp ? hosts : hosts.filter(({ application }) => application !== null)
    return running.length === 0 ? null : random.pick(running)
  }
  const outside = createMachine(timeline, 'outside', { drift: 0, leadMs: 0 }).startProcess()
  const links = new WeakMap<Application, Link>()
  const findApplication: Surroundings['findApplication'] = () => {
    const host = findHost()
    if (host?.application == null) return null
    const { application, name } = host
    const { process } = application
    // To the process that answers now.
    const link =
      links.get(application) ??
      createLink(
        timeline,
        random.fork(`way ${name} ${application.life}`),
        outside,
        { isUp: process.isRunning, readSlownessMs: () => 0 },
        { ...conditions, delayMs: 20 },
      )
    links.set(application, link)
    return {
      application,
      send: <Value>(run: () => Promise<Value>) => link.send(() => runIn(application, run)),
    }
  }
  // What arrives at a process that stands still waits there.
  const runIn = <Value>({ process }: Application, run: () => Promise<Value>): Promise<Value> =>
    new Promise((resolve, reject) => process.deliver(() => void run().then(resolve, reject)))
  const surroundings: Surroundings = {
    timeline,
    random,
    findApplication,
    accessLifetimeMs: settings.accessLifetimeMs,
    graceMs: settings.graceMs,
  }

  const every = (meanMs: number, run: () => void, isDone = (): boolean => false): void => {
    const next = (): void =>
      void timeline.at(timeline.now() + random.interval(meanMs), () => {
        if (isOver || isDone()) return
        run()
        next()
      })
    next()
  }
  const findPerson = (): { person: Person; tokens: Tokens } | null => {
    const person = people[random.below(people.length)]
    return person?.tokens == null ? null : { person, tokens: person.tokens }
  }

  // Every process follows the feed, whoever uses it: more people would make a world slower, and no promise harder to keep.
  const population = Math.min(40, Math.max(12, 2 * hosts.length))
  for (let number = 0; number < population; number++) {
    const person = createPerson(`user-${number % Math.ceil(population * 0.7)}`, 'owner', surroundings)
    people.push(person)
    every(3000, () => void person.call())
  }

  const browsers = Array.from(
    { length: Math.min(5, Math.max(2, Math.ceil(hosts.length / 10))) },
    (_, number) => {
      const machine = createMachine(timeline, `browser-${number}`, {
        drift: 0,
        leadMs: random.between(-60_000, 60_000),
      })
      const browser = createBrowser(`surfer-${number}`, machine, surroundings, recorder)
      every(2000, browser.act)
      every(60_000, () => machine.suspend(random.interval(20_000)))
      return browser
    },
  )

  const isSurelyExpired = ({ facts }: Held): boolean =>
    WORLD_STARTS_AT + timeline.now() > facts.exp * 1000 + SURELY_EXPIRED_MS
  const forgetExpired = (): void => {
    for (const [jti, held] of checkedLater) if (isSurelyExpired(held)) checkedLater.delete(jti)
  }

  // Those who were revoked a moment ago come back, everywhere, and at the worst moments.
  const insist = (held: Held): void => {
    forgetExpired()
    checkedLater.set(held.facts.jti, held)
    const asked = hosts.length <= 10 ? hosts : Array.from({ length: 10 }, () => random.pick(hosts))
    for (const host of asked) {
      for (const factor of [0, random.next(), 1, 1.1, random.between(1, 3), random.between(3, 10)]) {
        timeline.at(timeline.now() + factor * settings.boundMs + random.between(0, 10), () => {
          const { application } = host
          if (isSurelyExpired(held)) return
          application?.process.deliver(() => void application.check(held))
        })
      }
    }
  }

  const findOwner = (): Pick<Person, 'user' | 'tokens'> => random.pick(people.slice(0, population))
  const findBrowser = (): Pick<Person, 'user' | 'tokens'> => {
    const { user, steal } = random.pick(browsers)
    return { user, tokens: steal() }
  }

  const revoke = (kind: Target['kind']): void => {
    const found = findPerson()
    const application = findHost()?.application
    if (found === null || application == null) return
    const { access } = found.tokens
    const { facts } = access
    const id = { token: facts.jti, session: facts.sid, user: facts.user, key: keys.previous, all: '' }[kind]
    if (id === null) return
    const concerned = people.flatMap(({ tokens }) => (tokens === null ? [] : [tokens.access]))
    const isEverywhere = random.chance(0.1)
    const run = async (): Promise<void> => {
      const code = await application.revoke({ kind, id, exp: facts.exp }, isEverywhere)
      if (code !== 'ok') return
      for (const held of kind === 'all' || kind === 'key' ? concerned.slice(0, 20) : [access]) insist(held)
    }
    application.process.deliver(() => void run())
  }
  every(8000, () => revoke('token'))
  every(12_000, () => revoke('session'))
  every(25_000, () => revoke('user'))
  every(120_000, () => revoke('key'))
  every(200_000, () => revoke('all'))
  every(60_000, () => {
    keys.rotate(timeline.now())
    // Not at the same moment everywhere, and before the new key signs.
    for (const { application } of hosts) {
      if (application === null) continue
      timeline.at(timeline.now() + random.between(0, 5000), () =>
        application.process.deliver(() => application.setKeys(keys.list())),
      )
    }
  })
  every(10_000, () => {
    const { user, tokens } = random.chance(0.3) ? findBrowser() : findOwner()
    if (tokens === null || people.length > 3 * population) return
    const thief = createPerson(user, 'thief', surroundings, tokens)
    people.push(thief)
    // Until the tokens are worthless.
    every(
      random.pick([1000, 5000, 20_000]),
      () => (thief.tokens === null ? void people.splice(people.indexOf(thief), 1) : void thief.call()),
      () => !people.includes(thief),
    )
  })
  every(WATCHED_MS, () => {
    const application = findHost()?.application
    if (application == null) return
    void runIn(application, () => application.reportHealth())
    const { maxSessions } = settings
    if (maxSessions === null) return
    const { user } = random.pick(people)
    void runIn(application, () => application.countSessions(user, maxSessions))
  })

  return {
    // Everything heals; then every revocation must be known everywhere, and to processes that start anew.
    async judge() {
      isOver = true
      world.store.isUp = true
      world.store.isFull = false
      world.store.slownessMs = 0
      for (const host of hosts) {
        host.storeLink?.disturb(null)
        host.start()
      }
      const settleMs = 6 * settings.boundMs + 30_000
      const checkAll = async (): Promise<void> => {
        forgetExpired()
        for (const { application } of hosts) {
          for (const held of checkedLater.values()) {
            application?.process.deliver(() => void application.check(held, true))
          }
        }
        await timeline.runUntil(timeline.now() + 5000)
      }
      await timeline.runUntil(timeline.now() + settleMs)
      await checkAll()
      for (const host of hosts) {
        host.kill()
        host.start()
      }
      await timeline.runUntil(timeline.now() + settleMs)
      await checkAll()
    },
  }
}

function toLine(event: Event): string {
  return JSON.stringify(event)
}
