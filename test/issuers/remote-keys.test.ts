import { describe, expect, test } from 'vitest'
import type { BoundKey } from '../../packages/tokenlib/src/tokens/algorithms.js'
import {
  createJwk,
  createTestedKeys,
  headerOf,
  json,
  type KeyServer,
  startKeyServer,
  type TestedKeys,
  until,
} from '../helpers/key-server.js'
import { outcomeOf } from '../helpers/revocable.js'

const a = createJwk('a')
const b = createJwk('b')
const c = createJwk('c')

const createKeys = (server: KeyServer, options: object = {}): TestedKeys =>
  createTestedKeys({ jwksUri: server.url, allowPrivateNetwork: true, ...options })

describe('the first load', () => {
  test('nothing is sent before a key is needed', async () => {
    const server = await startKeyServer(a.jwk)
    const keys = createKeys(server)
    expect(server.requests).toEqual([])
    expect(keys.find(headerOf('a'))).toBeNull()
    expect(server.requests).toEqual([])
    await keys.load(headerOf('a'))
    expect(keys.find(headerOf('a'))).toMatchObject([{ kid: 'a', algorithm: 'ES256' }])
    expect(server.requests).toEqual(['/jwks.json'])
  })

  test('is one request for everybody who waits', async () => {
    const server = await startKeyServer(a.jwk, b.jwk)
    const keys = createKeys(server)
    const waiting = Array.from({ length: 1000 }, (_, at) => keys.look(headerOf(at % 2 === 0 ? 'a' : 'b')))
    expect(new Set((await Promise.all([keys.ready(), ...waiting])).flat())).toEqual(
      new Set([undefined, 'a', 'b']),
    )
    expect(server.requests).toHaveLength(1)
    expect(keys.loaded).toEqual([{ issuer: 'https://id.example/', kids: ['a', 'b'], refused: [] }])
  })

  test('that fails rejects, and is repeated no sooner than after a delay that doubles up to the cool-down', async () => {
    const server = await startKeyServer()
    server.answer(json({}, 500))
    const keys = createKeys(server, { cooldown: '5s' })
    const times: number[] = []
    for (let second = 0; second < 20; second++) {
      const before = server.requests.length
      await expect(keys.load(headerOf('a'))).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
      await expect(keys.ready()).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
      expect(keys.find(headerOf('a'))).toBeNull()
      if (server.requests.length > before) times.push(second)
      await keys.advance(1)
    }
    expect(times).toEqual([0, 1, 3, 7, 12, 17])
    expect(keys.failed).toHaveLength(times.length)
    server.publish(a.jwk)
    await keys.advance(5)
    expect(await keys.look(headerOf('a'))).toEqual(['a'])
  })
})

describe('a reload', () => {
  test('happens in the background once the keys are older than maxAge', async () => {
    const server = await startKeyServer(a.jwk)
    const keys = createKeys(server)
    await keys.ready()
    await keys.advance(600)
    expect(keys.find(headerOf('a'))).toHaveLength(1)
    expect(keys.loaded).toHaveLength(1)
    await keys.advance(1)
    server.publish(a.jwk, b.jwk)
    for (let call = 0; call < 100; call++) expect(keys.find(headerOf('a'))).toHaveLength(1)
    await until(() => keys.loaded.length === 2)
    expect(keys.find(headerOf('b'))).toHaveLength(1)
    expect(server.requests).toHaveLength(2)
  })

  test('is started by isTrusted and ready as well', async () => {
    const server = await startKeyServer(a.jwk)
    const keys = createKeys(server)
    await keys.ready()
    const [key] = keys.find(headerOf('a')) ?? []
    await keys.advance(601)
    expect(keys.isTrusted(key as BoundKey)).toBe(true)
    await until(() => keys.loaded.length === 2)
    await keys.advance(601)
    await keys.ready()
    await until(() => keys.loaded.length === 3)
  })

  test('keeps an unchanged key the same object, and no longer trusts a key that was removed or replaced', async () => {
    const server = await startKeyServer(a.jwk, b.jwk, c.jwk)
    const keys = createKeys(server)
    await keys.ready()
    const [keyA, keyB, keyC] = ['a', 'b', 'c'].map((kid) => keys.find(headerOf(kid))?.[0] as BoundKey)
    // Other members and another order do not make it another key.
    server.publish({ ...createJwk('c').jwk }, { x5t: 'new', ...a.jwk })
    await keys.advance(601)
    keys.find(headerOf('a'))
    await until(() => keys.loaded.length === 2)
    expect(keys.find(headerOf('a'))?.[0]).toBe(keyA)
    expect([keyA, keyB, keyC].map((key) => keys.isTrusted(key as BoundKey))).toEqual([true, false, false])
    expect(keys.find(headerOf('b'))).toEqual(expect.not.arrayContaining([keyB]))
  })

  test('that fails keeps the keys until they are older than maxAge and maxStale together, and no longer', async () => {
    const server = await startKeyServer(a.jwk)
    const keys = createKeys(server, { maxAge: '10m', maxStale: '1h' })
    await keys.ready()
    const [key] = keys.find(headerOf('a')) ?? []
    server.answer(json({}, 503))
    for (let minute = 0; minute < 70; minute++) {
      expect(keys.find(headerOf('a')), `minute ${minute}`).toEqual([key])
      if (minute > 10) await until(() => keys.failed.length === minute - 10)
      await keys.advance(60)
    }
    expect(keys.isTrusted(key as BoundKey)).toBe(true)
    await until(() => keys.failed.length === 60)
    await keys.advance(1)
    expect(keys.isTrusted(key as BoundKey)).toBe(false)
    expect(keys.find(headerOf('a'))).toBeNull()
    await keys.advance(60)
    await expect(keys.load(headerOf('a'))).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    server.publish(a.jwk)
    await keys.advance(60)
    expect(await keys.look(headerOf('a'))).toEqual(['a'])
  })

  test('counts the age of keys from when they were asked for, not from when they arrived', async () => {
    const server = await startKeyServer(a.jwk)
    const keys = createKeys(server, { maxAge: '10m', maxStale: 0 })
    server.answer((response, request) => {
      keys.block(4)
      json({ keys: [a.jwk] })(response, request)
    })
    await keys.ready()
    await keys.advance(597)
    expect(keys.find(headerOf('a'))).toBeNull()
  })
})

describe('an answer without a usable key', () => {
  const toPrivate = (kid: string): object => ({
    ...a.privateKey.export({ format: 'jwk' }),
    kid,
    alg: 'ES256',
  })
  const weak = { kty: 'RSA', kid: 'a', n: Buffer.alloc(128, 0xff).toString('base64url'), e: 'AQAB' }

  test.each<[string, object[]]>([
    ['with its private part', [toPrivate('a')]],
    ['with its private part, under another name', [toPrivate('other')]],
    ['as a weak key', [weak]],
    ['for encryption', [{ ...a.jwk, use: 'enc' }]],
  ])('takes the trust from a key that is in it %s', async (_name, published) => {
    const server = await startKeyServer(a.jwk)
    const keys = createKeys(server)
    await keys.ready()
    const [key] = keys.find(headerOf('a')) ?? []
    server.publish(...published)
    await keys.advance(601)
    expect(keys.isTrusted(key as BoundKey)).toBe(true)
    await until(() => keys.failed.length === 1)
    expect(keys.isTrusted(key as BoundKey)).toBe(false)
    expect(keys.find(headerOf('a'))).toBeNull()
    await expect(keys.load(headerOf('a'))).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    server.publish(b.jwk)
    await keys.advance(60)
    expect(await keys.look(headerOf('b'))).toEqual(['b'])
  })

  test('leaves the other keys in use, but for no longer than maxAge', async () => {
    for (const published of [[], [toPrivate('a')]]) {
      const server = await startKeyServer(a.jwk, b.jwk)
      const keys = createKeys(server)
      await keys.ready()
      const [key] = keys.find(headerOf('b')) ?? []
      server.publish(...published)
      await keys.advance(601)
      expect(keys.isTrusted(key as BoundKey)).toBe(true)
      await until(() => keys.failed.length === 1)
      for (let minute = 0; minute < 10; minute++) {
        await keys.advance(60)
        // An outage in the meantime does not make it more.
        if (minute === 5) server.answer(json({}, 500))
        expect(keys.isTrusted(key as BoundKey), `minute ${minute}`).toBe(true)
        await until(() => keys.failed.length === minute + 2)
      }
      await keys.advance(1)
      expect(keys.isTrusted(key as BoundKey)).toBe(false)
      expect(keys.find(headerOf('b'))).toBeNull()
      server.publish(b.jwk)
      await keys.advance(60)
      expect(await keys.look(headerOf('b'))).toEqual(['b'])
      await keys.advance(600)
      expect(keys.find(headerOf('b'))).toHaveLength(1)
    }
  })
})

test('a key whose private part is published next to it is refused under each of its names', async () => {
  const disclosed = { ...a.privateKey.export({ format: 'jwk' }), kid: 'other' }
  const server = await startKeyServer(a.jwk, disclosed, b.jwk)
  const keys = createKeys(server)
  expect(await keys.look(headerOf('a'))).toEqual([])
  expect(await keys.look(headerOf('b'))).toEqual(['b'])
  expect(keys.loaded[0]?.refused.map(({ kid }) => kid)).toEqual(['other', 'a'])
})

describe('an unknown kid', () => {
  test('is looked for once, then not before the cool-down ends', async () => {
    const server = await startKeyServer(a.jwk)
    const keys = createKeys(server)
    await keys.ready()
    // The load before was not for a missing key.
    expect(keys.find(headerOf('b'))).toBeNull()
    expect(await keys.look(headerOf('b'))).toEqual([])
    server.publish(a.jwk, b.jwk)
    await keys.advance(29)
    expect(await keys.look(headerOf('b'))).toEqual([])
    expect(server.requests).toHaveLength(2)
    await keys.advance(1)
    expect(await keys.look(headerOf('b'))).toEqual(['b'])
    expect(server.requests).toHaveLength(3)
  })

  test('is looked for again right after a first load that a token has caused', async () => {
    const server = await startKeyServer(a.jwk)
    const keys = createKeys(server)
    // Whether that token names a key of the set or not.
    expect(await keys.look(headerOf('junk'))).toEqual([])
    expect(server.requests).toHaveLength(1)
    server.publish(a.jwk, b.jwk)
    expect(await keys.look(headerOf('b'))).toEqual(['b'])
    expect(server.requests).toHaveLength(2)
    expect(await keys.look(headerOf('junk'))).toEqual([])
    expect(server.requests).toHaveLength(2)
  })

  test('is refused, not unavailable, if the load for it took longer than the cool-down', async () => {
    const server = await startKeyServer(a.jwk)
    const keys = createKeys(server, { cooldown: '1s' })
    await keys.ready()
    server.answer((response, request) => {
      keys.block(2)
      json({ keys: [a.jwk] })(response, request)
    })
    expect(await keys.look(headerOf('b'))).toEqual([])
    expect(keys.find(headerOf('b'))).toEqual([])
  })

  test('is refused, not unavailable, if the process was blocked before the load was sent', async () => {
    const server = await startKeyServer(a.jwk)
    const keys = createKeys(server, { timeout: 0.3 })
    await keys.ready()
    // The endpoint never answers: the load fails by its deadline.
    server.answer(() => {})
    const looking = outcomeOf(keys.look(headerOf('b')))
    keys.block(1.4)
    expect(await keys.runUntil(looking)).toBe('ok')
    expect(keys.find(headerOf('b'), true)).toEqual([])
  })

  test('is found although the process was blocked for longer than the timeout while it was looked for', async () => {
    const server = await startKeyServer(a.jwk)
    const keys = createKeys(server, { timeout: 0.3 })
    await keys.ready()
    server.publish(a.jwk, b.jwk)
    const looking = keys.look(headerOf('b'))
    await new Promise((resolve) => setImmediate(resolve))
    keys.block(0.6)
    // The timer comes first, and must not end the wait.
    await keys.advance(0)
    expect(await looking).toEqual(['b'])
  })

  test('waits for a load that is under way', async () => {
    const server = await startKeyServer(a.jwk)
    const keys = createKeys(server)
    await keys.ready()
    server.publish(a.jwk, b.jwk)
    await keys.advance(601)
    expect(keys.find(headerOf('a'))).toHaveLength(1)
    expect(await keys.look(headerOf('b'))).toEqual(['b'])
    expect(server.requests).toHaveLength(2)
  })

  test('is refused, not an error, while the endpoint fails and other keys are there', async () => {
    const server = await startKeyServer(a.jwk)
    const keys = createKeys(server)
    await keys.ready()
    server.answer(json({}, 500))
    await keys.advance(30)
    expect(await keys.look(headerOf('b'))).toEqual([])
    expect(keys.failed).toHaveLength(1)
    for (let second = 0; second < 29; second++) {
      await keys.advance(1)
      expect(keys.find(headerOf('b'))).toEqual([])
    }
    expect(server.requests).toHaveLength(2)
  })

  test('causes no request where no answer could help', async () => {
    const server = await startKeyServer(a.jwk, b.jwk)
    const keys = createKeys(server)
    await keys.ready()
    await keys.advance(31)
    for (const header of [headerOf('a', 'HS256'), headerOf('a', 'none'), headerOf(''), headerOf()]) {
      expect(keys.find(header)).toEqual([])
    }
    expect(server.requests).toHaveLength(1)
  })
})

/** Waits for a load whose turn comes within a second. */
async function inTurn(keys: TestedKeys, load: Promise<unknown>): Promise<void> {
  load.catch(() => {})
  await keys.advance(1)
  await load
}

describe('a caller who is not asked twice', () => {
  test('looks for an unknown kid within the cool-down of other requests, and leaves theirs alone', async () => {
    const server = await startKeyServer(a.jwk)
    const keys = createKeys(server)
    await keys.ready()
    expect(await keys.look(headerOf('junk'))).toEqual([])
    server.publish(a.jwk, b.jwk)
    await inTurn(keys, keys.load(headerOf('b'), true))
    expect(keys.find(headerOf('b'))).toHaveLength(1)
    await inTurn(keys, keys.load(headerOf('junk'), true))
    expect(keys.find(headerOf('junk'), true)).toEqual([])
    await keys.advance(30)
    expect(keys.find(headerOf('junk'))).toBeNull()
  })

  test('waits for a load of its own, which is at most one per second however many others ask', async () => {
    const server = await startKeyServer(a.jwk)
    const keys = createTestedKeys({ jwksUri: server.url, allowPrivateNetwork: true })
    await keys.ready()
    const flood = (): Promise<unknown> =>
      Promise.all(Array.from({ length: 500 }, (_, at) => keys.load(headerOf(`junk ${at}`), true)))
    const first = flood()
    // The first turn comes immediately.
    await keys.advance(0)
    await first
    expect(server.requests).toHaveLength(2)
    server.publish(a.jwk, b.jwk)
    const second = flood()
    const own = keys.load(headerOf('b'), true)
    await keys.advance('999ms')
    expect(server.requests).toHaveLength(2)
    await inTurn(keys, own)
    expect(keys.find(headerOf('b'))).toHaveLength(1)
    await second
    expect(server.requests).toHaveLength(3)
  })

  test('is told that the keys are unavailable if the load fails, and can look again within the cool-down', async () => {
    const server = await startKeyServer(a.jwk)
    const keys = createKeys(server)
    await keys.ready()
    server.answer(json({}, 500))
    expect(await outcomeOf(inTurn(keys, keys.load(headerOf('b'), true)))).toBe('KEYS_UNAVAILABLE')
    server.publish(a.jwk, b.jwk)
    await inTurn(keys, keys.load(headerOf('b'), true))
    expect(keys.find(headerOf('b'))).toHaveLength(1)
  })
})

test('a load that was dropped by its runtime does not stop the next one, and cannot undo it', async () => {
  const server = await startKeyServer(a.jwk)
  let release: (response: Response) => void = () => {}
  let isDropped = true
  const keys = createKeys(server, {
    fetch: (url: string, init: object) =>
      isDropped ? new Promise<Response>((resolve) => (release = resolve)) : fetch(url, init),
  })
  const first = keys.load(headerOf('a'))
  await until(() => release.length === 1)
  // Its timer was dropped with it.
  keys.block(7)
  isDropped = false
  expect(await keys.look(headerOf('a'))).toEqual(['a'])
  release(Response.json({ keys: [b.jwk] }))
  await first
  expect(await keys.look(headerOf('a'))).toEqual(['a'])
  expect(keys.loaded).toHaveLength(1)
})

describe('discovery', () => {
  const ISSUER = 'https://tenant.example/'

  const startIssuer = async (document: object): Promise<{ server: KeyServer; keys: TestedKeys }> => {
    const server = await startKeyServer()
    server.answer((response, request) => {
      const isDocument = request.url === '/.well-known/openid-configuration'
      const found = { issuer: ISSUER, jwks_uri: server.url, ...document }
      json(isDocument ? found : { keys: [a.jwk] })(response, request)
    })
    const discovery = `${server.origin}/.well-known/openid-configuration`
    const keys = createTestedKeys({ discovery, allowPrivateNetwork: true }, { issuer: ISSUER })
    return { server, keys }
  }

  test('finds the URL of the keys, and remembers it for maxAge', async () => {
    const { server, keys } = await startIssuer({})
    expect(await keys.look(headerOf('a'))).toEqual(['a'])
    expect(server.requests).toEqual(['/.well-known/openid-configuration', '/jwks.json'])
    await keys.advance(31)
    expect(await keys.look(headerOf('b'))).toEqual([])
    expect(server.requests.slice(2)).toEqual(['/jwks.json'])
    await keys.advance(601)
    keys.find(headerOf('a'))
    await until(() => keys.loaded.length === 3)
    expect(server.requests.slice(3)).toEqual(['/.well-known/openid-configuration', '/jwks.json'])
  })

  test('is repeated after the remembered URL has failed', async () => {
    const { server, keys } = await startIssuer({})
    await keys.ready()
    server.answer((response, request) => {
      const found = { issuer: ISSUER, jwks_uri: `${server.origin}/moved.json` }
      if (request.url === '/jwks.json') return json({}, 404)(response, request)
      json(request.url === '/moved.json' ? { keys: [b.jwk] } : found)(response, request)
    })
    await keys.advance(31)
    expect(await keys.look(headerOf('b'))).toEqual([])
    await keys.advance(31)
    expect(await keys.look(headerOf('b'))).toEqual(['b'])
    expect(server.requests.slice(2)).toEqual([
      '/jwks.json',
      '/.well-known/openid-configuration',
      '/moved.json',
    ])
  })

  test.each([
    ['another issuer', { issuer: 'https://tenant.example' }],
    ['no issuer', { issuer: undefined }],
    ['no jwks_uri', { jwks_uri: undefined }],
    ['a jwks_uri that is no URL', { jwks_uri: '/jwks.json' }],
    ['a jwks_uri that is a list', { jwks_uri: ['https://a.example/'] }],
    ['a jwks_uri of a file', { jwks_uri: 'file:///etc/passwd' }],
    ['a jwks_uri with credentials', { jwks_uri: 'https://user:password@tenant.example/' }],
    ['an unencrypted jwks_uri on the Internet', { jwks_uri: 'http://93.184.215.14/jwks.json' }],
  ])('refuses a document with %s', async (_, document) => {
    const { server, keys } = await startIssuer(document)
    await expect(keys.ready()).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    expect(server.requests).toEqual(['/.well-known/openid-configuration'])
  })

  test('checks the jwks_uri of a public document like any URL', async () => {
    const sent: string[] = []
    const answer = (url: string): Promise<Response> => {
      sent.push(url)
      return Promise.resolve(Response.json({ issuer: ISSUER, jwks_uri: 'https://169.254.169.254/latest' }))
    }
    const keys = createTestedKeys({ discovery: 'https://1.1.1.1/d', fetch: answer }, { issuer: ISSUER })
    await expect(keys.ready()).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    expect(sent).toEqual(['https://1.1.1.1/d'])
  })
})
