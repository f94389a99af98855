import { openSync } from 'node:fs'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import {
  connect,
  createServer as createHttp2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo, Server } from 'node:net'
import { fileURLToPath } from 'node:url'
import Fastify from 'fastify'
import { fromNodeHandler, H3, HTTPError, HTTPResponse, toNodeHandler } from 'h3'
import Koa from 'koa'
import { describe, expect, onTestFinished, test } from 'vitest'
import * as fastify from '../../packages/tokenlib/src/frameworks/fastify.js'
import * as h3 from '../../packages/tokenlib/src/frameworks/h3.js'
import * as koa from '../../packages/tokenlib/src/frameworks/koa.js'
import { implicitRefresh } from '../../packages/tokenlib/src/frameworks/nest/index.js'
import type { TokenManager } from '../../packages/tokenlib/src/index.js'
import { moveMonotonicClock } from '../helpers/monotonic-clock.js'
import { logIn, TOKEN_COOKIES } from './logged-in.js'
import { PUBLIC } from './public-routes.js'

// In a process of its own: when a worker thread has answered with `respondWithFile`, Node closes that file's descriptor a
// second time when the thread exits. By then, the number may belong to a socket of another thread.

type Listener = (req: IncomingMessage, res: ServerResponse) => unknown

/** A plain Node listener behind the middleware. */
const behindMiddleware =
  (listener: Listener) =>
  (tokens: TokenManager): Listener => {
    const refresh = implicitRefresh(tokens)
    return (req, res) =>
      refresh(req, res, (error) => (error === undefined ? listener(req, res) : res.destroy()))
  }

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The headers of the response to a request whose access cookie has expired. */
async function visit(createListener: (tokens: TokenManager) => Listener): Promise<Headers> {
  const { tokens, clock, jar } = await logIn()
  const server = createHttpServer(createListener(tokens) as never)
  const url = await listen(server)
  onTestFinished(() => void server.close())
  clock.seconds += 301
  const response = await fetch(url, { headers: jar.headers() })
  await response.arrayBuffer()
  return response.headers
}

/** The same over HTTP/2. */
async function visitHttp2(createListener: (tokens: TokenManager) => Listener): Promise<Headers> {
  const { tokens, clock, jar } = await logIn()
  const server = createHttp2Server(createListener(tokens) as never)
  const session = connect(await listen(server))
  onTestFinished(() => {
    session.destroy()
    server.close()
  })
  clock.seconds += 301
  const stream = session.request({ ':path': '/', ...jar.headers() })
  const headers = await new Promise<IncomingHttpHeaders>((resolve, reject) => {
    stream.once('response', resolve).once('error', reject)
  })
  stream.resume()
  const pairs = Object.entries(headers).filter(([name]) => !name.startsWith(':'))
  return new Headers(
    pairs.flatMap(([name, value]) => [value ?? []].flat().map((one) => [name, one] as [string, string])),
  )
}

function expectPrivate(headers: Headers, own: readonly string[] = []): void {
  const names = headers.getSetCookie().map((cookie) => cookie.split('=', 1)[0])
  expect(names.toSorted()).toEqual([...TOKEN_COOKIES, ...own].toSorted())
  expect(headers.get('cache-control')).toBe('private, no-store')
  expect(Object.keys(PUBLIC).filter((name) => name !== 'cache-control' && headers.has(name))).toEqual([])
}

const flat = Object.entries(PUBLIC).flat()
const own = ['theme=dark', 'lang=en']
const withCase = { ...PUBLIC, 'Cache-Control': 'public, max-age=60', 'Set-Cookie': own }

describe('Node: writeHead takes headers in every form that Node takes', () => {
  const cases: Record<string, unknown[]> = {
    'an object': [200, { ...PUBLIC, 'set-cookie': own, link: ['<a>', '<b>'] }],
    'an object with names in upper case': [200, { ...withCase, Link: ['<a>', '<b>'] }],
    'a reason and an object': [200, 'Fine', { ...PUBLIC, 'set-cookie': own, link: ['<a>', '<b>'] }],
    'an object before nothing': [200, { ...PUBLIC, 'set-cookie': own, link: ['<a>', '<b>'] }, undefined],
    'no reason and an object': [200, undefined, { ...PUBLIC, 'set-cookie': own, link: ['<a>', '<b>'] }],
    'a list with repeated names': [
      200,
      [...flat, 'Set-Cookie', 'theme=dark', 'set-cookie', 'lang=en', 'Link', '<a>', 'link', '<b>'],
    ],
    'a list with lists of values': [200, [...flat, 'Set-Cookie', own, 'Link', ['<a>', '<b>']]],
    'a list of pairs': [
      200,
      [
        ...Object.entries(PUBLIC),
        ['set-cookie', 'theme=dark'],
        ['set-cookie', 'lang=en'],
        ['link', ['<a>', '<b>']],
      ],
    ],
  }
  test.each(Object.entries(cases))('%s', async (_form, given) => {
    const headers = await visit(
      behindMiddleware((_req, res) => {
        res.setHeader('x-before', '1')
        Reflect.apply(res.writeHead, res, given)
        res.end('text')
      }),
    )
    expectPrivate(headers, ['theme', 'lang'])
    expect([headers.get('link'), headers.get('x-before')]).toEqual(['<a>, <b>', '1'])
  })

  test('a cookie of the response itself wins in every form', async () => {
    for (const given of [
      { 'set-cookie': 'access_token_cookie=own' },
      ['Set-Cookie', 'access_token_cookie=own'],
      [['Set-Cookie', ['access_token_cookie=own']]],
    ]) {
      const headers = await visit(
        behindMiddleware((_req, res) => void res.writeHead(200, given as never).end('text')),
      )
      expectPrivate(headers)
      expect(headers.getSetCookie()).toContain('access_token_cookie=own')
    }
  })

  test('headers that nobody writes are sent with the first byte', async () => {
    for (const respond of [
      (res: ServerResponse) => res.end('text'),
      (res: ServerResponse) => void (res.write('te'), res.end('xt')),
      (res: ServerResponse) => void (res.flushHeaders(), res.end('text')),
      (res: ServerResponse) => void (res.writeEarlyHints({ link: '</a.css>; rel=preload' }), res.end()),
    ]) {
      expectPrivate(
        await visit(
          behindMiddleware((_req, res) => {
            for (const [name, value] of Object.entries(PUBLIC)) res.setHeader(name, value)
            respond(res)
          }),
        ),
      )
    }
  })
})

const thisFile = fileURLToPath(import.meta.url)

describe('HTTP/2', () => {
  const streamOf = (res: ServerResponse): ServerHttp2Stream =>
    (res as unknown as { readonly stream: ServerHttp2Stream }).stream
  const cases: Record<string, (res: ServerResponse) => unknown> = {
    'the response': (res) => {
      for (const [name, value] of Object.entries(PUBLIC)) res.setHeader(name, value)
      res.appendHeader('set-cookie', 'theme=dark')
      res.end('text')
    },
    'writeHead with an object': (res) =>
      res.writeHead(200, { ...PUBLIC, 'set-cookie': 'theme=dark' }).end('text'),
    'writeHead with a list': (res) => res.writeHead(200, [...flat, 'set-cookie', 'theme=dark']).end('text'),
    'stream.respond': (res) => {
      streamOf(res).respond({ ':status': 200, ...PUBLIC, 'Set-Cookie': 'theme=dark' })
      streamOf(res).end('text')
    },
    'stream.respondWithFile': (res) =>
      streamOf(res).respondWithFile(thisFile, { ...PUBLIC, 'set-cookie': ['theme=dark'] }),
    'stream.respondWithFile, whose headers change late': (res) =>
      streamOf(res).respondWithFile(
        thisFile,
        { 'set-cookie': ['theme=dark'] },
        { statCheck: (_stats, headers) => void Object.assign(headers, PUBLIC) },
      ),
    'stream.respondWithFD': (res) =>
      streamOf(res).respondWithFD(openSync(thisFile, 'r'), { ...PUBLIC, 'set-cookie': ['theme=dark'] }),
  }
  test.each(Object.entries(cases))('plain Node: %s', async (_form, respond) => {
    expectPrivate(await visitHttp2(behindMiddleware((_req, res) => respond(res))), ['theme'])
  })

  test('a response without any header of its own', async () => {
    expectPrivate(
      await visitHttp2(
        behindMiddleware((_req, res) => {
          streamOf(res).respond()
          streamOf(res).end()
        }),
      ),
    )
  })

  test('Koa', async () => {
    expectPrivate(
      await visitHttp2((tokens) => {
        const app = new Koa()
        app.use(koa.implicitRefresh(tokens))
        app.use((ctx) => {
          ctx.set(PUBLIC)
          ctx.body = 'text'
        })
        return app.callback()
      }),
    )
  })

  test('Fastify', async () => {
    const { tokens, clock, jar } = await logIn()
    const app = Fastify({ http2: true })
    app.addHook('onRequest', fastify.implicitRefresh(tokens) as never)
    app.get('/', async (_request, reply) => reply.headers(PUBLIC).send('text'))
    const session = connect(await app.listen({ port: 0, host: '127.0.0.1' }))
    onTestFinished(async () => {
      session.destroy()
      await app.close()
    })
    clock.seconds += 301
    const stream = session.request({ ':path': '/', ...jar.headers() })
    const headers = await new Promise<IncomingHttpHeaders>((resolve) => stream.once('response', resolve))
    expect([headers['cache-control'], headers['set-cookie']?.length]).toEqual(['private, no-store', 3])
    expect(headers).not.toHaveProperty('cdn-cache-control')
  })
})

describe('h3 on Node', () => {
  const serve = (tokens: TokenManager, answer: () => unknown, config = {}): Listener => {
    const app = new H3({ silent: true, ...config })
    app.use(h3.implicitRefresh(tokens))
    app.get('/', answer)
    return toNodeHandler(app)
  }

  test('a handler of Node, which answers by itself', async () => {
    const node = fromNodeHandler((_req, res) => void res.writeHead(200, PUBLIC).end('text'))
    expectPrivate(await visit((tokens) => serve(tokens, node as never)))
  })

  test('a response of a hook for errors', async () => {
    const fail = (): never => {
      throw new HTTPError('on purpose')
    }
    const onError = (): Response => new Response('sorry', { status: 500, headers: PUBLIC })
    expectPrivate(await visit((tokens) => serve(tokens, fail, { onError })))
  })

  test('one response for many requests gets no cookies of one of them', async () => {
    const shared = new HTTPResponse('text', { headers: PUBLIC })
    expectPrivate(await visit((tokens) => serve(tokens, () => shared)))
    expect([...shared.headers.keys()].toSorted()).toEqual(Object.keys(PUBLIC).toSorted())
  })
})

test.each([
  ['HTTP/1', visit],
  ['HTTP/2', visitHttp2],
])('%s: a late response has the cookies of its route, and none of the refresh', async (_version, send) => {
  const monotonic = moveMonotonicClock()
  for (const given of [{}, { 'set-cookie': own }]) {
    const headers = await send(
      behindMiddleware((_req, res) => {
        monotonic.add(15_000)
        res.writeHead(200, { ...PUBLIC, ...given }).end('text')
      }),
    )
    expect(headers.getSetCookie()).toEqual(given['set-cookie'] ?? [])
    expect(headers.get('cache-control')).toBe('private, no-store')
  }
})
