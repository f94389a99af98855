import { describe, expect, test } from 'vitest'
import type { TokenEvents, RevocationStore } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock, NOW } from '../helpers/manager.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'
import { signClaims } from '../helpers/sign-claims.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

type Sessions = NonNullable<RevocationStore['sessions']>

/** A manager on a memory store, some methods of its sessions replaced. */
function createWith(sessions: Partial<Sessions>) {
  const clock = createClock()
  const memory = createMemoryStore({ clock })
  const store = { ...memory, sessions: { ...memory.sessions, ...sessions } as Sessions }
  const { tokens } = createRevocable({}, { clock, store })
  const unavailable: TokenEvents['storeUnavailable'][] = []
  tokens.on('storeUnavailable', (event) => unavailable.push(event))
  return { tokens, store, unavailable }
}

describe('an invalid answer is reported with the operation and what is wrong with it', () => {
  test.each([undefined, null, {}, { sid: '' }, { sid: 7, startedAt: 1 }, { sid: 's' }])(
    'open: %j',
    async (answer) => {
      const { tokens, unavailable } = createWith({ open: async () => answer as never })
      expect(await outcomeOf(tokens.sessions.open({ uid: 'ada' }))).toBe('REVOCATION_UNAVAILABLE')
      expect(unavailable).toEqual([
        {
          operation: 'open',
          cause: new TypeError('sessions.open() must return the id and the start of the new session'),
        },
      ])
    },
  )

  test.each([undefined, null, {}, [undefined], [{ sid: 7 }], [{ sid: 's', user: 7 }]])(
    'list: %j',
    async (answer) => {
      const { tokens, unavailable } = createWith({ list: async () => answer as never })
      expect(await outcomeOf(tokens.sessions.list('ada'))).toBe('REVOCATION_UNAVAILABLE')
      expect(unavailable).toEqual([
        {
          operation: 'list',
          cause: new TypeError('sessions.list() must return an array of sessions'),
        },
      ])
    },
  )

  test.each([
    undefined,
    {},
    { outcome: 'rotated', now: 1, movedAt: 1, expiresAt: 1 },
    { outcome: 'advanced', now: 1, movedAt: 1 },
    { outcome: 'repeated', now: '1', movedAt: 1, expiresAt: 1 },
    { outcome: 'kept', now: 1, movedAt: Number.NaN, expiresAt: 1 },
    { outcome: 'reused' },
  ])('rotate: %j', async (answer) => {
    const { tokens, unavailable } = createWith({ rotate: async () => answer as never })
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('REVOCATION_UNAVAILABLE')
    expect(unavailable).toEqual([
      {
        operation: 'rotate',
        cause: new TypeError(
          'sessions.rotate() must return an outcome: repeated, kept or advanced, with now, movedAt and expiresAt, or ' +
            'superseded, reused or ended',
        ),
      },
    ])
  })

  test.each([undefined, null, {}, { ip: 1, userAgent: null }, { ip: '192.0.2.1' }])(
    'a reuse is reported without an invalid client: %j',
    async (client) => {
      const answer = { outcome: 'reused', generation: 1, client } as never
      const { tokens } = createWith({ rotate: async () => answer, present: async () => answer })
      const previous: unknown[] = []
      tokens.on('reuseDetected', (event) => previous.push(event.previous))
      const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
      expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('REFRESH_TOKEN_REUSED')
      expect(previous).toEqual([null])
    },
  )

  test.each([undefined, {}, { sid: 's' }, { user: 'ada' }, []])('get: %j', async (answer) => {
    const { tokens, unavailable } = createWith({ get: async () => answer as never })
    expect(await outcomeOf(tokens.sessions.get('s'))).toBe('REVOCATION_UNAVAILABLE')
    expect(unavailable).toEqual([
      { operation: 'get', cause: new TypeError('sessions.get() must return a session or null') },
    ])
  })

  test.each([undefined, null, {}, { outcome: 'advanced' }, { outcome: 'reused' }])(
    'present: %j',
    async (answer) => {
      const { tokens, unavailable } = createWith({ present: async () => answer as never })
      const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
      const presented = tokens.verify(refreshToken, { type: 'refresh' })
      expect(await outcomeOf(presented)).toBe('REVOCATION_UNAVAILABLE')
      expect(unavailable).toEqual([
        {
          operation: 'present',
          cause: new TypeError(
            'sessions.present() must return an outcome: current, superseded, reused or ended',
          ),
        },
      ])
    },
  )

  test('a store that no longer keeps sessions', async () => {
    const { tokens, store, unavailable } = createWith({})
    Object.assign(store, { sessions: undefined })
    expect(await outcomeOf(tokens.sessions.list('ada'))).toBe('REVOCATION_UNAVAILABLE')
    expect(unavailable).toEqual([{ operation: 'list', cause: new TypeError('The store keeps no sessions') }])
  })
})

describe('what is listed', () => {
  test('a session that was not used for too long is listed no more, but revoked with the others', async () => {
    const { tokens, clock } = createRevocable({ JWT_REFRESH_IDLE_EXPIRES: '1h' })
    const idle = await tokens.sessions.open({ uid: 'ada' })
    clock.seconds = NOW + 1800
    const mine = await tokens.sessions.open({ uid: 'ada' })
    clock.seconds = NOW + 3600
    expect(await tokens.sessions.list('ada')).toHaveLength(2)
    clock.seconds = NOW + 3600.001
    const [listed, ...more] = await tokens.sessions.list('ada')
    const payload = internalsOf(tokens).verifyWithoutRevocation(mine.accessToken, { allowExpired: true })
    expect([listed?.id, more]).toEqual([payload.sid, []])
    const revoked: string[] = []
    tokens.on('revoked', ({ id }) => revoked.push(id))
    expect(await tokens.sessions.endOthers(payload)).toBe(1)
    const { sid } = internalsOf(tokens).verifyWithoutRevocation(idle.accessToken, { allowExpired: true })
    expect(revoked).toEqual([sid])
  })

  test('an end is shown for as long as a Date can show it', async () => {
    const { tokens } = createRevocable()
    await tokens.sessions.open({ uid: 'ada' }, { refresh: { expiresAt: new Date(8.64e15) } })
    expect(await tokens.sessions.list('ada')).toMatchObject([{ expiresAt: new Date(8.64e15) }])
  })

  test('an empty text is nothing known, and anything but a text is a mistake that is named', async () => {
    const { tokens } = createRevocable()
    await tokens.sessions.open({ uid: 'ada' }, { ip: '', userAgent: '' })
    expect(await tokens.sessions.list('ada')).toMatchObject([{ ip: null, userAgent: null }])
    for (const option of ['ip', 'userAgent']) {
      await expect(tokens.sessions.open({ uid: 'ada' }, { [option]: 7 })).rejects.toThrow(
        new TypeError(`${option} must be a string`),
      )
    }
  })
})

describe('the other sessions of a user are revoked page by page', () => {
  const OWN = { sub: 'ada', sid: 's3' }
  const toPage = (first: number, length: number) =>
    Array.from({ length }, (_, at) => ({ sid: `s${first + at}`, user: 'ada' }))

  /** A manager on a store that answers with these pages, one after the other. */
  function createPaged(...pages: object[][]) {
    const asked: (string | null)[] = []
    const { tokens, store } = createWith({
      list: async (_user, { before }) => {
        asked.push(before)
        return (pages.shift() ?? []) as never
      },
    })
    const batches: string[][] = []
    const { revoke } = store
    Object.assign(store, {
      revoke: async (batch: readonly { readonly id: string }[]) => {
        batches.push(batch.map(({ id }) => id))
        return revoke(batch as never)
      },
    })
    return { tokens, asked, batches }
  }

  test('a full page is followed by the next one, which may be empty', async () => {
    for (const rest of [0, 1, 99]) {
      const { tokens, asked, batches } = createPaged(toPage(0, 100), toPage(100, rest))
      expect(await tokens.sessions.endOthers(OWN)).toBe(99 + rest)
      expect(asked).toEqual([null, 's99'])
      expect(batches.flat()).toHaveLength(99 + rest)
      expect(batches.flat()).not.toContain('s3')
    }
  })

  test('where there are no others, nothing is revoked', async () => {
    for (const page of [[], toPage(3, 1)]) {
      const { tokens, asked, batches } = createPaged(page)
      expect(await tokens.sessions.endOthers(OWN)).toBe(0)
      expect([asked, batches]).toEqual([[null], []])
    }
  })

  test('a store that repeats the last session of a page is told so, instead of being asked for ever', async () => {
    const { tokens, asked } = createPaged(toPage(0, 100), toPage(99, 100))
    await expect(tokens.sessions.endOthers(OWN)).rejects.toThrow(
      new TypeError('sessions.list() must return the sessions after `before`, without that one'),
    )
    expect(asked).toEqual([null, 's99'])
  })
})

describe('a mistake in a call is told by name', () => {
  const { tokens } = createRevocable()

  test.each<[string, () => Promise<unknown>, string]>([
    [
      'a limit',
      () => tokens.sessions.list('ada', { limit: 0 }),
      'limit must be a whole number from 1 to 1000',
    ],
    [
      'a page',
      () => tokens.sessions.list('ada', { before: '' }),
      'before must be the id of a session, or null',
    ],
    ['the user of a list', () => tokens.sessions.list(''), 'uid must be a non-empty string'],
    ['a session id', () => tokens.sessions.get(''), 'A session id must be a non-empty string'],
    ['the user of a session', () => tokens.sessions.get('s', ''), 'uid must be a non-empty string'],
    [
      'a token of no session',
      () => tokens.sessions.endOthers({ sub: 'ada' }),
      'The token belongs to no session',
    ],
    [
      'the session of a logout',
      () => tokens.logout({ sub: 'ada', sid: '' }),
      'A session id must be a non-empty string',
    ],
    [
      'an option of a list',
      () => tokens.sessions.list('ada', { limits: 1 } as never),
      'Unknown option "limits" of sessions.list(); did you mean "limit"?',
    ],
    [
      'an option of a refresh',
      () => tokens.sessions.refresh('a.b.c', { acces: {} } as never),
      'Unknown option "acces" of sessions.refresh(); did you mean "access"?',
    ],
    [
      'no refresh token',
      () => tokens.sessions.refresh(null as never),
      'sessions.refresh() takes a request or a refresh token. If the last refresh returned refreshToken: null, keep using the previous token',
    ],
    [
      'an option of a revocation',
      () => tokens.revoke.all({ actors: 'x' } as never),
      'Unknown option "actors" of revoke.all(); did you mean "actor"?',
    ],
    [
      'an option of a failed login',
      async () => tokens.sessions.reportFailedLogin({ reasons: 'user' } as never),
      'Unknown option "reasons" of reportFailedLogin(); did you mean "reason"?',
    ],
    ['the user whose session ends', () => tokens.sessions.end('s', ''), 'uid must be a non-empty string'],
    [
      'the payload of a token that belongs to no session',
      () => tokens.revoke.session({}),
      'The token belongs to no session: revoke the token instead',
    ],
    ['an actor', () => tokens.revoke.all({ actor: 7 as never }), 'actor must be a string'],
    [
      'the issuer of a session that the store keeps',
      () => tokens.sessions.end('s', 'ada', { issuer: 'own' }),
      'sessions.end() takes no issuer here: the issuer is known from the tokens or sessions',
    ],
  ])('%s', async (_what, call, message) => {
    await expect(call()).rejects.toThrow(new TypeError(message))
  })
})

test('a session of the configured length asks nothing more of the store than the start did', async () => {
  const clock = createClock()
  const memory = createMemoryStore({ clock })
  const needs: number[] = []
  const store: RevocationStore = {
    ...memory,
    async prepare(need) {
      needs.push(need.longestLifetime)
      return memory.prepare(need)
    },
  }
  const { tokens } = createRevocable({ JWT_REFRESH_TOKEN_EXPIRES: '30d' }, { clock, store })
  await tokens.ready()
  await tokens.sessions.open({ uid: 'ada' })
  expect(needs).toHaveLength(1)
})

test.each([
  ['no session id', { gen: 0 }],
  ['no generation', { sid: 'abc' }],
])(
  'a genuine refresh token with %s belongs to no session, and is valid for all but a refresh',
  async (_what, part) => {
    const { tokens } = createRevocable()
    const claims = { sub: 'ada', type: 'refresh', jti: 'x', iat: NOW, exp: NOW + 60, ...part }
    const token = signClaims(claims)
    expect(await outcomeOf(tokens.verify(token, { type: 'refresh' }))).toBe('ok')
    await expect(tokens.sessions.refresh(token)).rejects.toMatchObject({
      code: 'TOKEN_INVALID',
    })
  },
)
