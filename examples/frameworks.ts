import type { Application } from './application.js'
import { start as startElysia } from './elysia.js'
import { start as startExpress } from './express.js'
import { start as startFastify } from './fastify.js'
import { start as startFetch } from './fetch.js'
import { start as startH3 } from './h3.js'
import { start as startHono } from './hono.js'
import { start as startKoa } from './koa.js'
import { start as startNest, startOnFastify as startNestOnFastify } from './nest.js'
import type { ExampleOptions, Framework } from './options.js'
import type { RunningServer } from './server.js'

/** How each framework's application is started. */
export const START: Readonly<
  Record<Framework, (application: Application, options: ExampleOptions) => Promise<RunningServer>>
> = {
  nest: startNest,
  'nest-fastify': startNestOnFastify,
  fastify: startFastify,
  express: startExpress,
  hono: startHono,
  koa: startKoa,
  h3: startH3,
  elysia: startElysia,
  fetch: startFetch,
}
