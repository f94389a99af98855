import type { Application } from './application.js'
import type { ExampleOptions, Framework } from './options.js'
import type { RunningServer } from './server.js'

type Start = (application: Application, options: ExampleOptions) => Promise<RunningServer>

/** How each framework's application is started; only that framework is loaded. */
export const START: Readonly<Record<Framework, Start>> = {
  nest: async (...given) => (await import('./nest.js')).start(...given),
  'nest-fastify': async (...given) => (await import('./nest.js')).startOnFastify(...given),
  fastify: async (...given) => (await import('./fastify.js')).start(...given),
  express: async (...given) => (await import('./express.js')).start(...given),
  hono: async (...given) => (await import('./hono.js')).start(...given),
  koa: async (...given) => (await import('./koa.js')).start(...given),
  h3: async (...given) => (await import('./h3.js')).start(...given),
  elysia: async (...given) => (await import('./elysia.js')).start(...given),
  fetch: async (...given) => (await import('./fetch.js')).start(...given),
}
