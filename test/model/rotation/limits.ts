import {
  ALARM,
  fewAnswers,
  NO_HASTY_ALARM,
  NO_REVIVAL,
  NO_RIDING_ALONG,
  noFalseLogout,
  type Property,
} from './properties.js'
import { define } from './scenarios.js'
import type { Scenario } from './search.js'
import type { Bounds } from './world.js'

/** Something that is not promised, and has a history that shows why. */
export interface Limit extends Scenario {
  /** What it means for an application, in Markdown. */
  readonly advice: string
}

/** Limits with a common cause. */
export interface LimitGroup {
  readonly title: string
  readonly limits: readonly Limit[]
}

const HONEST = [noFalseLogout()]
const TWO_TABS = { tabs: 2, grace: 4 }
const ANY_TIME = { ...TWO_TABS, isEager: true }
const LEGS = { requestDelay: 1, answerDelay: 1 }
const LOSS = { losesMessages: true }
const THIEF = { thief: 'jar' } as const
const KEPT = { idle: 8, grace: 4, accessLifetime: 2 }

/** What is not promised. Each of these must fail. */
export const NOT_PROMISED: readonly LimitGroup[] = [
  {
    title: 'Slow networks',
    limits: [
      limit(
        'Delays close to the grace, refresh at any time',
        'A late answer puts a dead token into the jar. If tabs refresh at any time, two round trips must be shorter than the grace.',
        { ...ANY_TIME, requestDelay: 3, answerDelay: 3, ...LOSS },
        HONEST,
      ),
      limit(
        'Each way takes a quarter of the grace',
        'This is the exact limit: two round trips take as long as the grace, which is one tick too long.',
        { ...ANY_TIME, ...LEGS, ...LOSS },
        HONEST,
      ),
      limit(
        'Delays close to the access lifetime, refresh at expiry',
        'If tabs refresh at expiry only, a request and two answers together must take less than an access token lifetime, whatever the grace.',
        { ...TWO_TABS, accessLifetime: 5, requestDelay: 3, answerDelay: 3 },
        HONEST,
      ),
      limit(
        'An answer that arrives at any later time',
        'A response that starts long after its refresh must not set the refresh cookie. Losing that cookie costs nothing.',
        { tabs: 2, answerDelay: Infinity },
        HONEST,
      ),
      limit(
        'A request that arrives at any later time',
        'Give refresh requests a timeout, on both sides.',
        { tabs: 2, requestDelay: Infinity },
        HONEST,
      ),
      limit(
        'A request that its tab gave up on, refresh at any time',
        'A timeout in the client is not enough: a server that works through a queue must drop refreshes that are nearly as old as the grace.',
        { ...ANY_TIME, orphanDelay: 4 },
        HONEST,
      ),
      limit(
        'A request that its tab gave up on, refresh at expiry',
        'If tabs refresh at expiry only, such a request does no harm until it is older than an access token lifetime plus the grace.',
        { tabs: 2, orphanDelay: 6 },
        HONEST,
      ),
      limit(
        'Slow requests, and a lost write',
        'A request that is only slow is refused without an alarm. After a lost write, the store no longer knows which token was current before, and raises one.',
        { ...ANY_TIME, ...LEGS, ...LOSS, lostWrites: 1 },
        [NO_HASTY_ALARM],
      ),
      limit(
        'No grace, refresh at any time',
        'A grace of 0 is for clients that refresh at expiry only.',
        { ...ANY_TIME, grace: 0 },
        HONEST,
      ),
    ],
  },
  {
    title: 'Browsers and their profiles',
    limits: [
      limit(
        'Cookies that are not on disk for as long as the grace',
        'Chromium writes its cookies to disk every 30 seconds. If tabs refresh at any time, the grace must be longer than that plus a round trip.',
        { ...ANY_TIME, flushDelay: 4 },
        HONEST,
      ),
      limit(
        'A profile that is restored from an older backup',
        'One generation is forgiven. Older backups have a dead token, and the user must log in again.',
        { isEager: true, flushDelay: Infinity },
        HONEST,
      ),
      limit(
        'A copied profile in two browsers',
        'The store cannot tell the second browser from a thief. Here, the "thief" is the same user.',
        THIEF,
        HONEST,
      ),
    ],
  },
  {
    title: 'Clocks that are set',
    limits: [
      limit(
        "The store's clock is set forward by most of the grace",
        'Young tokens look old, and the session advances while their siblings are in flight. The change counts like a delay. It does no harm to clients that refresh at expiry only.',
        { ...ANY_TIME, ...LEGS, ...LOSS, grace: 6, clockChanges: [2] },
        HONEST,
      ),
      limit(
        "The store's clock is set back by more than the grace",
        'A token from the future does not count as young, since that could last for hours. So the effect is the same.',
        { ...ANY_TIME, ...LEGS, ...LOSS, grace: 6, clockChanges: [-9] },
        HONEST,
      ),
      limit(
        "An alarm after the store's clock was set back",
        'The grace lasts up to three times as long, or comes back once. The dead token still yields nothing, but the alarm is late.',
        { ...THIEF, clockChanges: [-3] },
        [ALARM],
      ),
    ],
  },
  {
    title: 'Idle limits',
    limits: [
      limit(
        'An idle limit, and a lost write',
        'If the lost write was a time of use, the session may end earlier by up to the grace.',
        { ...KEPT, lostWrites: 1 },
        [noFalseLogout({ slack: 2 })],
      ),
    ],
  },
  {
    title: 'Thieves',
    limits: [
      limit(
        'A theft, and one answer to the victim',
        'The stolen token stays valid until one of its children is used. That takes a second refresh.',
        THIEF,
        [fewAnswers(1)],
      ),
      limit(
        'A theft, and two answers to a victim with two tabs',
        'Both answers may belong to the same rotation.',
        { ...THIEF, ...LEGS, tabs: 2, grace: 3 },
        [fewAnswers(2)],
      ),
      limit(
        'A theft, two answers to the victim, and a lost write',
        'A lost write takes the session back by one rotation, and the thief with it. The next rotation ends it.',
        { ...THIEF, lostWrites: 1 },
        [fewAnswers(2)],
      ),
      limit(
        'A theft, and two lost writes',
        'The thief is further ahead than the victim, so the store trusts the thief. The next refresh of the victim ends the session.',
        { ...THIEF, lostWrites: 2 },
        [NO_RIDING_ALONG],
      ),
      limit(
        'A theft, and a victim whose browser drops its cookies',
        'Such a client never rotates. `refreshRepeated` events show it.',
        { ...THIEF, dropsCookies: true },
        [fewAnswers(5)],
      ),
      limit(
        'A token that was exchanged',
        'It stays valid until one of its children is used, even if the browser already has that child. That can take as long as the client is idle: set an idle limit, and keep tokens out of logs.',
        { thief: 'exchanged' },
        [NO_REVIVAL],
      ),
      limit(
        'A dead token, and a lost write',
        'The store forgot that it is dead. The next refresh of the victim reminds it.',
        { thief: 'dead', lostWrites: 1 },
        [NO_REVIVAL],
      ),
    ],
  },
]

function limit(
  name: string,
  advice: string,
  bounds: Partial<Bounds>,
  properties: readonly Property[],
): Limit {
  return { ...define(name, bounds, properties), advice }
}
