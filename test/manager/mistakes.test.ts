import { DatabaseSync } from '@photostructure/sqlite'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import postgres from 'postgres'
import { createClient } from 'redis'
import { describe, expect, test } from 'vitest'
import {
  type RevocationStore,
  TokenConfig,
  TokenManager,
  type TokenPolicy,
} from '../../packages/tokenlib/src/index.js'
import { TokenModule } from '../../packages/tokenlib/src/frameworks/nest/index.js'
import { createPostgresStore } from '../../packages/tokenlib/src/stores/postgres.js'
import { enforceAll, injectAll } from '../helpers/dependencies.js'
import { keyPairFor } from '../helpers/keys.js'
import { createManager, NOW, openToken, withBearer } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'
import { createRevocable } from '../helpers/revocable.js'

describe('a manager says what it lacks', () => {
  const { tokens } = createManager()
  const payload = { sub: 'ada', sid: 's', jti: 'j' }

  test.each<[method: string, call: () => Promise<unknown>]>([
    ['revoke.token', () => tokens.revoke.token(payload)],
    ['revoke.session', () => tokens.revoke.session('s')],
    ['revoke.user', () => tokens.revoke.user('ada')],
    ['revoke.key', () => tokens.revoke.key('k')],
    ['revoke.all', () => tokens.revoke.all()],
    ['logout', () => tokens.logout(payload)],
    ['sessions.list', () => tokens.sessions.list('ada')],
    ['sessions.endOthers', () => tokens.sessions.endOthers(payload)],
    ['sessions.refresh', () => tokens.sessions.refresh('a.b.c')],
  ])('%s', async (method, call) => {
    await expect(call()).rejects.toThrow(naming('ConfigurationError', method, 'store'))
  })

  test('a subject getter', async () => {
    const request = withBearer(tokens.createAccessToken({ uid: 'ada' }))
    await expect(tokens.getCurrentSubject(request)).rejects.toThrow(
      naming('ConfigurationError', 'setSubjectGetter'),
    )
    expect(() => tokens.setSubjectGetter('no' as never)).toThrow(TypeError)
  })

  test('a private key', () => {
    const verifier = new TokenManager({
      config: new TokenConfig({ JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: keyPairFor('ES256').publicKey }),
    })
    expect(() => verifier.createAccessToken({ uid: 'ada' })).toThrow(
      naming('ConfigurationError', 'JWT_PRIVATE_KEY'),
    )
    expect(verifier.keys.current).toBeNull()
  })
})

describe('a call that cannot be meant is told why', () => {
  test('sessions and refreshes', async () => {
    const { tokens } = createRevocable()
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    await expect(tokens.revoke.session({})).rejects.toThrow(naming('TypeError', 'session'))
    await expect(tokens.revoke.session(undefined as never)).rejects.toThrow(naming('TypeError', 'session'))
    await expect(tokens.sessions.endOthers({ sub: 'ada' })).rejects.toThrow(naming('TypeError', 'session'))
    for (const uid of ['', 7 as never]) {
      await expect(tokens.sessions.list(uid)).rejects.toThrow(naming('TypeError', 'uid'))
    }
    await expect(
      tokens.sessions.refresh(refreshToken, { claims: { role: 'root' } } as object),
    ).rejects.toThrow(naming('TypeError', 'claims'))
  })

  test('logout and revoke.token take a payload, not the text of a token', async () => {
    const { tokens } = createRevocable()
    const revoked: unknown[] = []
    tokens.on('revoked', (event) => revoked.push(event))
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    for (const payload of [accessToken, undefined, null] as never[]) {
      await expect(tokens.logout(payload)).rejects.toThrow(
        naming('TypeError', 'logout()', 'request', 'payload', 'verify()'),
      )
      await expect(tokens.revoke.token(payload)).rejects.toThrow(
        naming('TypeError', 'revoke.token()', 'payload', 'verify()'),
      )
    }
    expect(revoked).toEqual([])
  })

  test('store takes a store, and a client, a URL or a path is told which function creates it', async () => {
    const pool = new Pool()
    const redis = new Redis({ lazyConnect: true })
    const database = new DatabaseSync(':memory:')
    const given: [revocation: unknown, factory: string][] = [
      [redis, 'createRedisStore(client)'],
      [createClient(), 'createRedisStore(client)'],
      ['redis://127.0.0.1', 'createRedisStore(client)'],
      [pool, 'createPostgresStore(pool)'],
      [postgres(), 'createPostgresStore(pool)'],
      ['postgres://127.0.0.1/tokens', 'createPostgresStore(pool)'],
      [database, 'createSqliteStore(database)'],
      ['/var/lib/app/tokens.db', 'createSqliteStore(new DatabaseSync(path))'],
      [{}, 'createRedisStore(client)'],
      // From an environment variable that is empty: not the same as no store.
      ['', 'createRedisStore(client)'],
      [false, 'createRedisStore(client)'],
    ]
    for (const [store, factory] of given) {
      expect(() => createRevocable({}, { store: store as RevocationStore }), factory).toThrow(
        naming('ConfigurationError', 'store', factory),
      )
    }
    database.close()
    redis.disconnect()
    await pool.end()
  })

  test.each<[TokenPolicy, string]>([
    [{ type: 'acess' as never }, 'type'],
    [{ fresh: 'yes' }, 'fresh'],
    [{ scopes: 'admin' as never }, 'scopes'],
    [{ scopes: [''] }, 'scopes'],
    [{ scopes: [] }, 'scopes'],
    [{ scopes: [7 as never] }, 'scopes'],
    [{ locations: ['body'] as never }, 'locations'],
    [{ csrf: 'no' as never }, 'csrf'],
    [{ optional: 'yes' as never }, 'optional'],
    [{ skipRevocation: 1 as never }, 'skipRevocation'],
    [{ toString: true } as never, 'toString'],
    [{ scope: ['a'] } as never, 'scope'],
  ])('policy %o', (policy, name) => {
    const call = () => createManager().tokens.require(policy)
    expect(call).toThrow(TypeError)
    expect(call).toThrow(name)
  })

  test('a policy may leave a member undefined, and is read once', async () => {
    const { tokens } = createManager()
    const scopes = ['a']
    const locations: 'query'[] = ['query']
    const guard = tokens.require({ scopes, locations, csrf: undefined as never })
    scopes.push('b')
    locations.length = 0
    const token = tokens.createAccessToken({ uid: 'u' }, { scopes: ['a'] })
    expect((await guard(new Request(`http://localhost/?token=${token}`))).sub).toBe('u')
  })

  test('upgrades and sockets', async () => {
    const { tokens } = createManager()
    const request = withBearer(tokens.createAccessToken({ uid: 'ada' }))
    for (const origins of ['https://app.example', [7], [''], ['null'], ['*'], ['https://app.example/']]) {
      await expect(tokens.sockets.authenticate(request, { origins } as never)).rejects.toThrow(
        naming('TypeError', 'origins'),
      )
    }
    await expect(tokens.sockets.authenticate(request, { type: 'any' as never })).rejects.toThrow(
      naming('TypeError', 'type'),
    )
    await expect(tokens.sockets.authenticate(new Request('http://localhost/'))).rejects.toMatchObject({
      code: 'TOKEN_MISSING',
    })
    const upgrade = await tokens.sockets.authenticate(request)
    const socket = { close() {}, addEventListener() {} }
    for (const every of [0.999, '0s', 86_401]) {
      expect(() => tokens.sockets.closeWhenInvalid(socket, upgrade, { every })).toThrow(
        naming('RangeError', 'every'),
      )
    }
    for (const every of [1, '1d']) tokens.sockets.closeWhenInvalid(socket, upgrade, { every })()
  })

  test('a list of issuers that is no list, before a key that is missing', () => {
    const issuers = { issuer: 'https://id.example/' } as never
    expect(() => new TokenManager({ config: new TokenConfig(), issuers })).toThrow(
      naming('ConfigurationError', 'issuers must be a list'),
    )
  })

  test('a client that is an address', () => {
    for (const client of ['postgres://127.0.0.1/tokens', undefined, null] as never[]) {
      expect(() => createPostgresStore(client)).toThrow(
        naming('ConfigurationError', 'createPostgresStore', 'Pool'),
      )
    }
  })

  test('a module of Nest without options, and one that is given the manager itself', () => {
    const { tokens } = createManager()
    for (const options of [undefined, null, tokens] as never[]) {
      expect(() => TokenModule.forRoot(options)).toThrow(naming('TypeError', 'TokenModule', '{ tokens }'))
    }
  })

  test('dependencies', async () => {
    const request = new Request('http://localhost/')
    for (const unnamed of [() => 1, undefined, null] as never[]) {
      expect(() => injectAll(unnamed)).toThrow(naming('TypeError', 'inject({ payload'))
    }
    expect(() => enforceAll([])).toThrow(naming('TypeError', 'dependency'))
    expect(() => enforceAll([() => 1, 'x' as never])).toThrow(
      naming('TypeError', 'dependency', 'tokens.accessTokenRequired'),
    )
    for (const slip of [() => () => 1, async () => () => 1]) {
      await expect(async () => enforceAll([slip])(request)).rejects.toThrow(
        naming('TypeError', 'dependency', 'function'),
      )
    }
    for (const thrown of [undefined, null, 'route']) {
      const fail = (): never => {
        throw thrown
      }
      await expect(async () => injectAll({ fail })(request)).rejects.toMatchObject({
        name: 'Error',
        cause: thrown,
      })
    }
    const own = { status: 401 }
    await expect(enforceAll([() => Promise.reject(own)])(request)).rejects.toBe(own)
  })
})

describe('a token that no verifier of ours would take is not made', () => {
  test('too long, by one character', () => {
    const { length } = createManager().tokens.createAccessToken({ uid: 'u' })
    expect(() =>
      createManager({ JWT_MAX_TOKEN_LENGTH: length }).tokens.createAccessToken({ uid: 'u' }),
    ).not.toThrow()
    expect(() =>
      createManager({ JWT_MAX_TOKEN_LENGTH: length - 1 }).tokens.createAccessToken({ uid: 'u' }),
    ).toThrow(naming('TypeError', 'JWT_MAX_TOKEN_LENGTH', String(length), String(length - 1)))
  })

  test('too many members, or a header that JSON does not carry', () => {
    const { tokens } = createManager({ JWT_MAX_TOKEN_LENGTH: 100_000 })
    expect(() => tokens.createAccessToken({ uid: 'u', list: Array.from({ length: 2000 }, () => 1) })).toThrow(
      TypeError,
    )
    expect(() => tokens.createAccessToken({ uid: 'u' }, { headers: { when: new Date() as never } })).toThrow(
      naming('TypeError', 'not JSON serializable', '"when"'),
    )
  })
})

test('an expiry of one token of a pair replaces the shared one, whichever way either is written', async () => {
  const { tokens } = createManager()
  const { accessToken, refreshToken } = await tokens.sessions.open(
    { uid: 'u' },
    { expiresIn: 60, access: { expiresAt: new Date((NOW + 30) * 1000) }, refresh: { scopes: ['a'] } },
  )
  expect(openToken(accessToken).claims).toMatchObject({ exp: NOW + 30 })
  expect(openToken(refreshToken).claims).toMatchObject({ exp: NOW + 60, scopes: ['a'] })
  const other = await tokens.sessions.open(
    { uid: 'u' },
    { expiresAt: new Date((NOW + 90) * 1000), access: { expiresIn: 20 } },
  )
  expect(openToken(other.accessToken).claims).toMatchObject({ exp: NOW + 20 })
  expect(openToken(other.refreshToken).claims).toMatchObject({ exp: NOW + 90 })
})
