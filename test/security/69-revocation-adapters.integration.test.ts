import { readdirSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Controller, Get, UseGuards } from '@nestjs/common'
import { Elysia } from 'elysia'
import express from 'express'
import fastify from 'fastify'
import { H3 } from 'h3'
import { Hono } from 'hono'
import Koa from 'koa'
import { expect } from 'vitest'
import { serveNode } from '../../examples/server.js'
import * as forElysia from '../../packages/tokenlib/src/frameworks/elysia.js'
import * as forExpress from '../../packages/tokenlib/src/frameworks/express.js'
import * as forFastify from '../../packages/tokenlib/src/frameworks/fastify.js'
import * as forFetch from '../../packages/tokenlib/src/frameworks/fetch.js'
import * as forH3 from '../../packages/tokenlib/src/frameworks/h3.js'
import * as forHono from '../../packages/tokenlib/src/frameworks/hono.js'
import * as forKoa from '../../packages/tokenlib/src/frameworks/koa.js'
import * as nest from '../../packages/tokenlib/src/frameworks/nest/index.js'
import type { Dependency, TokenManager, TokenPayload } from '../../packages/tokenlib/src/index.js'
import { withBearer } from '../helpers/manager.js'
import { serve } from '../helpers/nest.js'
import { createRevocable } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'

/** Sends a token to a route behind `enforce` and to one behind `inject`; the statuses. */
type Send = (token: string) => Promise<number[]>

/** A route behind each of the two verbs of an adapter; `run` is what it does. */
type Mount = (tokens: TokenManager, run: () => string) => Promise<Send>

const PATHS = ['/enforce', '/inject']
const visit = async (
  token: string,
  send: (request: Request) => Response | Promise<Response>,
): Promise<number[]> => {
  const statuses: number[] = []
  for (const path of PATHS) statuses.push((await send(withBearer(token, path))).status)
  return statuses
}

/** Sends to a real server, which is closed again. */
const visitServer = async (
  token: string,
  listener: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<number[]> => {
  const server = await serveNode((request, response) => void listener(request, response), 0)
  try {
    return await visit(token, ({ url, headers }) => fetch(server.url + new URL(url).pathname, { headers }))
  } finally {
    await server.close()
  }
}

const ADAPTERS: Readonly<Record<string, Mount>> = {
  async fetch({ accessTokenRequired }, run) {
    const { enforce, inject } = forFetch
    const routes: Readonly<Record<string, (request: Request) => Response | Promise<Response>>> = {
      '/enforce': enforce(accessTokenRequired)(() => new Response(run())),
      '/inject': inject({ payload: accessTokenRequired }, () => new Response(run())),
    }
    const handle = forFetch.handleErrors()((request) => routes[new URL(request.url).pathname]!(request))
    return (token) => visit(token, handle)
  },
  async express({ accessTokenRequired }, run) {
    const { enforce, handleErrors, inject } = forExpress
    const app = express()
    app.get('/enforce', enforce(accessTokenRequired), (_req, res) => void res.send(run()))
    app.get(
      '/inject',
      inject({ payload: accessTokenRequired }, (_values, _req, res) => void res.send(run())),
    )
    app.use(handleErrors())
    return (token) => visitServer(token, app)
  },
  async fastify({ accessTokenRequired }, run) {
    const { enforce, handleErrors, inject } = forFastify
    const app = fastify()
    app.setErrorHandler(handleErrors())
    app.get('/enforce', { onRequest: enforce(accessTokenRequired) }, async () => run())
    app.get(
      '/inject',
      inject({ payload: accessTokenRequired }, async () => run()),
    )
    return (token) =>
      visit(token, async ({ url, headers }) => {
        const answer = await app.inject({ url: new URL(url).pathname, headers: Object.fromEntries(headers) })
        return new Response(answer.body, { status: answer.statusCode })
      })
  },
  async hono({ accessTokenRequired }, run) {
    const { enforce, handleErrors, inject } = forHono
    const app = new Hono()
    app.onError(handleErrors())
    app.get('/enforce', enforce(accessTokenRequired), (c) => c.text(run()))
    app.get('/inject', inject({ payload: accessTokenRequired }), (c) => c.text(run()))
    return (token) => visit(token, (request) => app.request(request))
  },
  async koa({ accessTokenRequired }, run) {
    const { enforce, handleErrors, inject } = forKoa
    const app = new Koa()
    const guards: Readonly<Record<string, Koa.Middleware>> = {
      '/enforce': enforce(accessTokenRequired),
      '/inject': inject({ payload: accessTokenRequired }) as Koa.Middleware,
    }
    app.use(handleErrors())
    app.use((ctx, next) => guards[ctx.path]!(ctx, next))
    app.use((ctx) => void (ctx.body = run()))
    const handle = app.callback()
    return (token) => visitServer(token, handle)
  },
  async h3({ accessTokenRequired }, run) {
    const { enforce, handleErrors, inject } = forH3
    const app = new H3({ silent: true }).use(handleErrors())
    app.get('/enforce', run, { middleware: [enforce(accessTokenRequired)] })
    app.get('/inject', inject({ payload: accessTokenRequired }, run))
    return (token) => visit(token, (request) => app.request(request))
  },
  async elysia({ accessTokenRequired }, run) {
    const { enforce, handleErrors, inject } = forElysia
    const app = new Elysia()
      .onError(handleErrors())
      .get('/enforce', () => run(), { beforeHandle: enforce(accessTokenRequired) })
      .get(
        '/inject',
        inject({ payload: accessTokenRequired }, () => run()),
      )
    return (token) => visit(token, (request) => app.handle(request))
  },
  async nest(tokens, run) {
    const { send } = await serve([createRoutes(tokens.accessTokenRequired, run)], {
      imports: [nest.TokenModule.forRoot({ tokens })],
      setUp: (app) => void app.useGlobalFilters(new nest.TokenExceptionFilter()),
    })
    const paths = ['/enforce', '/depends', '/guard', '/scopes', '/payload', '/subject']
    return (token) => Promise.all(paths.map(async (path) => (await send(path, { token })).status))
  },
}

function createRoutes(accessTokenRequired: Dependency<TokenPayload>, run: () => string) {
  @Controller()
  class Routes {
    @Get('enforce')
    @UseGuards(nest.enforce(accessTokenRequired))
    enforced() {
      return run()
    }
    @Get('depends')
    depends(@nest.Depends(accessTokenRequired) _payload: TokenPayload) {
      return run()
    }
    @Get('guard')
    @UseGuards(nest.TokenGuard, nest.AccessTokenGuard, nest.FreshTokenGuard)
    guarded() {
      return run()
    }
    @Get('scopes')
    @nest.RequireScopes('read')
    scopes() {
      return run()
    }
    @Get('payload')
    payload(@nest.TokenClaims() _payload: TokenPayload) {
      return run()
    }
    @Get('subject')
    subject(@nest.CurrentSubject() _subject: string) {
      return run()
    }
  }
  return Routes
}

describeAttacks('a revoked token at a route of a framework (CVE-2020-10594, GHSA-339w class)', () => {
  ownAttack('both verbs of every adapter', async () => {
    // The files that begin with `node-` are what the frameworks on Node share. Socket.IO has sockets, not routes.
    const adapters = readdirSync(new URL('../../packages/tokenlib/src/frameworks', import.meta.url))
      .filter((name) => !name.startsWith('node-') && name !== 'socket-io.ts')
      .map((name) => name.replace('.ts', ''))
    expect(Object.keys(ADAPTERS).toSorted()).toEqual([...new Set(adapters)].toSorted())
    for (const [name, mount] of Object.entries(ADAPTERS)) {
      const { tokens } = createRevocable()
      tokens.setSubjectGetter((uid) => uid)
      let runs = 0
      const send = await mount(tokens, () => `ran ${++runs}`)
      const token = tokens.createAccessToken({ uid: 'ada' }, { fresh: true, scopes: ['read'] })
      const honest = await send(token)
      expect(honest, name).toEqual(honest.map(() => 200))
      expect([honest.length >= 2, runs], name).toEqual([true, honest.length])
      await tokens.revoke.user('ada')
      expect(await send(token), name).toEqual(honest.map(() => 401))
      expect(runs, name).toBe(honest.length)
    }
  })
})
