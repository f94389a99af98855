import { once } from 'node:events'
import { connect } from 'node:net'
import { request as sendRequest, type IncomingMessage } from 'node:http'
import { Elysia } from 'elysia'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { describe, expect, onTestFinished, test } from 'vitest'
import { serveNode } from '../../examples/server.js'
import { mount as mountElysia } from '../../packages/tokenlib/src/frameworks/elysia.js'
import { mount as mountExpress } from '../../packages/tokenlib/src/frameworks/express.js'
import { mount as mountFastify } from '../../packages/tokenlib/src/frameworks/fastify.js'
import { mount as mountHono } from '../../packages/tokenlib/src/frameworks/hono.js'
import { mount as mountNest } from '../../packages/tokenlib/src/frameworks/nest/index.js'
import type { MountableRoutes } from '../../packages/tokenlib/src/routes/router.js'
import { toRequestView } from '../../packages/tokenlib/src/http/request-source.js'
import { MOUNTS } from './mounted.js'

interface Seen {
  readonly method: string
  readonly path: string
  readonly body: string
  readonly cookie: string | null
  readonly authorization: string | null
  readonly ip: string | null
}

/** Routes that answer with what they were asked. */
function createEcho(events: string[] = []): MountableRoutes {
  return {
    path: '/auth',
    async handle(request) {
      const { pathname, search } = new URL(request.url)
      if (pathname === '/auth/own' || request.method === 'OPTIONS') return null
      if (pathname === '/auth/fails') throw new Error('on purpose')
      if (pathname === '/auth/empty') return new Response(null, { status: 204 })
      if (pathname === '/auth/stream') {
        const cancel = (): void => void events.push('cancelled')
        return new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue(new TextEncoder().encode('first')),
            cancel,
          }),
        )
      }
      const seen: Seen = {
        method: request.method,
        path: pathname + search,
        body: await request.text(),
        cookie: request.headers.get('cookie'),
        authorization: request.headers.get('authorization'),
        ip: toRequestView(request).ip ?? null,
      }
      const headers = new Headers({ 'x-echo': 'yes' })
      headers.append('set-cookie', 'a=1')
      headers.append('set-cookie', 'b=2')
      return Response.json(seen, { status: 201, headers })
    },
  }
}

describe.each(Object.entries(MOUNTS))('%s', (_name, start) => {
  const run = async (events?: string[]): Promise<string> => {
    const app = await start(createEcho(events))
    onTestFinished(() => app.close())
    return app.url
  }

  test('a request reaches the routes whole, and their response the client', async () => {
    const url = await run()
    const response = await fetch(`${url}/auth/echo/deep?q=a%20b`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie: 'x=1; y=2', authorization: 'Bearer t' },
      body: '{"name":"Zoë"}',
    })
    expect(response.status).toBe(201)
    expect(response.headers.get('x-echo')).toBe('yes')
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(await response.json()).toEqual({
      method: 'POST',
      path: '/auth/echo/deep?q=a%20b',
      body: '{"name":"Zoë"}',
      cookie: 'x=1; y=2',
      authorization: 'Bearer t',
      ip: expect.stringMatching(/^(?:127\.0\.0\.1|192\.0\.2\.1)$/) as string,
    })
  })

  test('GET, DELETE and the path itself', async () => {
    const url = await run()
    for (const [method, path] of [
      ['GET', '/auth/one'],
      ['DELETE', '/auth/two'],
      ['GET', '/auth'],
    ] as const) {
      const seen = (await (await fetch(url + path, { method })).json()) as Seen
      expect([seen.method, seen.path, seen.body]).toEqual([method, path, ''])
    }
  })

  test('a header that came twice is not reduced to the first', async () => {
    const url = await run()
    const sent = sendRequest(`${url}/auth/echo`, {
      agent: false,
      headers: { authorization: ['Bearer a', 'Bearer b'] as unknown as string },
    }).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    const seen = JSON.parse(Buffer.concat(chunks).toString()) as Seen
    expect(seen.authorization).toBe('Bearer a, Bearer b')
  })

  test('what the routes do not know goes on to the application, with its body', async () => {
    const url = await run()
    const headers = { 'content-type': 'application/json' }
    const own = await fetch(`${url}/auth/own`, { method: 'POST', headers, body: '{"mine":1}' })
    expect(own.status).toBe(200)
    expect(await own.json()).toEqual({ mine: 1 })
    for (const path of ['/author', '/', '/other/auth']) {
      expect((await fetch(url + path)).headers.get('x-echo'), path).toBe(null)
    }
  })

  test('media types that the framework does not know reach the routes', async () => {
    const url = await run()
    const headers = { 'content-type': 'application/x-unknown' }
    const response = await fetch(`${url}/auth/echo`, { method: 'POST', headers, body: 'text' })
    expect(((await response.json()) as Seen).body).toBe('text')
  })

  test('an empty response', async () => {
    const response = await fetch(`${await run()}/auth/empty`, { method: 'POST' })
    expect([response.status, await response.text()]).toEqual([204, ''])
  })

  test('an error of the routes is an error of the application', async () => {
    const response = await fetch(`${await run()}/auth/fails`)
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain('first')
  })

  test('a stream ends when the client leaves', async () => {
    const events: string[] = []
    const url = await run(events)
    const leaving = new AbortController()
    const response = await fetch(`${url}/auth/stream`, { signal: leaving.signal })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('first')
    leaving.abort()
    await expect.poll(() => events, { timeout: 5000 }).toEqual(['cancelled'])
  })
})

// By hand: `fetch` would send the paths as a URL parser writes them.
async function send(url: string, lines: readonly string[], body = ''): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  socket.write([...lines, '', body].join('\r\n'))
  let text = ''
  for await (const chunk of socket.setEncoding('latin1')) {
    text += chunk as string
    if (text.includes('\r\n\r\n')) break
  }
  return text
}

describe.each(Object.entries(MOUNTS).filter(([name]) => /^(?:Express|Fastify|Koa|Nest)/.test(name)))(
  '%s, with requests that no browser sends',
  (_name, start) => {
    test.each([
      ['/auth/x/../echo', 'a.example'],
      ['/auth/%2e/echo', 'a.example'],
      ['/auth/x/%2e%2e/echo', 'a.example'],
      ['/auth/.\\echo', 'a.example'],
      ['/other', 'a.example/auth/echo?'],
      ['/other', 'a.example/auth/echo#'],
    ])('%s at %s is not answered by the routes', async (path, host) => {
      const app = await start(createEcho())
      onTestFinished(() => app.close())
      const text = await send(app.url, [`GET ${path} HTTP/1.1`, `Host: ${host}`, 'Connection: close'])
      expect(text).not.toContain('x-echo')
      expect(text).toMatch(/^HTTP\/1\.1 4/)
    })

    test('an invalid host does not change the path, and TRACE is no error', async () => {
      const app = await start(createEcho())
      onTestFinished(() => app.close())
      const odd = await send(app.url, [
        'GET /auth/echo HTTP/1.1',
        'Host: a:b@c/auth/fails?',
        'Connection: close',
      ])
      expect(odd).toContain('x-echo')
      const trace = await send(app.url, ['TRACE /auth/echo HTTP/1.1', 'Host: a.example', 'Connection: close'])
      expect(trace).toMatch(/^HTTP\/1\.1 4/)
    })

    // A parser of the application reads it whole.
    test.skipIf(_name.includes('parser'))(
      'a body that is not read to its end does not keep the connection',
      async () => {
        const routes = createEcho()
        const app = await start({
          path: '/auth',
          async handle(request) {
            if (!request.url.endsWith('/refuses')) return routes.handle(request)
            await request.body?.getReader().read()
            return new Response(null, { status: 413 })
          },
        })
        onTestFinished(() => app.close())
        const { hostname, port } = new URL(app.url)
        const socket = connect(Number(port), hostname).setEncoding('latin1')
        onTestFinished(() => void socket.destroy())
        let text = ''
        socket.on('data', (chunk: string) => (text += chunk))
        const headers = 'Host: a.example\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain'
        socket.write(`POST /auth/refuses HTTP/1.1\r\n${headers}\r\n\r\n`)
        for (let at = 0; at < 40; at++) socket.write(`2000\r\n${'x'.repeat(0x2000)}\r\n`)
        await expect.poll(() => text).toMatch(/^HTTP\/1\.1 413/)
        socket.write('0\r\n\r\nGET /auth/echo HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n')
        await expect.poll(() => text, { timeout: 5000 }).toContain('x-echo')
      },
    )
  },
)

test('Elysia: pre-flights are left to the application', async () => {
  for (const paths of [undefined, ['/auth/echo']]) {
    const routes = { path: '/auth', ...(paths && { paths }), handle: async () => new Response('routes') }
    const app = new Elysia().options('/*', () => 'application').use(mountElysia(routes))
    const send = async (method: string): Promise<string> =>
      (await app.handle(new Request('http://localhost/auth/echo', { method }))).text()
    expect(await send('OPTIONS')).toBe('application')
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) expect(await send(method)).toBe('routes')
  }
})

test('Hono: a body that was read from the raw request does not keep other routes from answering', async () => {
  const app = new Hono()
  app.use(async (c, next) => {
    await c.req.raw.text()
    await next()
  })
  app.use(mountHono({ path: '/auth', handle: async () => null }))
  app.post('/orders', (c) => c.text('application'))
  const response = await app.request('/orders', { method: 'POST', body: 'x' })
  expect([response.status, await response.text()]).toEqual([200, 'application'])
})

test('what is not mountable is refused', () => {
  expect(() => mountExpress({} as MountableRoutes)).toThrow(TypeError)
})

test('Express: a prefix that the routes do not have is refused', async () => {
  const app = express()
  app.use('/api', mountExpress(createEcho()))
  const server = await serveNode(app, 0)
  onTestFinished(() => server.close())
  const response = await fetch(`${server.url}/api/auth/echo`)
  expect(response.status).toBe(500)
  expect(await response.text()).toContain('/api/auth')
})

test('Express, and so Nest on Express: the URL has the scheme that `trust proxy` accepts', async () => {
  const readUrl = async (isTrusted: boolean): Promise<string> => {
    const app = express().set('trust proxy', isTrusted)
    app.use(mountExpress({ path: '/auth', handle: async ({ url }) => new Response(url) }))
    const server = await serveNode(app, 0)
    onTestFinished(() => server.close())
    const response = await fetch(`${server.url}/auth`, { headers: { 'x-forwarded-proto': 'https' } })
    return response.text()
  }
  expect(mountNest).toBe(mountExpress)
  expect(await readUrl(true)).toMatch(/^https:/)
  expect(await readUrl(false)).toMatch(/^http:/)
})

test('Fastify: a prefix is refused', async () => {
  const app = Fastify()
  onTestFinished(() => app.close())
  const registered = app.register(mountFastify(createEcho()), { prefix: '/api' })
  await expect(Promise.resolve(registered)).rejects.toThrow('without a prefix')
})
