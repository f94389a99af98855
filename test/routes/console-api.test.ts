import { describe, expect, test } from 'vitest'
import { createConsole } from '../../packages/console/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { createManager } from '../helpers/manager.js'
import { ORIGIN, OWN_PAGE, openConsole } from './console-fixture.js'

const REASON = 'Ticket 4711: laptop stolen'

describe('sessions', () => {
  test('of a user, newest first, a page at a time', async () => {
    const { tokens, get } = openConsole()
    for (let at = 0; at < 27; at++) {
      await tokens.sessions.open({ uid: 'ada' }, { ip: '192.0.2.26', userAgent: 'Test/1' })
    }
    await tokens.sessions.open({ uid: 'bob' })
    const read = async (query: string) =>
      (await (await get(`/api/sessions?${query}`)).json()) as {
        sessions: { id: string }[]
        next: string | null
      }
    const first = await read('user=ada')
    const second = await read(`user=ada&before=${first.next}`)
    const ids = [...first.sessions, ...second.sessions].map(({ id }) => id)
    expect([first.sessions.length, second.sessions.length, second.next]).toEqual([25, 2, null])
    expect(ids).toEqual((await tokens.sessions.list('ada')).map(({ id }) => id))
    expect(first.sessions[0]).toEqual({
      id: ids[0],
      createdAt: expect.stringMatching(/^20.*Z$/) as string,
      lastUsedAt: expect.stringMatching(/^20.*Z$/) as string,
      expiresAt: expect.stringMatching(/^20.*Z$/) as string,
      ip: '192.0.2.26',
      userAgent: 'Test/1',
      device: 'Test',
      label: null,
      data: null,
    })
  })

  test('are shown with their label and their data', async () => {
    const { tokens, get } = openConsole()
    for (const data of [{ label: "Ada's phone" }, { label: 'Work', tenant: 'north' }, { tenant: 'south' }]) {
      await tokens.sessions.open({ uid: data.label ?? 'none' }, { data })
      const { sessions } = (await (
        await get(`/api/sessions?user=${encodeURIComponent(data.label ?? 'none')}`)
      ).json()) as {
        sessions: { label: string | null; data: object | null }[]
      }
      const { label = null, ...rest } = data
      expect(sessions).toMatchObject([{ label, data: 'tenant' in data ? rest : null }])
    }
  })

  test('of exactly one page have no next one', async () => {
    const { tokens, get } = openConsole()
    for (let at = 0; at < 25; at++) await tokens.sessions.open({ uid: 'zoë' })
    const answer = await (await get('/api/sessions?user=zo%C3%AB')).json()
    expect(answer).toMatchObject({ next: null, sessions: { length: 25 } })
  })

  test.each(['', 'user=', 'user=ada&before=', 'user=ada&before=x', 'user=ada&before=../..'])(
    'the query "%s" is invalid',
    async (query) => {
      const response = await openConsole().get(`/api/sessions?${query}`)
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ code: 'REQUEST_INVALID' })
    },
  )

  test('that a manager does not keep are said to be none of its business', async () => {
    const { tokens } = createManager()
    const routes = createConsole(tokens, { allow: () => 'grace' })
    const response = await routes.handle(new Request(`${ORIGIN}/console/api/sessions?user=ada`))
    expect(response?.status).toBe(501)
    expect(await response?.json()).toMatchObject({
      message: expect.stringContaining('sessions.list needs') as string,
    })
  })
})

describe('revoke', () => {
  test('a session, a user, a key and everything, with who, from where and why', async () => {
    const { tokens, revoke } = openConsole()
    await tokens.sessions.open({ uid: 'ada' })
    const [session] = await tokens.sessions.list('ada')
    const id = session?.id ?? ''
    const events: object[] = []
    tokens.on('revoked', (event) => events.push(event))
    const headers = { ...OWN_PAGE, 'user-agent': 'Test/1' }

    const answers = [
      await revoke({ kind: 'session', id, confirmation: id, reason: ` ${REASON} ` }, headers),
      await revoke({ kind: 'session', id, confirmation: id, reason: REASON }, headers),
      await revoke({ kind: 'user', id: 'ada', confirmation: 'ada', reason: REASON }, headers),
      await revoke({ kind: 'key', id: 'k1', confirmation: 'k1', reason: REASON }, headers),
      await revoke({ kind: 'all', id: '', confirmation: 'everything', reason: REASON }, headers),
    ]
    expect(answers.map(({ status, answer }) => [status, answer['isKnown']])).toEqual([
      [200, true],
      [200, false],
      [200, null],
      [200, null],
      [200, null],
    ])
    const by = {
      reason: 'requested',
      issuer: null,
      actor: 'grace',
      note: REASON,
      ip: null,
      userAgent: 'Test/1',
    }
    expect(events).toEqual([
      { kind: 'session', id, sub: 'ada', ...by },
      { kind: 'session', id, sub: null, ...by },
      { kind: 'user', id: 'ada', sub: 'ada', ...by },
      { kind: 'key', id: 'k1', sub: null, ...by },
      { kind: 'all', id: '', sub: null, ...by },
    ])
  })

  const USER = { kind: 'user', id: 'ada', confirmation: 'ada', reason: REASON }

  test.each([
    ['no reason', { ...USER, reason: undefined }],
    ['a blank reason', { ...USER, reason: ' \n' }],
    ['a reason of control characters', { ...USER, reason: '\u0000\u001B' }],
    ['a reason of format characters', { ...USER, reason: '\u200B\u202E' }],
    ['a reason of more characters than are kept', { ...USER, reason: 'x'.repeat(501) }],
    ['a reason that is no text', { ...USER, reason: { toString: 'x' } }],
    ['no confirmation', { ...USER, confirmation: undefined }],
    ['the confirmation of another id', { ...USER, confirmation: 'Ada' }],
    ['another kind', { ...USER, kind: 'token' }],
    ['the name of an inherited member', { ...USER, kind: 'constructor' }],
    ['no id', { ...USER, id: '', confirmation: '' }],
    ['an id that is no text', { ...USER, id: ['ada'], confirmation: ['ada'] }],
    ['everything, with an id', { ...USER, kind: 'all', confirmation: 'everything' }],
    ['everything, with the wrong word', { ...USER, kind: 'all', id: '', confirmation: '' }],
    ['a list', [USER]],
    ['null', 'null'],
    ['no JSON', '{'],
    ['nothing', ''],
    ['too much', JSON.stringify({ ...USER, more: 'x'.repeat(1024 * 1024) })],
  ])('%s is refused, and nothing is revoked', async (_, body) => {
    const { tokens, revoke } = openConsole()
    let count = 0
    tokens.on('revoked', () => count++)
    expect(await revoke(body)).toMatchObject({ status: 400, answer: { code: 'REQUEST_INVALID' } })
    expect(count).toBe(0)
  })

  const { 'sec-fetch-site': _site, ...NO_SITE } = OWN_PAGE
  const { 'x-tokenlib-console': _header, ...NO_HEADER } = OWN_PAGE

  // A page of another site can send some of these, and never the others.
  test.each([
    ['another site', { ...OWN_PAGE, 'sec-fetch-site': 'cross-site' }],
    ['a sub-domain', { ...OWN_PAGE, 'sec-fetch-site': 'same-site', origin: ORIGIN }],
    ['an address that was typed', { ...OWN_PAGE, 'sec-fetch-site': 'none' }],
    ['a browser without Sec-Fetch-Site, from another origin', { ...NO_SITE, origin: 'https://evil.test' }],
    ['a sandboxed frame', { ...NO_SITE, origin: 'null' }],
    ['the same host without TLS', { ...NO_SITE, origin: ORIGIN.replace('https', 'http') }],
    ['nobody who says where it comes from', NO_SITE],
    ['a page without the header of the console', NO_HEADER],
  ])('a request from %s is refused, and nothing is revoked', async (_, headers) => {
    const { tokens, revoke } = openConsole()
    let count = 0
    tokens.on('revoked', () => count++)
    expect(await revoke(USER, headers)).toMatchObject({ status: 401, answer: { code: 'CSRF_MISMATCH' } })
    expect(count).toBe(0)
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/reports+json', 'text/json'])(
    'a body of %s is refused',
    async (type) => {
      const { revoke } = openConsole()
      expect(await revoke(USER, { ...OWN_PAGE, 'content-type': type })).toMatchObject({ status: 415 })
    },
  )

  test('a browser without Sec-Fetch-Site shows its origin', async () => {
    const { revoke } = openConsole()
    const headers = { ...NO_SITE, origin: ORIGIN, 'content-type': 'application/json; charset=utf-8' }
    expect(await revoke(USER, headers)).toMatchObject({ status: 200 })
  })

  test('what another page asks for is not answered either', async () => {
    const { get } = openConsole()
    for (const path of ['/api/health', '/api/sessions?user=ada', '/api/live']) {
      expect((await get(path, { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(401)
    }
  })

  test('a store that is down is told to the operator', async () => {
    const store = createMemoryStore()
    const broken = { ...store, revoke: () => Promise.reject(new Error('ECONNREFUSED')) }
    const { revoke } = openConsole({}, { store: broken })
    expect(await revoke(USER)).toMatchObject({ status: 503, answer: { code: 'REVOCATION_UNAVAILABLE' } })
  })
})

describe('health', () => {
  test('has the operator, the store, the signing key and the replica', async () => {
    const store = replicate(createMemoryStore())
    const { tokens, get } = openConsole({ store }, { store })
    await tokens.ready()
    await tokens.revoke.user('ada')
    expect(await (await get('/api/health')).json()).toEqual({
      actor: 'grace',
      keyId: tokens.keys.current,
      status: 'up',
      canCheck: true,
      canWrite: true,
      responseTimeMs: expect.any(Number) as number,
      error: null,
      replica: {
        isFresh: true,
        ageMs: expect.any(Number) as number,
        boundMs: expect.any(Number) as number,
        entries: 1,
        error: null,
      },
    })
    await store.close()
  })

  test('says what is wrong with a store', async () => {
    const store = createMemoryStore()
    const broken = { ...store, lookup: () => Promise.reject(new Error('ECONNREFUSED')) }
    const { get } = openConsole({}, { store: broken })
    const answer = await (await get('/api/health')).json()
    expect(answer).toMatchObject({ status: 'down', error: 'ECONNREFUSED', replica: null })
  })
})
