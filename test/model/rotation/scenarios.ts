import {
  ALARM,
  fewAnswers,
  NO_HASTY_ALARM,
  NO_REVIVAL,
  NO_RIDING_ALONG,
  noFalseLogout,
  type Property,
} from './properties.js'
import type { Scenario } from './search.js'
import type { Bounds } from './world.js'

const SMALLEST: Bounds = {
  grace: 2,
  accessLifetime: 4,
  idle: null,
  tabs: 1,
  isEager: false,
  requestDelay: 0,
  answerDelay: 0,
  orphanDelay: null,
  losesMessages: false,
  duplicates: 0,
  lostWrites: 0,
  clockChanges: [],
  flushDelay: null,
  dropsCookies: false,
  thief: null,
}

const HONEST = [noFalseLogout()]
const LOSS = { losesMessages: true }
const LEGS = { requestDelay: 1, answerDelay: 1 }
const EXPIRY = { tabs: 3, grace: 4, accessLifetime: 5, ...LEGS, ...LOSS }
const ANY_TIME = { tabs: 2, grace: 5, isEager: true, ...LEGS, ...LOSS }
const IDLE = { idle: 8, ...LOSS }
// An access token that lives for half of the grace: most answers are a `keep`, which leaves the refresh token as it is.
const KEPT = { grace: 4, accessLifetime: 2 }
const THIEF = { thief: 'jar' } as const

/** What must hold: small searches, for every day. */
export const PROMISED: readonly Scenario[] = [
  define('refresh at expiry', EXPIRY, HONEST),
  define('around the end of the grace', { tabs: 2, grace: 9, isEager: true, ...LEGS }, HONEST),
  define(
    'answers slower than half of the grace',
    { tabs: 2, grace: 3, accessLifetime: 9, ...slow(2), ...LOSS },
    HONEST,
  ),
  define('no grace', { ...EXPIRY, tabs: 2, grace: 0 }, HONEST),
  define('slow messages', { ...ANY_TIME, grace: 3, ...slow(2) }, [NO_HASTY_ALARM]),
  define('given-up requests, refresh at expiry', { ...EXPIRY, tabs: 2, orphanDelay: 7 }, HONEST),
  define('a lost write', { ...ANY_TIME, lostWrites: 1 }, HONEST),
  define('a lost write, refresh at expiry', { ...EXPIRY, lostWrites: 1 }, HONEST),
  define('two lost writes, refresh at expiry', { ...EXPIRY, tabs: 2, lostWrites: 2 }, HONEST),
  define('a crash of the browser, refresh at expiry', { tabs: 2, flushDelay: 3, ...LOSS }, HONEST),
  define('a crash of the browser', { tabs: 2, grace: 4, isEager: true, flushDelay: 3, ...LOSS }, HONEST),
  define('a crash and a lost write', { tabs: 2, flushDelay: 3, lostWrites: 1, ...LOSS }, HONEST),
  define('an idle limit', IDLE, HONEST),
  define('an idle limit, with delays', { ...IDLE, grace: 3, ...LEGS }, HONEST),
  define('an idle limit and a lost write', { ...IDLE, lostWrites: 1 }, HONEST),
  define('an idle limit, mostly kept', { ...IDLE, ...KEPT }, HONEST),
  define('a thief', THIEF, [NO_RIDING_ALONG, fewAnswers(2)]),
  define('a thief, and answers are lost', { ...THIEF, accessLifetime: 5, ...LOSS }, [
    NO_RIDING_ALONG,
    fewAnswers(2),
  ]),
  define('a thief who reads an answer', { thief: 'answer' }, [NO_RIDING_ALONG, fewAnswers(3)]),
  define('a thief and two tabs', { ...THIEF, tabs: 2, grace: 3, ...LEGS }, [NO_RIDING_ALONG, fewAnswers(3)]),
  define('a thief, mostly kept', { ...THIEF, ...KEPT }, [NO_RIDING_ALONG, fewAnswers(4)]),
  define('a thief, refresh at any time', { ...THIEF, isEager: true, ...LOSS }, [NO_RIDING_ALONG]),
  define('a thief and a lost write', { ...THIEF, lostWrites: 1 }, [NO_RIDING_ALONG, fewAnswers(3)]),
  define(
    'a thief and a clock that is set back',
    { ...THIEF, grace: 1, accessLifetime: 2, clockChanges: [-4] },
    [NO_RIDING_ALONG, fewAnswers(3)],
  ),
  define('a dead token', { thief: 'dead', tabs: 2, ...LEGS, ...LOSS }, [NO_REVIVAL]),
  define('an alarm', THIEF, [ALARM]),
  define('an alarm, and answers are lost', { ...THIEF, accessLifetime: 5, ...LOSS }, [ALARM]),
]

/** What must hold as well: searches that take seconds each. */
export const PROMISED_AT_LENGTH: readonly Scenario[] = [
  define('refresh at any time', { ...ANY_TIME, tabs: 3 }, HONEST),
  define('slow messages and three tabs', { ...ANY_TIME, tabs: 3, grace: 3, ...slow(2) }, [NO_HASTY_ALARM]),
  define('duplicated requests', { ...ANY_TIME, duplicates: 1 }, HONEST),
  define('given-up requests', { ...ANY_TIME, grace: 7, orphanDelay: 3 }, HONEST),
  define('a lost write and three tabs', { ...ANY_TIME, tabs: 3, lostWrites: 1 }, HONEST),
  define('a lost write and a duplicated request', { ...ANY_TIME, lostWrites: 1, duplicates: 1 }, HONEST),
  define('two lost writes', { ...ANY_TIME, lostWrites: 2 }, HONEST),
  define('a crash of the browser, with delays', { ...ANY_TIME, grace: 6, flushDelay: 3 }, HONEST),
  define('a clock that is set a little', { ...ANY_TIME, grace: 6, clockChanges: [1, -1] }, HONEST),
  define(
    'a clock that is set a little, and a lost write',
    { ...ANY_TIME, grace: 6, clockChanges: [1, -1], lostWrites: 1 },
    HONEST,
  ),
  define('a clock that is set, refresh at expiry', { ...EXPIRY, clockChanges: [-9, 4] }, HONEST),
  define('an idle limit, mostly kept, and a lost write', { ...IDLE, ...KEPT, lostWrites: 1 }, [
    noFalseLogout({ slack: KEPT.grace - 1 }),
  ]),
  define('an idle limit, refresh at any time', { ...ANY_TIME, ...IDLE }, HONEST),
  define('a thief and two tabs, refresh at any time', { ...THIEF, ...ANY_TIME, grace: 3 }, [NO_RIDING_ALONG]),
  define('a thief and a crash of the browser', { ...THIEF, flushDelay: 3 }, [NO_RIDING_ALONG]),
  define('a thief and a duplicated request', { ...THIEF, ...LEGS, grace: 3, duplicates: 1 }, [
    NO_RIDING_ALONG,
  ]),
  define('a thief and two lost writes', { ...THIEF, lostWrites: 2 }, [fewAnswers(4)]),
  define('a dead token, refresh at any time', { thief: 'dead', ...ANY_TIME }, [NO_REVIVAL]),
  define('a dead token and a clock that is set', { thief: 'dead', tabs: 2, ...LEGS, clockChanges: [-5, 2] }, [
    NO_REVIVAL,
  ]),
  define('an alarm, two tabs', { ...THIEF, tabs: 2, grace: 3, ...LEGS }, [ALARM]),
  define('an alarm and a lost write', { ...THIEF, lostWrites: 1 }, [ALARM]),
  define('an alarm, refresh at any time', { ...THIEF, grace: 3, isEager: true, ...LOSS }, [ALARM]),
]

/** A scenario that differs from the smallest world as `bounds` say. */
export function define(name: string, bounds: Partial<Bounds>, properties: readonly Property[]): Scenario {
  return { name, bounds: { ...SMALLEST, ...bounds }, properties }
}

function slow(delay: number): Partial<Bounds> {
  return { requestDelay: delay, answerDelay: delay }
}
