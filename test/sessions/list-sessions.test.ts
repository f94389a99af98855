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
  const phone = await tokens.sessions.open({ uid: 'ada' }, { request: from('Phone'), ip: '192.0.2.1' })
  clock.seconds += 10
  const desk = await tokens.sessions.open({ uid: 'ada' }, { userAgent: 'Desk', ip: '192.0.2.2' })
  await tokens.sessions.open({ uid: 'grace' })
  clock.seconds += 60
  await tokens.sessions.refresh(phone.refreshToken, { request: from('Phone 2') })
  const [{ sid: phoneSid }, { sid: deskSid }] = [
    await tokens.verify(phone.accessToken),
    await tokens.verify(desk.accessToken),
  ]
  expect(await tokens.sessions.list('ada')).toEqual([
    {
      id: deskSid,
      sub: 'ada',
      createdAt: at(10),
      lastUsedAt: at(10),
      expiresAt: at(10 + 20 * 86_400),
      ip: '192.0.2.2',
      userAgent: 'Desk',
      data: null,
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
      data: null,
    },
  ])
  await tokens.logout(await tokens.verify(desk.accessToken))
  expect((await tokens.sessions.list('ada')).map(({ id }) => id)).toEqual([phoneSid])
})

test('a session id from the list revokes that session', async () => {
  const { tokens } = createRevocable()
  const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
  const [session] = await tokens.sessions.list('ada')
  await tokens.revoke.session(session?.id ?? '')
  expect(await outcomeOf(tokens.verify(accessToken))).toBe('TOKEN_REVOKED')
})

test('sessions.endOthers leaves the own one, and those of others', async () => {
  const { tokens } = createRevocable()
  const mine = await tokens.sessions.open({ uid: 'ada' })
  const others = []
  for (let count = 0; count < 3; count++) others.push(await tokens.sessions.open({ uid: 'ada' }))
  const grace = await tokens.sessions.open({ uid: 'grace' })
  expect(await tokens.sessions.endOthers(await tokens.verify(mine.accessToken))).toBe(3)
  expect(await tokens.sessions.list('ada')).toHaveLength(1)
  expect(await outcomeOf(tokens.verify(mine.accessToken))).toBe('ok')
  expect(await outcomeOf(tokens.verify(grace.accessToken))).toBe('ok')
  for (const { refreshToken } of [others[0], others.at(-1)].filter((pair) => pair !== undefined))
    expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('TOKEN_REVOKED')
  expect(await tokens.sessions.endOthers(await tokens.verify(mine.accessToken))).toBe(0)
})

test('of a Node request the address of the connection is known', async () => {
  const { tokens } = createRevocable()
  const server = createServer((request, response) => {
    void tokens.sessions.open({ uid: 'ada' }, { request }).then(() => response.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as AddressInfo
    await (await fetch(`http://127.0.0.1:${port}/`, { headers: { 'user-agent': 'Test/1' } })).text()
  } finally {
    server.close()
  }
  expect(await tokens.sessions.list('ada')).toMatchObject([{ ip: '127.0.0.1', userAgent: 'Test/1' }])
})

test('what a client says of itself is cut and cleaned', async () => {
  const { tokens } = createRevocable()
  await tokens.sessions.open(
    { uid: 'ada' },
    { userAgent: `a\0b\x1b[31m\ud800${'x'.repeat(600)}`, ip: 'y'.repeat(99) },
  )
  const [session] = await tokens.sessions.list('ada')
  expect(session?.userAgent).toMatch(/^a b \[31m x+$/)
  expect(session?.userAgent).toHaveLength(512)
  expect(session?.ip).toHaveLength(64)
})

test('a session that never ends has no expiry', async () => {
  const { tokens } = createRevocable({ JWT_REFRESH_TOKEN_EXPIRES: false })
  await tokens.sessions.open({ uid: 'ada' })
  expect(await tokens.sessions.list('ada')).toMatchObject([{ expiresAt: null, ip: null, userAgent: null }])
})

describe('pages', () => {
  const logIn = async (count: number, uid = 'ada') => {
    const { tokens, clock } = createRevocable()
    const ids: string[] = []
    for (let at = 0; at < count; at++) {
      const { accessToken } = await tokens.sessions.open({ uid })
      ids.unshift((await tokens.verify(accessToken)).sid as string)
      clock.seconds += 1
    }
    return { tokens, clock, ids }
  }

  test('every session is on one page, in order, however many there are', async () => {
    const { tokens, ids } = await logIn(7)
    const found: string[] = []
    let before: string | undefined
    for (;;) {
      const page = await tokens.sessions.list('ada', { limit: 3, ...(before && { before }) })
      found.push(...page.map(({ id }) => id))
      before = page.at(-1)?.id
      if (page.length < 3) break
    }
    expect(found).toEqual(ids)
  })

  test('a page goes on after a session that has ended since', async () => {
    const { tokens, ids } = await logIn(4)
    const [first] = await tokens.sessions.list('ada', { limit: 1 })
    await tokens.revoke.session(first?.id as string)
    const rest = await tokens.sessions.list('ada', { before: first?.id as string })
    expect(rest.map(({ id }) => id)).toEqual(ids.slice(1))
  })

  test.each([0, -1, 1001, 1.5, Number.NaN, '5' as never])('a limit of %s is refused', async (limit) => {
    await expect(createRevocable().tokens.sessions.list('ada', { limit })).rejects.toThrow(TypeError)
  })

  test('a page that begins nowhere is refused, and the store is not to blame', async () => {
    const { tokens } = createRevocable()
    const faults: unknown[] = []
    tokens.on('storeUnavailable', (event) => faults.push(event))
    for (const before of ['', 'garbage', 7 as never]) {
      await expect(tokens.sessions.list('ada', { before })).rejects.toThrow(TypeError)
    }
    expect(faults).toEqual([])
  })
})

describe('sessions.get', () => {
  test('finds a live session beyond the first thousand of its user', async () => {
    const { tokens, clock } = createRevocable()
    const oldest = await tokens.sessions.open({ uid: 'ada' }, { userAgent: 'Oldest' })
    clock.seconds += 1
    for (let at = 0; at < 1000; at++) await tokens.sessions.open({ uid: 'ada' })
    const { sid = '' } = await tokens.verify(oldest.accessToken)
    expect((await tokens.sessions.list('ada')).some(({ id }) => id === sid)).toBe(false)
    expect(await tokens.sessions.get(sid)).toMatchObject({ id: sid, sub: 'ada', userAgent: 'Oldest' })
  })

  test('with a user, only a session of that user; the ids of some users are kept as digests', async () => {
    const { tokens } = createRevocable()
    for (const uid of ['ada', 'zoë', 'a'.repeat(200)]) {
      const { accessToken } = await tokens.sessions.open({ uid })
      const { sid = '' } = await tokens.verify(accessToken)
      expect(await tokens.sessions.get(sid, uid)).toMatchObject({
        id: sid,
        sub: uid === 'ada' ? 'ada' : null,
      })
      expect(await tokens.sessions.get(sid, 'eve')).toBeNull()
    }
  })

  test('null for one that is unknown, revoked or over', async () => {
    const { tokens, clock } = createRevocable({ JWT_REFRESH_TOKEN_EXPIRES: '1h' })
    const pairs = [await tokens.sessions.open({ uid: 'ada' }), await tokens.sessions.open({ uid: 'ada' })]
    const [one = '', other = ''] = await Promise.all(
      pairs.map(async ({ accessToken }) => (await tokens.verify(accessToken)).sid),
    )
    expect(await tokens.sessions.get('nobody')).toBeNull()
    await tokens.revoke.session(one)
    expect(await tokens.sessions.get(one)).toBeNull()
    clock.seconds += 86_400
    expect(await tokens.sessions.get(other)).toBeNull()
    for (const id of ['', 7 as never]) await expect(tokens.sessions.get(id)).rejects.toThrow(TypeError)
    for (const uid of [undefined, '', null as never]) {
      await expect(tokens.sessions.get(other, uid)).rejects.toThrow(TypeError)
    }
  })
})

test('sessions.end ends one session of the user, and no session of somebody else', async () => {
  const { tokens } = createRevocable()
  const open = async (uid: string) => {
    const { accessToken } = await tokens.sessions.open({ uid })
    return { accessToken, id: (await tokens.verify(accessToken)).sid as string }
  }
  const [mine, other, hers] = [await open('ada'), await open('ada'), await open('grace')]
  expect(await tokens.sessions.end(hers.id, 'ada')).toBe(false)
  expect(await tokens.sessions.end('unknown', 'ada')).toBe(false)
  expect(await tokens.sessions.end(mine.id, 'ada')).toBe(true)
  expect(await outcomeOf(tokens.verify(mine.accessToken))).toBe('TOKEN_REVOKED')
  for (const { accessToken } of [other, hers]) expect(await outcomeOf(tokens.verify(accessToken))).toBe('ok')
  expect(await tokens.sessions.end(mine.id, 'ada')).toBe(false)
})

test('a session can be revoked by its id while the store cannot tell whose it is', async () => {
  const { tokens: opener, store, clock } = createRevocable()
  const { accessToken } = await opener.sessions.open({ uid: 'ada' })
  const { sid = '' } = await opener.verify(accessToken)
  const get = () => Promise.reject(new Error('gone'))
  const broken: RevocationStore = { ...store, sessions: { ...(store.sessions as SessionStore), get } }
  const { tokens } = createRevocable({}, { store: broken, clock })
  const revoked: unknown[] = []
  tokens.on('revoked', (event) => revoked.push(event))
  await tokens.revoke.session(sid)
  expect(revoked).toMatchObject([{ kind: 'session', id: sid, sub: null }])
  expect(await outcomeOf(opener.verify(accessToken))).toBe('TOKEN_REVOKED')
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

test('a list from the start, if there is no page before', async () => {
  const { tokens } = createRevocable()
  await tokens.sessions.open({ uid: 'ada' })
  expect(await tokens.sessions.list('ada', { before: null } as object)).toHaveLength(1)
})
