import { type Browser, createBrowser } from './browser.js'
import type { Held, Tokens } from './held.js'
import type { Recorder, Target } from './history.js'
import type { IdentityProvider } from './identity-provider.js'
import type { KeyRing } from './key-ring.js'
import { createMachine, WORLD_STARTS_AT } from './machine.js'
import type { Conditions } from './network.js'
import { createPerson, type Person, type Surroundings } from './people.js'
import { startSignOuts } from './sign-outs.js'
import { createWays, runIn } from './ways.js'
import type { World } from './world.js'

const WATCHED_MS = 5000
// The leeway, and how far a clock may be behind: nobody accepts a token that expired longer ago.
const SURELY_EXPIRED_MS = 40_000

/** What people and operators do, all the time. */
export interface Life {
  /** Nobody does anything any more. */
  end(): void
  /** Tokens that were revoked. */
  readonly revoked: () => Iterable<Held>
  readonly browsers: readonly Browser[]
}

/** What people and operators find, in addition to the world itself. */
export interface LifeOptions {
  readonly keys: KeyRing
  readonly provider: IdentityProvider
  readonly conditions: Conditions
  readonly recorder: Recorder
}

/** Everybody begins. */
export function startLife(world: World, { keys, provider, conditions, recorder }: LifeOptions): Life {
  const { timeline, hosts, settings } = world
  const random = world.random.fork('life')
  const people: Person[] = []
  let isOver = false
  const revoked = new Map<string, Held>()
  const { findHost, findApplication } = createWays(timeline, random, hosts, conditions)
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

  // Every process follows the feed, no matter who uses it: more people would make a world slower, and no promise harder to keep.
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
    for (const [jti, held] of revoked) if (isSurelyExpired(held)) revoked.delete(jti)
  }

  // Those who were revoked a moment ago come back, everywhere, and at the worst moments.
  const insist = (held: Held): void => {
    forgetExpired()
    revoked.set(held.facts.jti, held)
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

  // Some of those who have sessions of our own sign in at the provider too.
  startSignOuts(
    Array.from({ length: Math.ceil(population / 4) }, (_, number) => `user-${number}`),
    {
      ...surroundings,
      provider,
      recorder,
      boundMs: settings.boundMs,
      every,
      onSignedOut(sub, held) {
        insist(held)
        for (const person of people) {
          if (person.user !== sub || person.tokens === null) continue
          insist(person.tokens.access)
          if (person.party === 'owner' && random.chance(0.5)) void person.logInAgain()
        }
      },
    },
  )

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
    const id = {
      token: facts.jti,
      session: facts.sid,
      user: facts.user,
      key: keys.findRetired(timeline.now()),
      all: '',
    }[kind]
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
    end() {
      isOver = true
    },
    revoked() {
      forgetExpired()
      return revoked.values()
    },
    browsers,
  }
}
