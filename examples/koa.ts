import { text } from 'node:stream/consumers'
import { Router } from '@koa/router'
import Koa from 'koa'
import { enforce, handleErrors, inject, mount } from 'tokenlib/koa'
import { type Application, describeToken } from './application.js'
import type { ExampleOptions } from './options.js'
import { type RunningServer, serveNode } from './server.js'

/** The specification's application in Koa, listening. */
export function start(application: Application, options: ExampleOptions): Promise<RunningServer> {
  const app = new Koa()
  // Koa logs unhandled errors otherwise.
  app.silent = true
  if (options.handleErrors) app.use(handleErrors({ config: application.tokens.config }))
  for (const routes of application.routes) app.use(mount(routes))
  app.use(createRouter(application, options).routes())
  const handle = app.callback()
  return serveNode((req, res) => void handle(req, res), options.port)
}

function createRouter(application: Application, options: ExampleOptions): Router {
  const { tokens, getTokenDep, getOptionalTokenDep } = application
  const router = new Router()
  // Koa sends a string as plain text; here every response is JSON.
  router.use((ctx, next) => {
    ctx.type = 'json'
    return next()
  })

  router.get(
    '/token/mandatory',
    enforce(tokens.accessTokenRequired),
    inject({ token: getTokenDep }, ({ token }, ctx) => {
      ctx.body = JSON.stringify(describeToken(token))
    }),
  )
  router.get('/token/optional', inject({ token: getOptionalTokenDep }), (ctx) => {
    ctx.body = JSON.stringify(describeToken(ctx.state.token))
  })

  if (options.profile === 'payload') {
    router.get('/profile', inject({ payload: tokens.accessTokenRequired }), (ctx) => {
      const { sub, age, foo } = ctx.state.payload
      ctx.body = { id: sub, age, foo }
    })
  } else {
    router.get('/profile', enforce(tokens.accessTokenRequired), (ctx) => {
      ctx.body = JSON.stringify('You are authenticated')
    })
  }
  router.get(
    '/me',
    enforce(tokens.accessTokenRequired),
    inject({ payload: tokens.accessTokenRequired }),
    (ctx) => {
      const { sub, age, foo } = ctx.state.payload
      ctx.body = { id: sub, age, foo }
    },
  )

  router.get('/token', (ctx) => {
    ctx.body = { access_token: tokens.createAccessToken({ uid: 'ada', foo: 'bar', age: 36 }) }
  })
  router.post('/login', async (ctx) => {
    const issued = await application.login(await text(ctx.req), { request: ctx.req })
    if (issued === null) ctx.status = 400
    ctx.body = issued ?? JSON.stringify('uid must be a non-empty string')
  })
  router.post('/refresh', inject({ issued: application.refresh }), (ctx) => {
    ctx.body = ctx.state.issued
  })
  router.delete(
    '/logout',
    inject({ payload: tokens.accessTokenRequired, token: getTokenDep }, async ({ token, payload }, ctx) => {
      await application.logout(token, payload)
      ctx.body = JSON.stringify('OK')
    }),
  )
  return router
}
