import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { RevocationStore } from '../../packages/tokenlib/src/index.js'
import type { SessionStore } from '../../packages/tokenlib/src/kit.js'
import { NOW } from '../helpers/manager.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'

const at = (seconds: number) => new Date((NOW + seconds) * 1000)
const from = (userAgent: string) => new Request('http://localhost/', { headers: { 'user-agent': userAgent } })

test('sessions are listed with what their requests told, newest first, and only the live ones of the user', async () => {
  const { tokens, clock } = createRevocable()
  const phone = await tokens.createTokenPair({ uid: 'ada' }, { request: from('Phone'), ip: '192.0.2.1' })
  clock.seconds += 10
  const desk = await tokens.createTokenPair({ uid: 'ada' }, { userAgent: 'Desk', ip: '192.0.2.2' })
  await tokens.createTokenPair({ uid: 'grace' })
  clock.seconds += 60
  await tokens.refresh(phone.refreshToken, { request: from('Phone 2') })
  const [{ sid: phoneSid }, { sid: deskSid }] = [
    await tokens.verifyToken(phone.accessToken),
    await tokens.verifyToken(desk.accessToken),
  ]
  expect(await tokens.listSessions('ada')).toEqual([
    {
      id: deskSid,
      sub: 'ada',
      createdAt: at(10),
      lastUsedAt: at(10),
      expiresAt: at(10 + 20 * 86_400),
      ip: '192.0.2.2',
      userAgent: 'Desk',
    },
    {
      id: phoneSid,
      sub: 'ada',
      createdAt: at(0),
      // To the minute.
      lastUsedAt: at(60),
      expiresAt: at(20 * 86_400),
      ip: '192.0.2.1',
      userAgent: 'Phone 2',
    },
  ])
  await tokens.logout(await tokens.verifyToken(desk.accessToken))
  expect((await tokens.listSessions('ada')).map(({ id }) => id)).toEqual([phoneSid])
})

test('a session id from the list revokes that session', async () => {
  const { tokens } = createRevocable()
  const { accessToken } = await tokens.createTokenPair({ uid: 'ada' })
  const [session] = await tokens.listSessions('ada')
  await tokens.revokeSession(session?.id ?? '')
  expect(await outcomeOf(tokens.verifyToken(accessToken))).toBe('TOKEN_REVOKED')
})

test('revokeOtherSessions leaves the own one, however many there are', async () => {
  const { tokens } = createRevocable()
  const mine = await tokens.createTokenPair({ uid: 'ada' })
  const others = []
  for (let count = 0; count < 1100; count++) others.push(await tokens.createTokenPair({ uid: 'ada' }))
  const grace = await tokens.createTokenPair({ uid: 'grace' })
  expect(await tokens.revokeOtherSessions(await tokens.verifyToken(mine.accessToken))).toBe(1100)
  expect(await tokens.listSessions('ada')).toHaveLength(1)
  expect(await outcomeOf(tokens.verifyToken(mine.accessToken))).toBe('ok')
  expect(await outcomeOf(tokens.verifyToken(grace.accessToken))).toBe('ok')
  for (const { refreshToken } of [others[0], others.at(-1)].filter((pair) => pair !== undefined))
    expect(await outcomeOf(tokens.refresh(refreshToken))).toBe('TOKEN_REVOKED')
  expect(await tokens.revokeOtherSessions(await tokens.verifyToken(mine.accessToken))).toBe(0)
})

test('of a Node request the address of the connection is known', async () => {
  const { tokens } = createRevocable()
  const server = createServer((request, response) => {
    void tokens.createTokenPair({ uid: 'ada' }, { request }).then(() => response.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as AddressInfo
    await (await fetch(`http://127.0.0.1:${port}/`, { headers: { 'user-agent': 'Test/1' } })).text()
  } finally {
    server.close()
  }
  expect(await tokens.listSessions('ada')).toMatchObject([{ ip: '127.0.0.1', userAgent: 'Test/1' }])
})

test('what a client says of itself is cut and cleaned', async () => {
  const { tokens } = createRevocable()
  await tokens.createTokenPair(
    { uid: 'ada' },
    { userAgent: `a\0b\x1b[31m\ud800${'x'.repeat(600)}`, ip: 'y'.repeat(99) },
  )
  const [session] = await tokens.listSessions('ada')
  expect(session?.userAgent).toMatch(/^a b \[31m x+$/)
  expect(session?.userAgent).toHaveLength(512)
  expect(session?.ip).toHaveLength(64)
})

test('a session that never ends has no expiry', async () => {
  const { tokens } = createRevocable({ JWT_REFRESH_TOKEN_EXPIRES: false })
  await tokens.createTokenPair({ uid: 'ada' })
  expect(await tokens.listSessions('ada')).toMatchObject([{ expiresAt: null, ip: null, userAgent: null }])
})

describe('pages', () => {
  const logIn = async (count: number, uid = 'ada') => {
    const { tokens, clock } = createRevocable()
    const ids: string[] = []
    for (let at = 0; at < count; at++) {
      const { accessToken } = await tokens.createTokenPair({ uid })
      ids.unshift((await tokens.verifyToken(accessToken)).sid as string)
      clock.seconds += 1
    }
    return { tokens, clock, ids }
  }

  test('every session is on one page, in order, however many there are', async () => {
    const { tokens, ids } = await logIn(7)
    const found: string[] = []
    let before: string | undefined
    for (;;) {
      const page = await tokens.listSessions('ada', { limit: 3, ...(before && { before }) })
      found.push(...page.map(({ id }) => id))
      before = page.at(-1)?.id
      if (page.length < 3) break
    }
    expect(found).toEqual(ids)
  })

  test('a page goes on after a session that was ended meanwhile', async () => {
    const { tokens, ids } = await logIn(4)
    const [first] = await tokens.listSessions('ada', { limit: 1 })
    await tokens.revokeSession(first?.id as string)
    const rest = await tokens.listSessions('ada', { before: first?.id as string })
    expect(rest.map(({ id }) => id)).toEqual(ids.slice(1))
  })

  test.each([0, -1, 1001, 1.5, Number.NaN, '5' as never])('a limit of %s is refused', async (limit) => {
    await expect(createRevocable().tokens.listSessions('ada', { limit })).rejects.toThrow(TypeError)
  })

  test('a page that begins nowhere is refused, and the store is not to blame', async () => {
    const { tokens } = createRevocable()
    const faults: unknown[] = []
    tokens.on('storeUnavailable', (event) => faults.push(event))
    for (const before of ['', 'garbage', 7 as never]) {
      await expect(tokens.listSessions('ada', { before })).rejects.toThrow(TypeError)
    }
    expect(faults).toEqual([])
  })
})

describe('getSession', () => {
  test('finds a live session beyond the first thousand of its user', async () => {
    const { tokens, clock } = createRevocable()
    const oldest = await tokens.createTokenPair({ uid: 'ada' }, { userAgent: 'Oldest' })
    clock.seconds += 1
    for (let at = 0; at < 1000; at++) await tokens.createTokenPair({ uid: 'ada' })
    const { sid = '' } = await tokens.verifyToken(oldest.accessToken)
    expect((await tokens.listSessions('ada')).some(({ id }) => id === sid)).toBe(false)
    expect(await tokens.getSession(sid)).toMatchObject({ id: sid, sub: 'ada', userAgent: 'Oldest' })
  })

  test('with a user, only a session of that user; the ids of some users are kept as digests', async () => {
    const { tokens } = createRevocable()
    for (const uid of ['ada', 'zoë', 'a'.repeat(200)]) {
      const { accessToken } = await tokens.createTokenPair({ uid })
      const { sid = '' } = await tokens.verifyToken(accessToken)
      expect(await tokens.getSession(sid, uid)).toMatchObject({ id: sid, sub: uid === 'ada' ? 'ada' : null })
      expect(await tokens.getSession(sid, 'eve')).toBeNull()
    }
  })

  test('null for one that is unknown, revoked or over', async () => {
    const { tokens, clock } = createRevocable({ JWT_REFRESH_TOKEN_EXPIRES: '1h' })
    const pairs = [await tokens.createTokenPair({ uid: 'ada' }), await tokens.createTokenPair({ uid: 'ada' })]
    const [one = '', other = ''] = await Promise.all(
      pairs.map(async ({ accessToken }) => (await tokens.verifyToken(accessToken)).sid),
    )
    expect(await tokens.getSession('nobody')).toBeNull()
    await tokens.revokeSession(one)
    expect(await tokens.getSession(one)).toBeNull()
    clock.seconds += 86_400
    expect(await tokens.getSession(other)).toBeNull()
    for (const id of ['', 7 as never]) await expect(tokens.getSession(id)).rejects.toThrow(TypeError)
    for (const uid of [undefined, '', null as never]) {
      await expect(tokens.getSession(other, uid)).rejects.toThrow(TypeError)
    }
  })
})

test('a session can be revoked by its id while the store cannot tell whose it is', async () => {
  const { tokens: opener, store, clock } = createRevocable()
  const { accessToken } = await opener.createTokenPair({ uid: 'ada' })
  const { sid = '' } = await opener.verifyToken(accessToken)
  const get = () => Promise.reject(new Error('gone'))
  const broken: RevocationStore = { ...store, sessions: { ...(store.sessions as SessionStore), get } }
  const { tokens } = createRevocable({}, { store: broken, clock })
  const revoked: unknown[] = []
  tokens.on('revoked', (event) => revoked.push(event))
  await tokens.revokeSession(sid)
  expect(revoked).toMatchObject([{ kind: 'session', id: sid, sub: null }])
  expect(await outcomeOf(opener.verifyToken(accessToken))).toBe('TOKEN_REVOKED')
})

test.each(['open', 'rotate', 'present', 'list', 'get'] as const)(
  'a store of sessions without %s is refused',
  (method) => {
    const { store } = createRevocable()
    const { [method]: _missing, ...sessions } = store.sessions as SessionStore
    expect(() => createRevocable({}, { store: { ...store, sessions } as RevocationStore })).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION_INVALID' }),
    )
  },
)
