import type { ContractRunner } from '@tokenlib/contracts'
import { afterAll, beforeAll, describe, test } from 'vitest'

const DIFFERS = new Set([
  'a login sets three cookies and returns the session',
  'a session lives from login through refresh to logout',
  'a bearer client gets its tokens in the answer, and no cookie',
  'without the store, nothing is set, deleted or lost',
  'another site that gets no cookies sent cannot delete them either',
  'GET and HEAD change nothing, and other methods are 405',
  'a slash at the end is another path, and ends nothing',
  'bodies without credentials are rejected',
  'no page of another origin can log its visitor in',
  'the sessions of the user come newest first, a page at a time',
  'one of the sessions can be ended; if it is the own one, the cookies go',
  'a session is named by its user, and the rest of its data stays',
])

/** Runs the parts of the contract of session routes in which frameworks differ: methods, paths, bodies, cookies, statuses. */
export const FRAMEWORK_CONTRACT: ContractRunner = {
  afterAll,
  beforeAll,
  describe,
  test: (title, run) => (DIFFERS.has(title) ? test(title, run) : undefined),
}
