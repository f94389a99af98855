import { describe, expect, test } from 'vitest'
import {
  InsufficientScopeError,
  MissingTokenError,
  RevocationUnavailableError,
} from '../../packages/tokenlib/src/index.js'
import {
  createEventReceiver,
  type EventReceiverOptions,
  type SecurityEvent,
  type UidFinder,
} from '../../packages/issuers/src/index.js'
import { NOW } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import {
  accessToken,
  API,
  CAEP,
  CLIENT,
  createReceiving,
  eventToken,
  forge,
  ID,
  LOGOUT,
  logoutToken,
  OTHER,
  RISC,
  send,
  sendEvent,
  STRANGER,
} from './security-events-fixture.js'

const ADA = { format: 'iss_sub', iss: ID.issuer, sub: 'ada' }
const SESSION = { format: 'opaque', id: 'tablet' }
const EMAIL = { format: 'email', email: 'ada@example.com' }
const REVOKED = `${CAEP}session-revoked`
const DISABLED = `${RISC}account-disabled`
const CHANGED = `${CAEP}credential-change`
const VERIFICATION = 'https://schemas.openid.net/secevent/ssf/event-type/verification'

function createEvents(options: Partial<EventReceiverOptions<unknown>> = {}) {
  const receiving = createReceiving()
  const seen: SecurityEvent[] = []
  const routes = createEventReceiver(receiving.tokens, {
    audience: API,
    onEvent: (event) => seen.push(event),
    ...options,
  })
  const outcome = (token: string) => outcomeOf(receiving.tokens.verify(token))
  const ids = () => receiving.revoked.map(({ kind, id }) => `${kind} ${id}`)
  return { ...receiving, routes, seen, outcome, ids }
}

test('an event revokes, is acknowledged with an empty 202, and is recorded with its sender and type', async () => {
  const { routes, outcome, revoked, seen } = createEvents()
  const before = [accessToken(ID, 'ada', 'tablet'), accessToken(ID, 'grace'), accessToken(OTHER, 'ada')]
  const { status, body, headers } = await sendEvent(routes, eventToken(DISABLED, ADA))
  expect([status, body, headers.get('cache-control')]).toEqual([202, null, 'no-store'])
  expect(await Promise.all(before.map(outcome))).toEqual(['TOKEN_REVOKED', 'ok', 'ok'])
  expect(revoked).toEqual([{ kind: 'user', id: 'id.example:ada', actor: ID.issuer, note: DISABLED }])
  expect(seen).toMatchObject([{ issuer: ID.issuer, type: DISABLED, sub: 'ada', subject: ADA, revoked: true }])
})

describe('what each event revokes', () => {
  const change = (changeType: unknown) => ({ events: { [CHANGED]: { change_type: changeType } } })
  const both = ['user id.example:ada', 'session tablet']
  test.each<[type: string, subject: unknown, changes: object, revoked: string[]]>([
    [REVOKED, SESSION, {}, ['session tablet']],
    [REVOKED, ADA, {}, ['user id.example:ada']],
    [REVOKED, { format: 'complex', session: SESSION, user: ADA }, {}, both],
    [REVOKED, { format: 'complex', session: SESSION, tenant: SESSION }, {}, ['session tablet']],
    [REVOKED, { format: 'complex', user: ADA, device: SESSION }, {}, ['user id.example:ada']],
    [REVOKED, { format: 'complex', user: { format: 'opaque', id: 'ada' } }, {}, ['user id.example:ada']],
    // Drafts: the subject in the event, without a format.
    [REVOKED, undefined, { events: { [REVOKED]: { subject: { user: ADA, session: SESSION } } } }, both],
    [REVOKED, undefined, { events: { [REVOKED]: { subject: ADA } } }, ['user id.example:ada']],
    [
      DISABLED,
      undefined,
      { events: { [DISABLED]: { subject: { subject_type: 'iss-sub', iss: ID.issuer, sub: 'ada' } } } },
      ['user id.example:ada'],
    ],
    [CHANGED, ADA, change('revoke'), ['user id.example:ada']],
    [CHANGED, ADA, change('delete'), ['user id.example:ada']],
    [CHANGED, ADA, change('update'), ['user id.example:ada']],
    [CHANGED, ADA, change(undefined), ['user id.example:ada']],
    [CHANGED, ADA, change('create'), []],
    [DISABLED, { format: 'opaque', id: 'ada' }, {}, ['user id.example:ada']],
    [`${RISC}account-purged`, ADA, {}, ['user id.example:ada']],
    [`${RISC}credential-compromise`, ADA, {}, ['user id.example:ada']],
    [`${RISC}sessions-revoked`, ADA, {}, ['user id.example:ada']],
    [`${RISC}account-enabled`, ADA, {}, []],
    [VERIFICATION, SESSION, { events: { [VERIFICATION]: { state: 'x' } } }, []],
    ['https://example.com/event', ADA, {}, []],
    ['https://example.com/event', undefined, {}, []],
    ['__proto__', ADA, { events: JSON.parse('{"__proto__":{}}') as object }, []],
    ['toString', ADA, {}, []],
  ])('%s about %j with %j', async (type, subject, changes, revoked) => {
    const { routes, ids, seen } = createEvents()
    expect((await sendEvent(routes, eventToken(type, subject, changes))).status).toBe(202)
    expect(ids().toSorted()).toEqual(revoked.toSorted())
    expect(seen).toMatchObject([{ type, revoked: revoked.length > 0 }])
  })

  test('the application may say otherwise', async () => {
    const type = `${RISC}recovery-activated`
    const { routes, ids } = createEvents({
      events: { [type]: 'user', [DISABLED]: 'none' },
      revoke: 'session',
    })
    await sendEvent(routes, eventToken(DISABLED, ADA))
    expect(ids()).toEqual([])
    await sendEvent(routes, eventToken(type, ADA))
    await sendEvent(routes, eventToken(REVOKED, { format: 'complex', session: SESSION, user: ADA }))
    expect(ids()).toEqual(['user id.example:ada', 'session tablet'])
  })

  test('several events in one token', async () => {
    const { routes, ids, seen } = createEvents()
    const events = { [VERIFICATION]: {}, [DISABLED]: {} }
    expect((await sendEvent(routes, eventToken('', ADA, { events }))).status).toBe(202)
    expect(ids()).toEqual(['user id.example:ada'])
    expect(seen.map(({ type }) => type)).toEqual([VERIFICATION, DISABLED])
  })
})

describe('an event about a user revokes the user, whatever it says about a session', () => {
  const disabled = (subject: object) =>
    eventToken(DISABLED, { format: 'complex', session: SESSION, ...subject })

  test.each(['session', 'both'] as const)('with revoke: %s', async (revoke) => {
    const { routes, ids, seen, outcome } = createEvents({ revoke })
    const other = accessToken(ID, 'ada', 'phone')
    expect((await sendEvent(routes, disabled({ user: ADA }))).status).toBe(202)
    expect(await outcome(other)).toBe('TOKEN_REVOKED')
    expect(ids()).toEqual(['user id.example:ada'])
    expect(seen).toMatchObject([{ sub: 'ada', sid: 'tablet', revoked: true }])
  })

  test.each<[name: string, subject: object]>([
    ['a user whom nothing can find', { user: EMAIL }],
    ['no user', {}],
  ])('%s is refused, or passed to onEvent as not revoked', async (_name, subject) => {
    const { routes, ids, seen } = createEvents()
    expect((await sendEvent(routes, disabled(subject))).status).toBe(202)
    expect(seen).toMatchObject([{ sub: null, sid: 'tablet', revoked: false }])
    const deaf = createEvents({ onEvent: undefined } as object)
    expect((await sendEvent(deaf.routes, disabled(subject))).status).toBe(400)
    expect([...ids(), ...deaf.ids()]).toEqual([])
  })

  test('an unknown user is not revoked, and neither is the session', async () => {
    const { routes, ids, seen } = createEvents({ toSubject: () => null })
    expect((await sendEvent(routes, disabled({ user: EMAIL }))).status).toBe(202)
    expect([ids(), seen]).toMatchObject([[], [{ revoked: false }]])
  })
})

describe('identifiers without a sub', () => {
  test('are looked up by the application, among the users of the sender', async () => {
    const toSubject = ({ email }: { readonly email?: unknown }) => (email === EMAIL.email ? 'ada' : null)
    const { routes, ids, seen } = createEvents({ toSubject })
    expect((await sendEvent(routes, eventToken(DISABLED, EMAIL, {}, OTHER))).status).toBe(202)
    expect((await sendEvent(routes, eventToken(DISABLED, { ...EMAIL, email: 'x' }))).status).toBe(202)
    expect(ids()).toEqual(['user other.example:ada'])
    expect(seen.map(({ sub, revoked }) => [sub, revoked])).toEqual([
      ['ada', true],
      [null, false],
    ])
  })

  test('without toSubject they are passed to onEvent, and refused if there is none', async () => {
    const { routes, seen, ids } = createEvents()
    expect((await sendEvent(routes, eventToken(DISABLED, EMAIL))).status).toBe(202)
    expect(seen).toMatchObject([{ subject: EMAIL, sub: null, revoked: false }])
    const deaf = createEvents({ onEvent: undefined } as object)
    expect(await sendEvent(deaf.routes, eventToken(DISABLED, EMAIL))).toMatchObject({
      status: 400,
      body: { err: 'invalid_request' },
    })
    expect([...ids(), ...deaf.ids()]).toEqual([])
  })

  test('toUid signs out a user of own tokens', async () => {
    const { routes, tokens, outcome } = createEvents({
      toUid: ({ subject }) => (subject?.['email'] === EMAIL.email ? 'user-7' : null),
    })
    const own = tokens.createAccessToken({ uid: 'user-7' })
    expect((await sendEvent(routes, eventToken(DISABLED, EMAIL))).status).toBe(202)
    expect(await outcome(own)).toBe('TOKEN_REVOKED')
  })

  test('aliases count each; those of another issuer do not', async () => {
    const { routes, ids } = createEvents()
    const alien = { ...ADA, iss: OTHER.issuer, sub: 'grace' }
    const aliases = { format: 'aliases', identifiers: [EMAIL, alien, ADA] }
    expect((await sendEvent(routes, eventToken(DISABLED, aliases))).status).toBe(202)
    expect(ids()).toEqual(['user id.example:ada'])
    const only = { format: 'aliases', identifiers: [EMAIL, alien] }
    expect(await sendEvent(routes, eventToken(DISABLED, only))).toMatchObject({
      body: { err: 'access_denied' },
    })
    expect(ids()).toEqual(['user id.example:ada'])
  })
})

describe('toUid finds own users by the issuer of the subject, not by the sender', () => {
  const users = new Map([
    [`${ID.issuer} 7`, 'alice'],
    [`${OTHER.issuer} 7`, 'bob'],
    [`${ID.issuer} second`, 'carol'],
  ])
  const toUid: UidFinder = ({ subjectIssuer, sub }) =>
    sub === null ? null : (users.get(`${subjectIssuer} ${sub}`) ?? null)
  const subjectIssuers = { [ID.issuer]: [OTHER.issuer] }

  test.each<[name: string, subject: object, revoked: string[]]>([
    ['a user of an issuer that the sender speaks for', { ...ADA, iss: OTHER.issuer, sub: '7' }, ['bob']],
    ['a user of every issuer that the sender speaks for', { ...ADA, sub: '7' }, ['alice', 'bob']],
    [
      'the second of two aliases',
      { format: 'aliases', identifiers: [ADA, { ...ADA, sub: 'second' }] },
      ['carol'],
    ],
  ])('%s', async (_name, subject, revoked) => {
    const { routes, tokens, outcome } = createEvents({ subjectIssuers, toUid })
    const uids = ['alice', 'bob', 'carol']
    const own = uids.map((uid) => tokens.createAccessToken({ uid }))
    expect((await sendEvent(routes, eventToken(DISABLED, subject))).status).toBe(202)
    const outcomes = await Promise.all(own.map(outcome))
    expect(uids.filter((_uid, at) => outcomes[at] === 'TOKEN_REVOKED')).toEqual(revoked)
  })

  test('a user whom two identifiers name is revoked once', async () => {
    const { routes, ids } = createEvents({ subjectIssuers, toUid: () => 'user-7' })
    await sendEvent(routes, eventToken(DISABLED, ADA))
    expect(ids().filter((id) => id === 'user user-7')).toHaveLength(1)
  })

  test('for a session without a user it is called once, with the issuer of the session', async () => {
    const calls: unknown[] = []
    const { routes } = createEvents({
      toUid: ({ subjectIssuer, sub, sid }) => {
        calls.push({ subjectIssuer, sub, sid })
        return null
      },
    })
    await sendEvent(routes, eventToken(REVOKED, SESSION))
    expect(calls).toEqual([{ subjectIssuer: ID.issuer, sub: null, sid: 'tablet' }])
  })
})

describe('a sender cannot sign out the users of another issuer', () => {
  const theirs = { format: 'iss_sub', iss: OTHER.issuer, sub: 'ada' }
  test.each<[name: string, subject: unknown]>([
    ['iss_sub', theirs],
    ['a complex subject', { format: 'complex', user: theirs }],
    ['a complex subject with a session', { format: 'complex', user: theirs, session: SESSION }],
    ['aliases', { format: 'aliases', identifiers: [theirs] }],
    ['an older format', { subject_type: 'id_token_claims', iss: OTHER.issuer, sub: 'ada' }],
    ['an issuer that nobody knows', { ...theirs, iss: STRANGER.issuer }],
    ['another spelling of its own', { ...theirs, iss: `${ID.issuer}/` }],
  ])('%s', async (_name, subject) => {
    const { routes, ids, seen, outcome } = createEvents()
    const answer = await sendEvent(routes, eventToken(REVOKED, subject))
    expect(answer).toMatchObject({ status: 400, body: { err: 'access_denied' } })
    expect([ids(), seen]).toEqual([[], []])
    expect(await outcome(accessToken(OTHER, 'ada', 'tablet'))).toBe('ok')
  })

  test('not even with one event among others that it may send', async () => {
    const { routes, ids } = createEvents()
    const events = { [DISABLED]: { subject: ADA }, [REVOKED]: { subject: theirs } }
    expect((await sendEvent(routes, eventToken('', undefined, { events }))).status).toBe(400)
    expect(ids()).toEqual([])
  })

  test('a session of the same name at another issuer lives on', async () => {
    const { routes, outcome } = createEvents()
    await sendEvent(routes, eventToken(REVOKED, SESSION))
    expect(await outcome(accessToken(ID, 'grace', 'tablet'))).toBe('TOKEN_REVOKED')
    expect(await outcome(accessToken(OTHER, 'grace', 'tablet'))).toBe('ok')
  })

  test('unless subjectIssuers allows it, in that direction only', async () => {
    const { routes, ids } = createEvents({ subjectIssuers: { [ID.issuer]: [OTHER.issuer] } })
    expect((await sendEvent(routes, eventToken(DISABLED, theirs))).status).toBe(202)
    expect(ids()).toEqual(['user other.example:ada'])
    expect((await sendEvent(routes, eventToken(DISABLED, ADA, {}, OTHER))).status).toBe(400)
    await sendEvent(routes, eventToken(REVOKED, SESSION))
    expect(ids()).toEqual(['user other.example:ada', 'session tablet', 'session tablet'])
  })
})

describe('what is no event of a known transmitter is refused, and revokes nothing', () => {
  const pem = ID.pair.publicKey.export({ format: 'pem', type: 'spki' }) as string
  const claims = { aud: API, jti: 'j', sub_id: ADA, events: { [DISABLED]: {} } }
  test.each<[name: string, err: string, token: () => string]>([
    [
      'the key of another provider',
      'invalid_key',
      () => STRANGER.sign({ ...claims, iss: ID.issuer }, { typ: 'secevent+jwt' }),
    ],
    [
      'the key of another provider that is known',
      'invalid_key',
      () => OTHER.sign({ ...claims, iss: ID.issuer }, { typ: 'secevent+jwt' }),
    ],
    ['an unknown issuer', 'invalid_issuer', () => eventToken(DISABLED, ADA, {}, STRANGER)],
    ['another audience', 'invalid_audience', () => eventToken(DISABLED, ADA, { aud: CLIENT })],
    ['no typ', 'invalid_request', () => eventToken(DISABLED, ADA, {}, ID, { typ: undefined })],
    ['the typ JWT', 'invalid_request', () => eventToken(DISABLED, ADA, {}, ID, { typ: 'JWT' })],
    ['a logout token', 'invalid_request', () => logoutToken({ aud: API, events: { [LOGOUT]: {} } })],
    ['an access token', 'invalid_request', () => accessToken(ID, 'ada')],
    ['no events', 'invalid_request', () => eventToken(DISABLED, ADA, { events: undefined })],
    ['empty events', 'invalid_request', () => eventToken(DISABLED, ADA, { events: {} })],
    ['events that are a list', 'invalid_request', () => eventToken(DISABLED, ADA, { events: [DISABLED] })],
    [
      'an event that is no object',
      'invalid_request',
      () => eventToken(DISABLED, ADA, { events: { [DISABLED]: true } }),
    ],
    ['no subject', 'invalid_request', () => eventToken(DISABLED, undefined)],
    ['a subject that is a text', 'invalid_request', () => eventToken(DISABLED, 'ada')],
    [
      'a subject without a format',
      'invalid_request',
      () => eventToken(DISABLED, { iss: ID.issuer, sub: 'ada' }),
    ],
    ['a subject without a sub', 'invalid_request', () => eventToken(DISABLED, { ...ADA, sub: undefined })],
    ['a sub that is no text', 'invalid_request', () => eventToken(DISABLED, { ...ADA, sub: { sub: 'ada' } })],
    ['an empty id', 'invalid_request', () => eventToken(REVOKED, { format: 'opaque', id: '' })],
    [
      'nested aliases',
      'invalid_request',
      () =>
        eventToken(DISABLED, { format: 'aliases', identifiers: [{ format: 'aliases', identifiers: [ADA] }] }),
    ],
    [
      'seventeen aliases',
      'invalid_request',
      () => eventToken(DISABLED, { format: 'aliases', identifiers: Array.from({ length: 17 }, () => ADA) }),
    ],
    ['no jti', 'invalid_request', () => eventToken(DISABLED, ADA, { jti: undefined })],
    ['no iat', 'invalid_request', () => eventToken(DISABLED, ADA, { iat: undefined })],
    ['an iat in the future', 'invalid_request', () => eventToken(DISABLED, ADA, { iat: NOW + 3600 })],
    ['an iat a month ago', 'invalid_request', () => eventToken(DISABLED, ADA, { iat: NOW - 30 * 86_400 })],
    ['an exp in the past', 'invalid_request', () => eventToken(DISABLED, ADA, { exp: NOW - 3600 })],
    ['no JWT', 'invalid_request', () => 'event'],
    ['no body', 'invalid_request', () => ''],
  ])('%s: %s', async (_name, err, create) => {
    const { routes, ids, seen } = createEvents()
    const { status, body } = await sendEvent(routes, create())
    expect([status, body]).toEqual([400, { err, description: expect.any(String) as string }])
    expect([ids(), seen]).toEqual([[], []])
  })

  test.each([
    ['none', null],
    ['HS256', pem],
  ])('the algorithm %s', async (alg, secret) => {
    const { routes, ids } = createEvents()
    const header = { alg, typ: 'secevent+jwt', kid: 'k1' }
    expect((await sendEvent(routes, forge(claims, header, secret))).status).toBe(400)
    expect(ids()).toEqual([])
  })

  test.each<[type: string, status: number]>([
    ['application/json', 400],
    ['application/jwt', 400],
    ['text/plain', 400],
    ['Application/SecEvent+JWT; charset=utf-8', 202],
  ])('the content type %s: %i', async (type, status) => {
    const { routes } = createEvents()
    expect((await sendEvent(routes, eventToken(DISABLED, ADA), { 'content-type': type })).status).toBe(status)
  })

  test('a claim or a member twice', async () => {
    const { routes, ids } = createEvents()
    const payload = JSON.stringify({ ...claims, iss: ID.issuer, iat: NOW })
    const twice = payload.replace('"sub":"ada"', '"sub":"ada","sub":"grace"')
    const sign = (text: string) => ID.signText(text, { typ: 'secevent+jwt' })
    expect(await sendEvent(routes, sign(twice))).toMatchObject({
      status: 400,
      body: { err: 'invalid_request' },
    })
    expect(ids()).toEqual([])
    expect((await sendEvent(routes, sign(payload))).status).toBe(202)
  })

  test('a megabyte, and another method', async () => {
    const { routes } = createEvents()
    expect((await sendEvent(routes, 'a'.repeat(2 ** 20))).status).toBe(413)
    expect((await send(routes, { method: 'GET' })).status).toBe(405)
  })
})

test('an event that is sent again is acknowledged, and does nothing more', async () => {
  const { routes, ids, seen, clock } = createEvents()
  const token = eventToken(DISABLED, ADA)
  expect((await sendEvent(routes, token)).status).toBe(202)
  clock.seconds += 6 * 86_400
  expect((await sendEvent(routes, token)).status).toBe(202)
  expect([ids().length, seen.length]).toEqual([1, 1])
})

test('onEvent that throws fails the request, which is done again when it is repeated', async () => {
  let calls = 0
  const { routes, ids } = createEvents({
    onEvent: () => {
      if (++calls === 1) throw new MissingTokenError()
    },
  })
  const token = eventToken(DISABLED, ADA)
  await expect(sendEvent(routes, token)).rejects.toMatchObject({ cause: { code: 'TOKEN_MISSING' } })
  expect((await sendEvent(routes, token)).status).toBe(202)
  expect([calls, ids().length]).toEqual([2, 2])
})

describe('the authorization of the transmitter', () => {
  const ask = (authorization: (request: Request) => unknown) => {
    const events = createEvents({ authorization })
    return {
      ...events,
      answer: sendEvent(events.routes, eventToken(DISABLED, ADA), { authorization: 'Bearer x' }),
    }
  }

  test('a dependency that returns lets it in, and sees the request', async () => {
    const { answer } = ask((request) => request.headers.get('authorization') === 'Bearer x')
    expect((await answer).status).toBe(202)
  })

  test.each<[error: Error, status: number, err: string]>([
    [new MissingTokenError(), 400, 'authentication_failed'],
    [new InsufficientScopeError(['events'], []), 400, 'access_denied'],
    [new RevocationUnavailableError(new Error('down')), 503, 'temporarily_unavailable'],
  ])('%s: %i %s', async (error, status, err) => {
    const { answer, ids } = ask(() => {
      throw error
    })
    expect(await answer).toMatchObject({ status, body: { err } })
    expect(ids()).toEqual([])
  })

  test('a response that it throws is the answer', async () => {
    const { answer, ids } = ask(() => {
      throw Response.json({ error: 'who' }, { status: 401, headers: { 'www-authenticate': 'Basic' } })
    })
    const { status, headers, body } = await answer
    expect([status, headers.get('www-authenticate'), body]).toEqual([401, 'Basic', { error: 'who' }])
    expect(ids()).toEqual([])
  })

  test.each<[name: string, thrown: unknown]>([
    ['a response that refuses nothing', new Response(null, { status: 202 })],
    ['an error with a status of its own', Object.assign(new Error('x'), { status: 204, statusCode: 204 })],
    ['an error that is a refusal elsewhere', Object.assign(new Error('x'), { status: 403 })],
    ['undefined', undefined],
  ])('%s that it throws is an error of the application', async (_name, thrown) => {
    const { answer, ids } = ask(() => {
      throw thrown
    })
    await expect(answer).rejects.toMatchObject({ status: 500 })
    expect(ids()).toEqual([])
  })

  test.each([null, false, 0, '', new Error('no')])('one that returns %s lets nobody in', async (value) => {
    const { answer, ids } = ask(() => value)
    await expect(answer).rejects.toThrow(TypeError)
    expect(ids()).toEqual([])
  })
})
