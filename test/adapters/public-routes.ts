import { Readable } from 'node:stream'
import {
  applyDecorators,
  Controller,
  Get,
  Header,
  HttpCode,
  HttpException,
  Redirect,
  StreamableFile,
} from '@nestjs/common'
import type { Elysia } from 'elysia'
import type { Express } from 'express'
import type { FastifyInstance } from 'fastify'
import { type H3, HTTPError } from 'h3'
import type { Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { Router } from '@koa/router'

/** What lets shared caches keep a response: the standard header, and those that have precedence over it. */
export const PUBLIC: Readonly<Record<string, string>> = {
  'cache-control': 'public, max-age=3600, s-maxage=3600',
  'cdn-cache-control': 'max-age=3600',
  'cloudflare-cdn-cache-control': 'max-age=3600',
  'surrogate-control': 'max-age=3600',
  'x-accel-expires': '3600',
  expires: 'Thu, 01 Jan 2099 00:00:00 GMT',
}

/** Every route below `/public`, with the status of its response. Each sets the headers above in the way of its framework. */
export const PUBLIC_ROUTES = {
  text: 200,
  object: 200,
  stream: 200,
  // Made by the route itself, with a cookie of its own: a `Response`, or what Node's `writeHead` is given.
  response: 200,
  redirect: 302,
  'not-modified': 304,
  error: 418,
} as const

const cookie = 'theme=dark; Path=/'
const raw = (): Response =>
  new Response('raw', { headers: [...Object.entries(PUBLIC), ['set-cookie', cookie]] })
const withStatus = (status: number, more: Record<string, string> = {}): Response =>
  new Response(null, { status, headers: { ...PUBLIC, ...more } })
const toStream = (): ReadableStream => new Blob(['stream']).stream()

export function addToExpress(app: Express): void {
  app.get('/public/text', (_req, res) => void res.set(PUBLIC).send('text'))
  app.get('/public/object', (_req, res) => void res.set(PUBLIC).json({}))
  app.get('/public/stream', (_req, res) => void Readable.from(['stream']).pipe(res.set(PUBLIC)))
  app.get('/public/response', (_req, res) => {
    res.writeHead(200, [...Object.entries(PUBLIC).flat(), 'set-cookie', cookie]).end('raw')
  })
  app.get('/public/redirect', (_req, res) => res.set(PUBLIC).redirect('/'))
  app.get('/public/not-modified', (_req, res) => void res.set(PUBLIC).status(304).end())
  app.get('/public/error', () => {
    throw Object.assign(new Error('teapot'), { status: 418, headers: PUBLIC })
  })
}

export function addToFastify(app: FastifyInstance): void {
  app.get('/public/text', async (_request, reply) => reply.headers(PUBLIC).send('text'))
  app.get('/public/object', async (_request, reply) => reply.headers(PUBLIC).send({}))
  app.get('/public/stream', async (_request, reply) => reply.headers(PUBLIC).send(Readable.from(['stream'])))
  app.get('/public/response', async (_request, reply) => reply.send(raw()))
  app.get('/public/redirect', async (_request, reply) => reply.headers(PUBLIC).redirect('/'))
  app.get('/public/not-modified', async (_request, reply) => reply.headers(PUBLIC).code(304).send())
  app.get('/public/error', async (_request, reply) => {
    reply.headers(PUBLIC)
    throw Object.assign(new Error('teapot'), { statusCode: 418 })
  })
}

export function addToHono(app: Hono): void {
  app.get('/public/text', (c) => c.text('text', 200, PUBLIC))
  app.get('/public/object', (c) => c.json({}, 200, PUBLIC))
  app.get('/public/stream', (c) => c.body(toStream(), 200, PUBLIC))
  app.get('/public/response', raw)
  app.get('/public/redirect', (c) => {
    for (const [name, value] of Object.entries(PUBLIC)) c.header(name, value)
    return c.redirect('/')
  })
  app.get('/public/not-modified', () => withStatus(304))
  app.get('/public/error', () => {
    throw new HTTPException(418, { res: withStatus(418) })
  })
}

export function addToKoa(router: Router): void {
  router.get('/public/text', (ctx) => {
    ctx.set(PUBLIC)
    ctx.body = 'text'
  })
  router.get('/public/object', (ctx) => {
    ctx.set(PUBLIC)
    ctx.body = {}
  })
  router.get('/public/stream', (ctx) => {
    ctx.set(PUBLIC)
    ctx.body = Readable.from(['stream'])
  })
  router.get('/public/response', (ctx) => {
    ctx.respond = false
    ctx.res.writeHead(200, { ...PUBLIC, 'set-cookie': [cookie] }).end('raw')
  })
  router.get('/public/redirect', (ctx) => {
    ctx.set(PUBLIC)
    ctx.redirect('/')
  })
  router.get('/public/not-modified', (ctx) => {
    ctx.set(PUBLIC)
    ctx.status = 304
  })
  router.get('/public/error', (ctx) => ctx.throw(418, { headers: PUBLIC }))
}

export function addToH3(app: H3): void {
  const setPublic = (headers: Headers): void => {
    for (const [name, value] of Object.entries(PUBLIC)) headers.set(name, value)
  }
  app.get('/public/text', ({ res }) => {
    setPublic(res.headers)
    return 'text'
  })
  app.get('/public/object', ({ res }) => {
    setPublic(res.headers)
    return {}
  })
  app.get('/public/stream', ({ res }) => {
    setPublic(res.headers)
    return toStream()
  })
  app.get('/public/response', raw)
  app.get('/public/redirect', () => withStatus(302, { location: '/' }))
  app.get('/public/not-modified', ({ res }) => {
    setPublic(res.headers)
    res.status = 304
    return ''
  })
  app.get('/public/error', ({ res }) => {
    setPublic(res.errHeaders)
    throw new HTTPError({ status: 418, headers: PUBLIC })
  })
}

export function addToElysia(app: Elysia): void {
  app
    .get('/public/text', ({ set }) => {
      Object.assign(set.headers, PUBLIC)
      return 'text'
    })
    .get('/public/object', ({ set }) => {
      Object.assign(set.headers, PUBLIC)
      return {}
    })
    .get('/public/stream', async function* ({ set }) {
      Object.assign(set.headers, PUBLIC)
      yield 'stream'
    })
    .get('/public/response', raw)
    .get('/public/redirect', ({ set, redirect }) => {
      Object.assign(set.headers, PUBLIC)
      return redirect('http://localhost/')
    })
    .get('/public/not-modified', () => withStatus(304))
    .get('/public/error', ({ set, status }) => {
      Object.assign(set.headers, PUBLIC)
      throw status(418)
    })
}

const RESPONSES: Readonly<Record<string, () => Response>> = {
  text: () => new Response('text', { headers: PUBLIC }),
  object: () => Response.json({}, { headers: PUBLIC }),
  stream: () => new Response(toStream(), { headers: PUBLIC }),
  response: raw,
  redirect: () => withStatus(302, { location: '/' }),
  'not-modified': () => withStatus(304),
  error: () => withStatus(418),
}

/** The response of a Fetch handler to a path below `/public`. */
export function answerPublicly(pathname: string): Response | null {
  return RESPONSES[pathname.replace('/public/', '')]?.() ?? null
}

const Public = (): MethodDecorator =>
  applyDecorators(...Object.entries(PUBLIC).map(([name, value]) => Header(name, value)))

@Controller('/public')
export class PublicController {
  @Get('text')
  @Public()
  text(): string {
    return 'text'
  }

  @Get('object')
  @Public()
  object(): object {
    return {}
  }

  @Get('stream')
  @Public()
  stream(): StreamableFile {
    return new StreamableFile(Buffer.from('stream'))
  }

  @Get('response')
  @Public()
  @Header('set-cookie', cookie)
  response(): string {
    return 'raw'
  }

  @Get('redirect')
  @Public()
  @Redirect('/')
  redirect(): void {}

  @Get('not-modified')
  @Public()
  @HttpCode(304)
  notModified(): void {}

  @Get('error')
  @Public()
  error(): never {
    throw new HttpException('teapot', 418)
  }
}
