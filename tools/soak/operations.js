import { readExpectation } from './model.js'

// Each operation sends requests and checks the answers. `share` is out of all requests; what cannot be done yet is
// replaced by a login. `userOf` names the user who must not be revoked during that time.

const bearer = (token) => ({ authorization: `Bearer ${token}` })

function assertStatus({ status, body }, expected, what) {
  if (status === expected) return
  // Not the body: it may have tokens in it.
  throw new Error(`${what}: ${status} ${body?.code ?? ''} instead of ${expected}`)
}

async function sendCheck(call, session, what) {
  const { accessToken, accessEndsAt, accessOverAt } = session
  const answer = await call.send('GET', '/check', bearer(accessToken))
  const expectation = readExpectation(session, { accessEndsAt, accessOverAt, ...answer })
  if (expectation === 'accepted') assertStatus(answer, 200, `${what}: a good token`)
  else if (expectation === 'refused') assertStatus(answer, 401, `${what}: a token that is revoked or expired`)
  else if (![200, 401].includes(answer.status)) assertStatus(answer, 200, what)
}

/** What clients do, and how often. */
export const OPERATIONS = {
  check: {
    share: 0.525,
    prepare: ({ model, now }) => model.pickGood(now),
    run: (call, session) => sendCheck(call, session, 'check'),
  },
  login: {
    share: 0.09,
    prepare: ({ model }) => model.nextUser(),
    userOf: (uid) => uid,
    async run(call, uid) {
      const answer = await call.send('POST', '/login', {}, { uid })
      assertStatus(answer, 200, 'login')
      call.model.open(uid, answer.body, answer.sentAt)
    },
  },
  refresh: {
    share: 0.16,
    prepare: ({ model, now }) => model.takeOldest(now),
    userOf: ({ uid }) => uid,
    async run(call, session) {
      const answer = await call.send('POST', '/refresh', bearer(session.refreshToken))
      assertStatus(answer, 200, 'refresh')
      call.model.refreshed(session, answer.body, answer.sentAt, answer.answeredAt)
    },
  },
  logout: {
    share: 0.03,
    prepare: ({ model, now }) => model.takeGood(now),
    async run(call, session) {
      const answer = await call.send('POST', '/logout', bearer(session.accessToken))
      assertStatus(answer, 204, 'logout')
      call.model.revoked([session], 'session', answer.application, answer.answeredAt)
    },
  },
  revokeUser: {
    share: 0.01,
    prepare: ({ model, now }) => model.takeUser(now),
    async run(call, sessions) {
      const answer = await call.send('POST', '/revoke-user', {}, { uid: sessions[0].uid })
      assertStatus(answer, 204, 'revokeUser')
      call.model.revoked(sessions, 'user', answer.application, answer.answeredAt)
    },
  },
  revokeToken: {
    share: 0.01,
    prepare: ({ model, now }) => model.takeGood(now),
    async run(call, session) {
      const answer = await call.send('POST', '/revoke-token', bearer(session.accessToken))
      assertStatus(answer, 204, 'revokeToken')
      call.model.revoked([session], 'token', answer.application, answer.answeredAt)
    },
  },
  repeat: {
    share: 0.005,
    prepare: ({ model, now }) => model.takeRefreshed(now),
    userOf: ({ uid }) => uid,
    async run(call, session) {
      const answer = await call.send('POST', '/refresh', bearer(session.parentToken))
      assertStatus(answer, 200, 'a refresh whose response was lost')
      call.model.repeated(session, answer.body, answer.sentAt)
    },
  },
  reuse: {
    share: 0.005,
    prepare: ({ model, now }) => model.takeReused(now),
    async run(call, { session, refreshToken }) {
      const answer = await call.send('POST', '/refresh', bearer(refreshToken))
      assertStatus(answer, 401, 'a refresh token that was used up')
      call.model.revoked([session], 'session', answer.application, answer.answeredAt)
    },
  },
  checkRevoked: {
    share: 0.1,
    prepare: ({ model, now }) => model.pickRevoked(now),
    run: (call, session) => sendCheck(call, session, 'check of a revoked token'),
  },
  checkExpired: {
    share: 0.03,
    prepare: ({ model, now }) => model.pickExpired(now),
    run: (call, session) => sendCheck(call, session, 'check of an expired token'),
  },
  refreshRevoked: {
    share: 0.01,
    prepare: ({ model, now }) => model.pickRevokedSession(now),
    async run(call, session) {
      const answer = await call.send('POST', '/refresh', bearer(session.refreshToken))
      assertStatus(answer, 401, 'refresh of a revoked session')
    },
  },
  refreshEnded: {
    share: 0.01,
    prepare: ({ model, now }) => model.pickEnded(now),
    async run(call, session) {
      const answer = await call.send('POST', '/refresh', bearer(session.refreshToken))
      assertStatus(answer, 401, 'refresh of a session that has ended')
    },
  },
  list: {
    share: 0.015,
    prepare: ({ model, now }) => model.pickGood(now),
    async run(call, session) {
      const answer = await call.send('GET', `/sessions/${session.uid}`, {})
      assertStatus(answer, 200, 'list')
      if (answer.body.length === 0 && session.revokeSentAt === null) {
        throw new Error('list: a user with a session has an empty list')
      }
    },
  },
}

/** The operation of the next request. */
export function chooseOperation(random) {
  let rest = random
  for (const [name, { share }] of Object.entries(OPERATIONS)) {
    rest -= share
    if (rest < 0) return name
  }
  return 'check'
}
