import { describe, expect, test } from 'vitest'
import { chooseManager, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createEnforcer } from '../../packages/tokenlib/src/requests/dependencies.js'
import { fetchRequestReader } from '../../packages/tokenlib/src/http/request-source.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createForeign, createReceiver, AUDIENCE } from '../helpers/foreign.js'
import { createClock, SECRET, withBearer } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const A = createForeign('https://a.example')
const B = createForeign('https://b.example/', { algorithm: 'RS256' })

const both = () => createReceiver([A.options({ subjectPrefix: 'a:' }), B.options({ subjectPrefix: 'b:' })])

describe('own tokens next to those of two issuers', () => {
  test('each token is verified with the keys of its issuer', async () => {
    const { tokens } = both()
    const own = await tokens.verify(tokens.createAccessToken({ uid: 'ada' }))
    expect(own).toMatchObject({ sub: 'ada', type: 'access' })
    expect(own.iss).toBeUndefined()
    expect(await tokens.verify(A.sign())).toMatchObject({
      iss: A.issuer,
      sub: 'a:ada',
      type: 'access',
      aud: AUDIENCE,
    })
    expect(await tokens.verify(B.sign())).toMatchObject({ iss: B.issuer, sub: 'b:ada', type: 'access' })
  })

  const SPELLINGS: readonly (readonly [name: string, iss: unknown])[] = [
    ['a slash at the end', 'https://a.example/'],
    ['no slash at the end', 'https://b.example'],
    ['upper case', 'HTTPS://A.EXAMPLE'],
    ['another case', 'https://A.example'],
    ['a percent-encoded letter', 'https://%61.example'],
    ['a port', 'https://a.example:443'],
    ['a space', 'https://a.example '],
    ['a NUL', 'https://a.example\0'],
    ['a full-width letter', 'https://\uFF41.example'],
    ['a zero-width character', 'https://a.example\u200B'],
    ['an unknown issuer', 'https://c.example'],
    ['an empty text', ''],
    ['nothing', undefined],
    ['null', null],
    ['a number', 1],
    ['a list', ['https://a.example']],
    ['an object', { toString: 'https://a.example' }],
    ['true', true],
  ]
  test.each(SPELLINGS)('the iss has to be exact: %s', async (_, iss) => {
    const { tokens } = both()
    const outcome = await outcomeOf(tokens.verify(A.sign({ iss })))
    // A text is the name of an issuer that we do not have; anything else, and nothing, is checked with our own keys.
    expect(outcome).toBe(typeof iss === 'string' ? 'TOKEN_ISSUER_INVALID' : 'TOKEN_INVALID')
  })

  test('a token without iss is one of our own, whatever the issuers', async () => {
    const { tokens } = both()
    const token = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: '5m' })
    expect((await tokens.verify(token, { issuer: 'own' })).sub).toBe('ada')
    expect(await outcomeOf(tokens.verify(token, { issuer: A.issuer }))).toBe('TOKEN_ISSUER_INVALID')
  })

  test('a policy accepts the issuers that it names, and no other', async () => {
    const { tokens } = both()
    const own = tokens.createAccessToken({ uid: 'ada' })
    const cases = { own, a: A.sign(), b: B.sign() }
    const outcomes = async (issuer: string | readonly string[]) => {
      const dependency = tokens.require({ issuer })
      const answers = Object.entries(cases).map(async ([name, token]) => [
        name,
        await outcomeOf(dependency(withBearer(token))),
        await outcomeOf(tokens.verify(token, { issuer })),
      ])
      return Promise.all(answers)
    }
    const no = 'TOKEN_ISSUER_INVALID'
    expect(await outcomes('own')).toEqual([
      ['own', 'ok', 'ok'],
      ['a', no, no],
      ['b', no, no],
    ])
    expect(await outcomes([A.issuer])).toEqual([
      ['own', no, no],
      ['a', 'ok', 'ok'],
      ['b', no, no],
    ])
    expect(await outcomes(['own', B.issuer])).toEqual([
      ['own', 'ok', 'ok'],
      ['a', no, no],
      ['b', 'ok', 'ok'],
    ])
  })

  test('a policy does not accept an issuer whose name is a part of the one that it names', async () => {
    const tenant = createForeign(`${A.issuer}/tenant`)
    const { tokens } = createReceiver([
      A.options({ subjectPrefix: 'a:' }),
      tenant.options({ subjectPrefix: 'tenant:' }),
    ])
    const issuer = tenant.issuer
    const upgrade = (token: string) =>
      new Request('http://x/', { headers: { upgrade: 'websocket', authorization: `Bearer ${token}` } })
    const enforcer = createEnforcer([tokens.require({ issuer })], fetchRequestReader)
    const chosen = chooseManager(() => tokens)
    for (const [token, expected] of [
      [tenant.sign(), 'ok'],
      [A.sign(), 'TOKEN_ISSUER_INVALID'],
      [tokens.createAccessToken({ uid: 'ada' }), 'TOKEN_ISSUER_INVALID'],
    ] as const) {
      expect(await outcomeOf(tokens.verify(token, { issuer }))).toBe(expected)
      expect(await outcomeOf(tokens.require({ issuer })(withBearer(token)))).toBe(expected)
      expect(await outcomeOf(chosen.require({ issuer })(withBearer(token)))).toBe(expected)
      expect(await outcomeOf(tokens.sockets.authenticate(upgrade(token), { issuer }))).toBe(expected)
      // The token is known by now.
      expect(enforcer.passesNow(withBearer(token))).toBe(expected === 'ok')
    }
  })

  test('a policy with an unknown issuer is a mistake, wherever it is given', async () => {
    const { tokens } = both()
    const issuer = 'https://a.example/'
    expect(() => tokens.require({ issuer })).toThrow(TypeError)
    await expect(tokens.verify(A.sign(), { issuer })).rejects.toThrow(TypeError)
    await expect(tokens.sockets.authenticate(withBearer(A.sign()), { issuer })).rejects.toThrow(TypeError)
    await expect(tokens.revoke.user('ada', { issuer })).rejects.toThrow(TypeError)
    await expect(tokens.revoke.all({ issuer })).rejects.toThrow(TypeError)
    await expect(tokens.revoke.key('k', { issuer })).rejects.toThrow(TypeError)
    expect(() => internalsOf(tokens).toSubject(issuer, 'ada')).toThrow(TypeError)
    expect(internalsOf(tokens).toSubject(A.issuer, 'ada')).toBe('a:ada')
  })

  test('an issuer is refused where it would have no effect', async () => {
    const { tokens } = both()
    const pair = await tokens.sessions.open({ uid: 'ada' })
    const payload = await tokens.verify(pair.accessToken)
    for (const issuer of ['own', A.issuer]) {
      await expect(tokens.logout(withBearer(pair.accessToken), { issuer })).rejects.toThrow(TypeError)
      await expect(tokens.sessions.endOthers(payload, { issuer })).rejects.toThrow(TypeError)
    }
    expect(await outcomeOf(tokens.verify(pair.accessToken))).toBe('ok')
  })

  test('nobody but the issuer makes its tokens', async () => {
    const { tokens } = both()
    const issuer = A.issuer
    expect(() => tokens.createAccessToken({ uid: 'ada' }, { issuer })).toThrow(TypeError)
    expect(() => tokens.createRefreshToken({ uid: 'ada' }, { issuer })).toThrow(TypeError)
    await expect(tokens.sessions.open({ uid: 'ada' }, { issuer })).rejects.toThrow(TypeError)
    await expect(tokens.sessions.open({ uid: 'ada' }, { refresh: { issuer } })).rejects.toThrow(TypeError)
    expect(await tokens.sessions.list('ada')).toEqual([])
  })

  test('a refresh takes no token of an issuer, whatever it says', async () => {
    const { tokens } = createReceiver([A.options({ profile: 'tokenlib' }), B.options()])
    for (const foreign of [A, B]) {
      for (const type of ['access', 'refresh']) {
        const token = foreign.sign({ type, sid: 'session', gen: 0 })
        expect(await outcomeOf(tokens.sessions.refresh(token))).not.toBe('ok')
        expect(await outcomeOf(tokens.sessions.refresh(withBearer(token)))).not.toBe('ok')
        expect(await outcomeOf(tokens.refreshTokenRequired(withBearer(token)))).not.toBe('ok')
      }
    }
  })
})

describe('schemas', () => {
  const schema = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) =>
        typeof (value as { tenant?: unknown }).tenant === 'string'
          ? { value: { tenant: (value as { tenant: string }).tenant.toUpperCase() } }
          : { issues: [{ message: 'tenant is missing', path: ['tenant'] }] },
    },
  } as const

  const open = (identityClaim = 'sub') => {
    const clock = createClock()
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_IDENTITY_CLAIM: identityClaim })
    const issuers = [A.trust({ subjectPrefix: 'a:' })]
    return new TokenManager({
      config,
      clock,
      issuers,
      claims: schema,
      store: createMemoryStore({ clock }),
    })
  }

  test('the schema applies to the claims of an issuer too', async () => {
    const tokens = open()
    expect(await tokens.verify(A.sign({ tenant: 'acme' }))).toMatchObject({
      tenant: 'ACME',
      sub: 'a:ada',
    })
    expect(await outcomeOf(tokens.verify(A.sign()))).toBe('CLAIMS_INVALID')
    for (const round of [1, 2, 3]) {
      const payload = await tokens.verify(A.sign({ tenant: 'acme', jti: 'again' }))
      expect(payload.tenant, `round ${round}`).toBe('ACME')
    }
  })

  test('the identity claim of our own tokens is the sub in those of an issuer', async () => {
    const payload = await open('uid').verify(A.sign({ tenant: 'acme', uid: 'root' }))
    expect(payload).toMatchObject({ sub: 'a:ada', uid: 'a:ada' })
  })

  test.each(['oidc-access', 'at+jwt', 'tokenlib'] as const)(
    'the same without a schema, profile %s',
    async (profile) => {
      const { tokens } = createReceiver([A.options({ profile, subjectPrefix: 'a:' })], {
        config: { JWT_IDENTITY_CLAIM: 'uid' },
      })
      for (const uid of ['root', 7, undefined]) {
        const payload = await tokens.verify(A.sign({ uid, type: 'access' }))
        expect(payload).toMatchObject({ sub: 'a:ada', uid: 'a:ada' })
      }
      const own = await tokens.verify(tokens.createAccessToken({ uid: 'root' }))
      expect(own).toMatchObject({ sub: 'root', uid: 'root' })
    },
  )
})

test('the event of a revocation names the issuer whose tokens it concerns', async () => {
  const { tokens } = both()
  const events: unknown[] = []
  tokens.on('revoked', ({ kind, id, sub, issuer }) => events.push([kind, id, sub, issuer]))
  const payload = await tokens.verify(A.sign({ sid: 's' }))
  await tokens.revoke.token(payload)
  await tokens.revoke.session(payload)
  await tokens.revoke.user('a:ada', { issuer: A.issuer })
  await tokens.revoke.user('eve')
  await tokens.revoke.key('key-1', { issuer: B.issuer })
  await tokens.revoke.all({ issuer: B.issuer })
  await tokens.revoke.all()
  expect(events).toEqual([
    ['token', 'token-1', 'a:ada', A.issuer],
    ['session', 's', 'a:ada', A.issuer],
    ['user', 'a:ada', 'a:ada', A.issuer],
    ['user', 'eve', 'eve', null],
    ['key', 'key-1', null, B.issuer],
    ['all', '', null, B.issuer],
    ['all', '', null, null],
  ])
})
