import { promises as dns } from 'node:dns'
import { describe, expect, test, vi } from 'vitest'
import type { KeyRequest } from '../../packages/issuers/src/keys/key-source.js'
import {
  createJwk,
  createTestedKeys,
  headerOf,
  json,
  type KeyServer,
  messagesOf,
  startKeyServer,
  type TestedKeys,
} from '../helpers/key-server.js'

const good = createJwk('good')

const createKeys = (jwksUri: string, options: object = {}): TestedKeys =>
  createTestedKeys({ jwksUri, allowPrivateNetwork: true, ...options })

/** Redirects from each path to the next, then has the keys. */
function redirect(server: KeyServer, ...locations: readonly string[]): void {
  server.answer((response, request) => {
    const location = locations[server.requests.length - 1]
    if (location === undefined) return json({ keys: [good.jwk] })(response, request)
    response.writeHead(302, { location }).end('moved')
  })
}

describe('redirects', () => {
  test('are followed as often as maxRedirects says, and not once more', async () => {
    const server = await startKeyServer()
    redirect(server, '/1', '2', '/3')
    const keys = createKeys(server.url, { maxRedirects: 3 })
    expect(await keys.look(headerOf('good'))).toEqual(['good'])
    expect(server.requests).toEqual(['/jwks.json', '/1', '/2', '/3'])
    server.requests.length = 0
    await expect(createKeys(server.url, { maxRedirects: 2 }).ready()).rejects.toMatchObject({
      code: 'KEYS_UNAVAILABLE',
    })
    expect(server.requests).toHaveLength(3)
  })

  test('in a circle end', async () => {
    const server = await startKeyServer()
    server.answer((response) => void response.writeHead(307, { location: '/jwks.json' }).end())
    await expect(createKeys(server.url, { maxRedirects: 10 }).ready()).rejects.toMatchObject({
      code: 'KEYS_UNAVAILABLE',
    })
    expect(server.requests).toHaveLength(11)
  })

  test.each([
    'http://1.1.1.1/jwks.json',
    'https://user:password@127.0.0.1/jwks.json',
    'file:///etc/passwd',
    'data:application/json,{"keys":[]}',
    'https://',
    'http://[',
  ])('to %s are refused', async (location) => {
    const server = await startKeyServer()
    redirect(server, location)
    const keys = createKeys(server.url, { maxRedirects: 5 })
    await expect(keys.ready()).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    expect(server.requests).toHaveLength(1)
  })

  test.each([
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://localhost/',
    'http://1.1.1.1/',
    'http://id.example/',
  ])('of a public endpoint to %s are refused', async (location) => {
    const sent: string[] = []
    const fetch = async (url: string): Promise<Response> => {
      sent.push(url)
      return new Response(null, { status: 302, headers: { location } })
    }
    const keys = createTestedKeys({ jwksUri: 'https://1.1.1.1/jwks', maxRedirects: 5, fetch })
    await expect(keys.ready()).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    expect(sent).toEqual(['https://1.1.1.1/jwks'])
  })
})

describe('a host name', () => {
  test.each([
    ['a private address', ['10.0.0.1'], false, true],
    ['a private address next to a public one', ['1.1.1.1', '::1'], false, false],
    ['a public address', ['1.1.1.1', '2606:4700::1111'], true, false],
  ])('with %s is looked up before anything is sent', async (_, addresses, isPublic, isPrivate) => {
    const answers = addresses.map((address) => ({ address, family: 4 }))
    const lookup = vi.spyOn(dns, 'lookup').mockResolvedValue(answers as never)
    let sent = 0
    const fetch = async (): Promise<Response> => {
      sent++
      return Response.json({ keys: [good.jwk] })
    }
    const isLoaded = async (jwksUri: string, allowPrivateNetwork: boolean): Promise<boolean> => {
      const before = sent
      const keys = createTestedKeys({ jwksUri, allowPrivateNetwork, fetch })
      const isReady = await keys.ready().then(
        () => true,
        () => false,
      )
      expect(sent - before).toBe(isReady ? 1 : 0)
      return isReady
    }
    try {
      expect(await isLoaded('https://id.example/jwks', false)).toBe(isPublic)
      expect(await isLoaded('https://id.example/jwks', true)).toBe(true)
      expect(await isLoaded('http://id.example/jwks', true)).toBe(isPrivate)
      expect(lookup).toHaveBeenCalledWith('id.example', { all: true })
    } finally {
      lookup.mockRestore()
    }
  })

  test('that cannot be looked up is left to fetch over https, and refused over http', async () => {
    const sent: string[] = []
    const fetch = async (url: string): Promise<Response> => {
      sent.push(url)
      return Response.json({ keys: [good.jwk] })
    }
    await createTestedKeys({ jwksUri: 'https://proxy.invalid/jwks', fetch }).ready()
    const plain = createTestedKeys({ jwksUri: 'http://proxy.invalid/jwks', fetch, allowPrivateNetwork: true })
    await expect(plain.ready()).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    expect(sent).toEqual(['https://proxy.invalid/jwks'])
  })
})

describe('a fetch of the application that follows redirects by itself', () => {
  const follow = (url: string): Promise<Response> => fetch(url)

  test('is refused unless redirects are allowed', async () => {
    const server = await startKeyServer(good.jwk)
    const moved = await startKeyServer()
    moved.answer((response) => void response.writeHead(302, { location: server.url }).end())
    await expect(createKeys(moved.url, { fetch: follow }).ready()).rejects.toMatchObject({
      code: 'KEYS_UNAVAILABLE',
    })
    await createKeys(moved.url, { fetch: follow, maxRedirects: 1 }).ready()
    await createKeys(server.url, { fetch: follow }).ready()
  })

  test('is refused if it was led to a private address', async () => {
    const server = await startKeyServer(good.jwk)
    const moved = await startKeyServer()
    moved.answer((response) => void response.writeHead(302, { location: server.url }).end())
    const keys = createTestedKeys({
      jwksUri: 'https://1.1.1.1/jwks',
      maxRedirects: 1,
      fetch: () => follow(moved.url),
    })
    await expect(keys.ready()).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
  })
})

describe('a request', () => {
  test('is a GET that asks for JSON, follows nothing by itself, and has the configured headers', async () => {
    const seen: [string, KeyRequest][] = []
    const fetch = async (url: string, request: KeyRequest): Promise<Response> => {
      seen.push([url, request])
      return Response.json({ keys: [good.jwk] })
    }
    const headers = { 'X-Api-Key': 'k', Accept: 'application/json' }
    await createTestedKeys({ jwksUri: 'https://1.1.1.1/jwks?tenant=a', headers, fetch }).ready()
    expect(seen).toMatchObject([
      [
        'https://1.1.1.1/jwks?tenant=a',
        {
          method: 'GET',
          redirect: 'manual',
          cache: 'no-store',
          headers: { accept: 'application/json', 'x-api-key': 'k' },
        },
      ],
    ])
    expect(seen[0]?.[1].signal).toBeInstanceOf(AbortSignal)
  })

  test('to another origin does not have the configured headers', async () => {
    const [first, second] = [await startKeyServer(), await startKeyServer()]
    const seen: (string | undefined)[] = []
    first.answer((response, request) => {
      seen.push(request.headers.authorization)
      response.writeHead(302, { location: request.url === '/jwks.json' ? '/same' : second.url }).end()
    })
    second.answer((response, request) => {
      seen.push(request.headers.authorization)
      json({ keys: [good.jwk] })(response, request)
    })
    const keys = createKeys(first.url, { maxRedirects: 2, headers: { authorization: 'Bearer secret' } })
    await keys.ready()
    expect(seen).toEqual(['Bearer secret', 'Bearer secret', undefined])
  })

  test('goes through the global fetch of the moment', async () => {
    const keys = createTestedKeys({ jwksUri: 'https://1.1.1.1/jwks' })
    vi.stubGlobal('fetch', async () => Response.json({ keys: [good.jwk] }))
    try {
      expect(await keys.look(headerOf('good'))).toEqual(['good'])
    } finally {
      vi.unstubAllGlobals()
    }
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('broken')
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
    ['ignores its signal', () => new Promise<Response>(() => {})],
    ['returns nothing', () => undefined],
    [
      'returns a body that is locked',
      async () => {
        const response = Response.json({ keys: [good.jwk] })
        response.body?.getReader()
        return response
      },
    ],
  ])('whose fetch %s is a failed load', async (_, fetch) => {
    const keys = createTestedKeys({ jwksUri: 'https://1.1.1.1/jwks', timeout: '20ms', fetch: fetch as never })
    await expect(keys.runUntil(keys.ready())).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    expect(keys.failed).toHaveLength(1)
  })

  test('that fails is named without its query', async () => {
    const server = await startKeyServer()
    server.answer(json({}, 500))
    const keys = createKeys(`${server.url}?key=secret-of-the-query`)
    await expect(keys.ready()).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    expect(messagesOf(keys.failed[0]?.cause)).toContain(server.url)
    expect(messagesOf(keys.failed[0]?.cause)).not.toContain('secret-of-the-query')
  })
})
