import type { Held, Tokens } from './held.js'
import type { Party } from './history.js'
import type { Random } from './random.js'
import type { Timeline } from './timeline.js'
import type { Ways } from './ways.js'

/** Somebody with an app in several tabs, which share the newest tokens that have arrived. */
export interface Person {
  readonly user: string
  readonly party: Party
  readonly tokens: Tokens | null
  /** Calls a guarded route somewhere, in one of the tabs; logs in first if there is no session. */
  call(): Promise<void>
  /** Was signed out elsewhere, and logs in again immediately. */
  logInAgain(): Promise<void>
}

/** What people find in their world. */
export interface Surroundings {
  readonly timeline: Timeline
  readonly random: Random
  readonly findApplication: Ways['findApplication']
  readonly accessLifetimeMs: number
  readonly graceMs: number
}

const MAX_HELD = 30
const CALL_TIMEOUT_MS = 10_000
const RETRY_MS = 1000
// Answers to a refresh after which only a login helps.
const ENDED = new Set(['TOKEN_REVOKED', 'REFRESH_TOKEN_REUSED', 'TOKEN_EXPIRED'])

/** A person, who has not logged in yet; a thief begins with the tokens of somebody else. */
export function createPerson(
  user: string,
  party: Party,
  { timeline, random, findApplication, accessLifetimeMs, graceMs }: Surroundings,
  stolen: Tokens | null = null,
): Person {
  let tokens = stolen
  // What arrived before, which somebody may still use.
  let held: Held[] = []
  let isLoggingIn = false
  // When each tab refreshes next. Some refresh when their token expires, some whenever they like.
  const isEager = random.chance(0.3)
  const tabs = Array.from({ length: party === 'thief' ? 1 : 1 + random.below(3) }, () => ({
    refreshAt: 0,
    isRefreshing: false,
  }))

  const planRefresh = (): number => timeline.now() + accessLifetimeMs * random.between(isEager ? 0 : 0.7, 1)

  const receive = (next: Tokens): void => {
    tokens = next
    held = [...held.slice(-MAX_HELD), next.access]
    for (const tab of tabs) tab.refreshAt = planRefresh()
  }

  // An app gives up after a while, whether or not its request has arrived.
  const inTime = <Value>(answer: Promise<Value>): Promise<Value | null> =>
    new Promise((resolve) => {
      timeline.at(timeline.now() + CALL_TIMEOUT_MS, () => resolve(null))
      answer.then(resolve, () => resolve(null))
    })

  const exchange = async (tab: (typeof tabs)[number], sent: Held): Promise<void> => {
    const found = findApplication()
    if (found === null) return
    const { application, send } = found
    const answer = await inTime(send(() => application.refresh(sent, party)))
    const { access, refresh } = answer?.tokens ?? {}
    // Like cookies: what arrives last stays, whatever has been there before.
    if (access !== undefined && refresh !== undefined && tokens?.access.facts.sid === access.facts.sid) {
      return receive({ access, refresh })
    }
    // Another tab may have got a newer one.
    if (tokens?.refresh !== sent) return
    if (ENDED.has(answer?.code ?? '')) tokens = null
    // After a lost answer, an outage, or another request that was first.
    else
      tab.refreshAt =
        timeline.now() +
        RETRY_MS * random.between(1, 3) +
        (answer?.code === 'REFRESH_SUPERSEDED' ? graceMs : 0)
  }

  const logIn = async (): Promise<void> => {
    const found = findApplication()
    if (found === null || isLoggingIn) return
    isLoggingIn = true
    const opened = await inTime(found.send(() => found.application.open(user)))
    isLoggingIn = false
    if (opened !== null) receive(opened)
  }

  return {
    user,
    party,
    get tokens() {
      return tokens
    },
    logInAgain() {
      tokens = null
      return logIn()
    },
    async call() {
      if (tokens === null) return party === 'owner' ? logIn() : undefined
      const { access, refresh } = tokens
      for (const tab of tabs) {
        if (tab.isRefreshing || timeline.now() < tab.refreshAt) continue
        tab.isRefreshing = true
        void exchange(tab, refresh).finally(() => (tab.isRefreshing = false))
      }
      const found = findApplication()
      const token = random.chance(0.9) ? access : random.pick([access, ...held])
      const code = await found?.send(() => found.application.check(token)).catch(() => undefined)
      if (code === 'TOKEN_REVOKED' && party === 'owner' && tokens?.access === token) tokens = null
    },
  }
}
