import { describe, expect, onTestFinished, test } from 'vitest'
import {
  createGlobalTokenRevocation,
  type GlobalTokenRevocationOptions,
  type SecurityEvent,
} from '../../packages/issuers/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { createClock, NOW } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import {
  accessToken,
  API,
  createReceiving,
  forge,
  ID,
  logoutToken,
  OTHER,
  revocationJwt,
  send,
  sendRevocation,
  STRANGER,
} from './security-events-fixture.js'

const AUDIENCE = `${API}/global-token-revocation`
const ADA = { format: 'iss_sub', iss: ID.issuer, sub: 'ada' }
const EMAIL = { format: 'email', email: 'ada@example.com' }

function createRevocation(options: Partial<GlobalTokenRevocationOptions> = {}) {
  const receiving = createReceiving()
  const routes = createGlobalTokenRevocation(receiving.tokens, { audience: AUDIENCE, ...options })
  const outcome = (token: string) => outcomeOf(receiving.tokens.verify(token))
  const ids = () => receiving.revoked.map(({ kind, id }) => `${kind} ${id}`)
  return { ...receiving, routes, outcome, ids }
}

test('a request revokes every token of the user, and is answered with 204', async () => {
  const seen: SecurityEvent[] = []
  const { routes, outcome, revoked } = createRevocation({ onRevocation: (event) => seen.push(event) })
  const before = [accessToken(ID, 'ada', 'tablet'), accessToken(ID, 'grace'), accessToken(OTHER, 'ada')]
  const { status, body } = await sendRevocation(routes, ADA)
  expect([status, body]).toEqual([204, null])
  expect(await Promise.all(before.map(outcome))).toEqual(['TOKEN_REVOKED', 'ok', 'ok'])
  const note = 'global-token-revocation'
  expect(revoked).toEqual([{ kind: 'user', id: 'id.example:ada', actor: ID.issuer, note }])
  expect(seen).toMatchObject([{ type: note, sub: 'ada', subject: ADA, revoked: true }])
})

describe('the user', () => {
  test('by email, with toSubject; an unknown one is a 404', async () => {
    const { routes, ids } = createRevocation({
      toSubject: ({ email }) => (email === EMAIL.email ? 'ada' : null),
    })
    expect((await sendRevocation(routes, { ...EMAIL, email: 'x' })).status).toBe(404)
    expect((await sendRevocation(routes, EMAIL)).status).toBe(204)
    expect(ids()).toEqual(['user id.example:ada'])
  })

  test('of own tokens, with toUid', async () => {
    const { routes, tokens, outcome } = createRevocation({
      toUid: ({ subject }) => (subject?.['email'] === EMAIL.email ? 'user-7' : null),
    })
    const own = tokens.createAccessToken({ uid: 'user-7' })
    expect((await sendRevocation(routes, { ...EMAIL, email: 'x' })).status).toBe(400)
    expect((await sendRevocation(routes, EMAIL)).status).toBe(204)
    expect(await outcome(own)).toBe('TOKEN_REVOKED')
  })

  test('of own tokens, by the issuer of the user and not by the sender', async () => {
    const users = new Map([
      [`${ID.issuer} ada`, 'alice'],
      [`${OTHER.issuer} ada`, 'bob'],
    ])
    const { routes, ids } = createRevocation({
      subjectIssuers: { [ID.issuer]: [OTHER.issuer] },
      toUid: ({ subjectIssuer, sub }) => users.get(`${subjectIssuer} ${sub}`) ?? null,
    })
    expect((await sendRevocation(routes, { ...ADA, iss: OTHER.issuer })).status).toBe(204)
    expect(ids().toSorted()).toEqual(['user bob', 'user other.example:ada'])
  })

  test.each<[name: string, status: number, subject: unknown]>([
    ['a format that nobody reads', 400, EMAIL],
    ['no identifier', 400, undefined],
    ['a text', 400, 'ada'],
    ['a list', 400, [ADA]],
    ['no format', 400, { sub: 'ada' }],
    ['no sub', 400, { ...ADA, sub: '' }],
    ['a user of another issuer', 403, { ...ADA, iss: OTHER.issuer }],
    ['a user of an unknown issuer', 403, { ...ADA, iss: STRANGER.issuer }],
  ])('%s: %i', async (_name, status, subject) => {
    const { routes, ids, outcome } = createRevocation()
    expect((await sendRevocation(routes, subject)).status).toBe(status)
    expect(ids()).toEqual([])
    expect(await outcome(accessToken(OTHER, 'ada'))).toBe('ok')
  })

  test('is not the session that is named next to an unknown user', async () => {
    const subject = { format: 'complex', user: EMAIL, session: { format: 'opaque', id: 'tablet' } }
    const known = createRevocation({ toSubject: () => null })
    expect((await sendRevocation(known.routes, subject)).status).toBe(404)
    const { routes, ids } = createRevocation()
    expect((await sendRevocation(routes, subject)).status).toBe(400)
    expect((await sendRevocation(routes, { ...subject, user: ADA })).status).toBe(204)
    expect([...known.ids(), ...ids()]).toEqual(['user id.example:ada'])
  })

  test('of another issuer, if subjectIssuers allows it', async () => {
    const { routes, ids } = createRevocation({ subjectIssuers: { [ID.issuer]: [OTHER.issuer] } })
    expect((await sendRevocation(routes, { ...ADA, iss: OTHER.issuer })).status).toBe(204)
    expect(ids()).toEqual(['user other.example:ada'])
  })

  test('named by the issuer of the sender, for every issuer that the sender speaks for', async () => {
    const { routes, ids } = createRevocation({ subjectIssuers: { [ID.issuer]: [OTHER.issuer] } })
    expect((await sendRevocation(routes, ADA)).status).toBe(204)
    expect(ids().toSorted()).toEqual(['user id.example:ada', 'user other.example:ada'])
  })
})

describe('a sender that cannot be authenticated gets a 401, and revokes nothing', () => {
  const pem = ID.pair.publicKey.export({ format: 'pem', type: 'spki' }) as string
  const claims = { aud: AUDIENCE, exp: NOW + 60, jti: 'j' }
  const typ = 'global-token-revocation+jwt'
  test.each<[name: string, jwt: () => string]>([
    ['the key of another provider', () => STRANGER.sign({ ...claims, iss: ID.issuer }, { typ })],
    ['the key of another provider that is known', () => OTHER.sign({ ...claims, iss: ID.issuer }, { typ })],
    ['an unknown issuer', () => revocationJwt({}, STRANGER)],
    ['the URL of another endpoint', () => revocationJwt({ aud: `${API}/other` })],
    ['the audience of the API', () => revocationJwt({ aud: API })],
    ['no typ', () => revocationJwt({}, ID, { typ: undefined })],
    ['a logout token', () => logoutToken({ aud: AUDIENCE })],
    ['an access token', () => accessToken(ID, 'ada')],
    ['no exp', () => revocationJwt({ exp: undefined })],
    ['an exp in the past', () => revocationJwt({ exp: NOW - 3600 })],
    ['an iat in the future', () => revocationJwt({ iat: NOW + 3600, exp: NOW + 7200 })],
    ['the algorithm none', () => forge(claims, { alg: 'none', typ } as { alg: string }, null)],
    ['the public key as a secret', () => forge(claims, { alg: 'HS256', typ } as { alg: string }, pem)],
    ['no JWT', () => 'jwt'],
  ])('%s', async (_name, create) => {
    const { routes, ids } = createRevocation()
    const { status, body, headers } = await sendRevocation(routes, ADA, create())
    expect([status, body]).toMatchObject([401, { error: 'invalid_token' }])
    expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
    expect(ids()).toEqual([])
  })

  test.each([undefined, 'Basic eDp5', 'Bearer'])('the header %s', async (authorization) => {
    const { routes, ids } = createRevocation()
    const headers = { 'content-type': 'application/json', ...(authorization && { authorization }) }
    expect((await send(routes, { headers, body: JSON.stringify({ sub_id: ADA }) })).status).toBe(401)
    expect(ids()).toEqual([])
  })

  test('a JWT that failed is good again, for the same subject', async () => {
    let fails = true
    const { routes } = createRevocation({
      onRevocation: () => {
        if (fails) throw new Error('on purpose')
      },
    })
    const jwt = revocationJwt()
    await expect(sendRevocation(routes, ADA, jwt)).rejects.toMatchObject({ cause: { message: 'on purpose' } })
    fails = false
    expect((await sendRevocation(routes, { ...ADA, sub: 'grace' }, jwt)).status).toBe(401)
    expect((await sendRevocation(routes, ADA, jwt)).status).toBe(204)
  })

  test('senders without the typ of Okta, where they are allowed', async () => {
    const { routes } = createRevocation({ requireTyp: false })
    expect((await sendRevocation(routes, ADA, revocationJwt({}, ID, { typ: undefined }))).status).toBe(204)
    expect((await sendRevocation(routes, ADA, revocationJwt({}, ID, { typ: 'at+jwt' }))).status).toBe(401)
  })
})

// The body is not signed: anyone who has seen a JWT could name any user.
describe('a JWT is valid for one subject', () => {
  const user = (sub: string) => ({ ...ADA, sub })

  test('which it can be repeated for, without another revocation', async () => {
    const { routes, ids } = createRevocation()
    const jwt = revocationJwt()
    expect((await sendRevocation(routes, ADA, jwt)).status).toBe(204)
    expect((await sendRevocation(routes, user('grace'), jwt)).status).toBe(401)
    const { format, ...rest } = ADA
    expect((await sendRevocation(routes, { ...rest, format }, jwt)).status).toBe(204)
    expect((await sendRevocation(routes, { ...ADA, more: [['a', 1]] }, jwt)).status).toBe(401)
    expect(ids()).toEqual(['user id.example:ada'])
  })

  test('also if a hundred are named at once', async () => {
    const { routes, ids } = createRevocation()
    const jwt = revocationJwt()
    const subs = Array.from({ length: 100 }, (_, at) => user(`user-${at}`))
    const answers = await Promise.all(subs.map((subject) => sendRevocation(routes, subject, jwt)))
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(99)
    expect(ids()).toHaveLength(1)
  })

  test('also while a function of the application has not answered yet', async () => {
    let answer = (_uid: null): void => {}
    const uid = new Promise<null>((resolve) => {
      answer = resolve
    })
    const { routes } = createRevocation({ toUid: ({ sub }) => (sub === 'ada' ? uid : null) })
    const jwt = revocationJwt()
    const first = sendRevocation(routes, ADA, jwt)
    const second = await sendRevocation(routes, user('grace'), jwt)
    answer(null)
    expect([(await first).status, second.status].toSorted()).toEqual([204, 401])
  })

  test.each<[status: number, subject: object]>([
    [403, { ...ADA, iss: OTHER.issuer }],
    [404, EMAIL],
    [400, { format: 'iss_sub' }],
  ])('also if the answer was %i', async (status, subject) => {
    const { routes, ids } = createRevocation({ toSubject: () => null })
    const jwt = revocationJwt()
    expect((await sendRevocation(routes, subject, jwt)).status).toBe(status)
    expect((await sendRevocation(routes, ADA, jwt)).status).toBe(401)
    expect((await sendRevocation(routes, subject, jwt)).status).toBe(status)
    expect(ids()).toEqual([])
  })

  test('also in another process whose replica has not heard of it', async () => {
    const shared = createMemoryStore({ clock: createClock() })
    const start = async () => {
      const { tokens } = createReceiving({ store: replicate(shared, { bound: '1m' }) })
      onTestFinished(() => tokens.close())
      await tokens.ready()
      return createGlobalTokenRevocation(tokens, { audience: AUDIENCE })
    }
    const [one, two] = await Promise.all([start(), start()])
    const jwt = revocationJwt()
    expect((await sendRevocation(one, ADA, jwt)).status).toBe(204)
    expect((await sendRevocation(two, user('grace'), jwt)).status).toBe(401)
    expect((await sendRevocation(two, ADA, jwt)).status).toBe(204)
  })

  test('a store that fails in between leaves it valid for the same subject', async () => {
    const memory = createMemoryStore({ clock: createClock() })
    let calls = 0
    const revoke: typeof memory.revoke = async (batch) => {
      if (++calls === 1) throw new Error('ECONNREFUSED')
      return memory.revoke(batch)
    }
    const store = Object.create(memory, { revoke: { value: revoke } }) as typeof memory
    const { tokens } = createReceiving({ store })
    const routes = createGlobalTokenRevocation(tokens, { audience: AUDIENCE })
    const jwt = revocationJwt()
    expect((await sendRevocation(routes, ADA, jwt)).status).toBe(503)
    expect((await sendRevocation(routes, ADA, jwt)).status).toBe(204)
    expect((await sendRevocation(routes, user('grace'), jwt)).status).toBe(401)
  })

  test.each(['before', 'after'])('a claim that fails %s the store has it can be repeated', async (when) => {
    const memory = createMemoryStore({ clock: createClock() })
    let calls = 0
    const claim: typeof memory.claim = async (batch) => {
      const isFailure = ++calls === 1
      if (isFailure && when === 'before') throw new Error('ECONNREFUSED')
      const claimed = await memory.claim(batch)
      if (isFailure) throw new Error('ECONNRESET')
      return claimed
    }
    const { tokens, revoked } = createReceiving({ store: { ...memory, claim } })
    const routes = createGlobalTokenRevocation(tokens, { audience: AUDIENCE })
    const jwt = revocationJwt()
    expect((await sendRevocation(routes, ADA, jwt)).status).toBe(503)
    expect(revoked).toEqual([])
    expect((await sendRevocation(routes, ADA, jwt)).status).toBe(204)
    expect((await sendRevocation(routes, user('grace'), jwt)).status).toBe(401)
    expect(revoked.map(({ id }) => id)).toEqual(['id.example:ada'])
  })
})

test.each<[name: string, status: number, init: object]>([
  ['a form', 400, { headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
  ['no JSON', 400, { body: 'sub_id' }],
  ['a list', 400, { body: '[]' }],
  [
    'a member twice',
    400,
    { body: '{"sub_id":{"format":"opaque","id":"a"},"sub_id":{"format":"opaque","id":"b"}}' },
  ],
  ['a member twice inside of sub_id', 400, { body: '{"sub_id":{"format":"opaque","id":"a","id":"b"}}' }],
  [
    'a member twice in one of several identifiers',
    400,
    { body: '{"sub_id":{"format":"aliases","identifiers":[{"format":"opaque","id":"a","\\u0069d":"b"}]}}' },
  ],
  ['invalid UTF-8', 400, { body: new Uint8Array([0x7b, 0xff, 0x7d]) }],
  ['a megabyte', 413, { body: `"${'a'.repeat(2 ** 20)}"` }],
  ['GET', 405, { method: 'GET', body: undefined }],
])('a body that is %s: %i', async (_name, status, init) => {
  const { routes, ids } = createRevocation()
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${revocationJwt()}` }
  const given = init as { readonly headers?: object }
  const answer = await send(routes, {
    body: JSON.stringify({ sub_id: ADA }),
    ...init,
    headers: { ...headers, ...given.headers },
  })
  expect(answer.status).toBe(status)
  expect(ids()).toEqual([])
})
