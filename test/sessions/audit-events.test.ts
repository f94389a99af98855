import { describe, expect, test } from 'vitest'
import type { RevokeOptions, TokenEvents, TokenManager } from '../../packages/tokenlib/src/index.js'
import type { TokenEventName } from '../../packages/tokenlib/src/kit.js'
import { createManager } from '../helpers/manager.js'
import { createRevocable } from '../helpers/revocable.js'

const NOBODY = { actor: null, note: null, ip: null, userAgent: null }
const ADMIN = {
  actor: 'admin:7',
  note: 'Ticket 4711: laptop stolen',
  ip: '192.0.2.9',
  userAgent: 'Console/1',
}

function listen<Name extends TokenEventName>(tokens: TokenManager, name: Name): TokenEvents[Name][] {
  const heard: TokenEvents[Name][] = []
  tokens.on(name, (event) => heard.push(event))
  return heard
}

async function logIn(uid = 'ada') {
  const { tokens } = createRevocable()
  const { accessToken } = await tokens.sessions.open({ uid })
  const payload = await tokens.verify(accessToken)
  return { tokens, payload, revoked: listen(tokens, 'revoked'), loggedOut: listen(tokens, 'loggedOut') }
}

describe('loggedIn', () => {
  test('has the user, the session and where the login came from', async () => {
    for (const { tokens } of [createRevocable(), createManager()]) {
      const heard = listen(tokens, 'loggedIn')
      const pair = await tokens.sessions.open({ uid: 'ada' }, { ip: '192.0.2.1', userAgent: 'Test/1' })
      const { sid } = await tokens.verify(pair.accessToken)
      expect(heard).toEqual([{ sub: 'ada', sid, ip: '192.0.2.1', userAgent: 'Test/1' }])
    }
  })

  test('does not come for a refresh, nor for a single token', async () => {
    const { tokens } = createRevocable()
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    const heard = listen(tokens, 'loggedIn')
    await tokens.sessions.refresh(refreshToken)
    tokens.createAccessToken({ uid: 'ada' })
    expect(heard).toEqual([])
  })
})

describe('loggedOut', () => {
  test('has the user and the session, and who did it', async () => {
    const { tokens, payload, loggedOut } = await logIn()
    const { sub, sid, jti } = payload
    await tokens.logout(payload)
    await tokens.logout(payload, ADMIN)
    await tokens.logout({ sid: 'unknown' })
    expect(loggedOut).toEqual([
      { sub, sid, jti, ...NOBODY },
      { sub, sid, jti, ...ADMIN },
      { sub: null, sid: 'unknown', jti: null, ...NOBODY },
    ])
  })
})

describe('revoked has the user, as far as it is known, and who did it', () => {
  test('by token, session, user, key and altogether', async () => {
    const { tokens, payload, revoked } = await logIn()
    const { sid = '', jti = '' } = payload
    await tokens.revoke.session(sid, ADMIN)
    await tokens.revoke.session(payload)
    await tokens.revoke.token(payload)
    await tokens.revoke.user('ada', ADMIN)
    await tokens.revoke.key('k')
    await tokens.revoke.all(ADMIN)
    expect(revoked).toEqual([
      { kind: 'session', id: sid, sub: 'ada', reason: 'requested', issuer: null, ...ADMIN },
      { kind: 'session', id: sid, sub: 'ada', reason: 'requested', issuer: null, ...NOBODY },
      { kind: 'token', id: jti, sub: 'ada', reason: 'requested', issuer: null, ...NOBODY },
      { kind: 'user', id: 'ada', sub: 'ada', reason: 'requested', issuer: null, ...ADMIN },
      { kind: 'key', id: 'k', sub: null, reason: 'requested', issuer: null, ...NOBODY },
      { kind: 'all', id: '', sub: null, reason: 'requested', issuer: null, ...ADMIN },
    ])
  })

  test('the other sessions of a user', async () => {
    const { tokens, payload, revoked } = await logIn()
    await tokens.sessions.open({ uid: 'ada' })
    await tokens.sessions.endOthers(payload, ADMIN)
    expect(revoked).toMatchObject([{ kind: 'session', sub: 'ada', ...ADMIN }])
  })

  test('a session that nobody knows, or of a user whose id is kept as a digest, has none', async () => {
    const { tokens, payload, revoked } = await logIn('zoë')
    await tokens.revoke.session('unknown')
    await tokens.revoke.session(payload.sid as string)
    expect(revoked.map(({ sub }) => sub)).toEqual([null, null])
  })
})

test('an actor, a note or a client that is null is not known, and the revocation takes place', async () => {
  const { tokens, payload, revoked, loggedOut } = await logIn()
  // As from JavaScript: events have null there.
  const unknown = NOBODY as unknown as RevokeOptions
  await tokens.logout(payload, unknown)
  await tokens.revoke.user('ada', unknown)
  expect([...loggedOut, ...revoked]).toMatchObject([NOBODY, NOBODY, NOBODY])
})

test('what comes from outside is cleaned and cut', async () => {
  const { tokens, revoked } = await logIn()
  await tokens.revoke.user('ada', { actor: `admin\u0000\u001B[2J${'x'.repeat(1000)}` })
  expect(revoked[0]?.actor).toHaveLength(128)
  expect(revoked[0]?.actor).toMatch(/^[\x20-\x7e]+$/)
  await expect(tokens.revoke.user('ada', { actor: 7 as never })).rejects.toThrow(TypeError)

  await tokens.revoke.user('ada', { note: `stolen\u0000\u001B[2J\uD800${'x'.repeat(1000)}` })
  expect(revoked[1]?.note).toHaveLength(500)
  expect(revoked[1]?.note).toMatch(/^[\x20-\x7e]+$/)
  await tokens.revoke.user('ada', { note: '' })
  expect(revoked[2]?.note).toBeNull()
  await expect(tokens.revoke.user('ada', { note: {} as never })).rejects.toThrow(TypeError)
})

test('what is not known may be null, as in events and in lists of sessions', async () => {
  const { tokens, payload, revoked } = await logIn()
  const unknown = NOBODY as object
  await tokens.revoke.session(payload, unknown)
  await tokens.revoke.user('ada', unknown)
  const { ip, userAgent } = NOBODY
  await tokens.sessions.open({ uid: 'ada' }, { ip, userAgent } as object)
  tokens.sessions.reportFailedLogin({ reason: 'credentials', ip, userAgent } as never)
  expect(revoked).toMatchObject([
    { kind: 'session', ...NOBODY },
    { kind: 'user', ...NOBODY },
  ])
})
