import express from 'express'
import Fastify from 'fastify'
import Koa from 'koa'
import { expect, onTestFinished, test } from 'vitest'
import { type RunningServer, serveNode } from '../../examples/server.js'
import * as expressAdapter from '../../packages/tokenlib/src/frameworks/express.js'
import * as fastify from '../../packages/tokenlib/src/frameworks/fastify.js'
import * as koa from '../../packages/tokenlib/src/frameworks/koa.js'
import type { TokenManager } from '../../packages/tokenlib/src/index.js'
import { createRevocable } from '../helpers/revocable.js'

// Applications that trust their proxy, each in the way of its framework.
const TRUSTING: Readonly<Record<string, (tokens: TokenManager) => Promise<RunningServer>>> = {
  Express(tokens) {
    const app = express().set('trust proxy', true)
    app.get('/', expressAdapter.enforce(tokens.accessTokenRequired))
    app.use(expressAdapter.handleErrors())
    return serveNode(app, 0)
  },
  async Fastify(tokens) {
    const app = Fastify({ trustProxy: true, forceCloseConnections: true })
    app.setErrorHandler(fastify.handleErrors())
    app.get('/', { onRequest: fastify.enforce(tokens.accessTokenRequired) }, async () => 'ok')
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    return { url, close: () => app.close() }
  },
  Koa(tokens) {
    const app = new Koa({ proxy: true })
    app.use(koa.handleErrors()).use(koa.enforce(tokens.accessTokenRequired))
    const handle = app.callback()
    return serveNode((req, res) => void handle(req, res), 0)
  },
}

test.each(Object.entries(TRUSTING))(
  '%s: events have the address that the framework knows',
  async (_, start) => {
    const { tokens } = createRevocable()
    const seen: unknown[] = []
    tokens.on('rejected', ({ ip, userAgent }) => seen.push([ip, userAgent]))
    const server = await start(tokens)
    onTestFinished(() => server.close())
    const headers = { 'x-forwarded-for': '192.0.2.7', 'user-agent': 'Test/1' }
    expect((await fetch(server.url, { headers })).status).toBe(401)
    expect(seen).toEqual([['192.0.2.7', 'Test/1']])
  },
)
