import type { Application } from './application.js'
import { start as startFetch } from './fetch.js'
import { start as startHono } from './hono.js'
import type { ExampleOptions, Framework } from './options.js'
import type { RunningServer } from './server.js'

/** How each framework's application is started. */
export const START: Readonly<
  Record<Framework, (application: Application, options: ExampleOptions) => Promise<RunningServer>>
> = {
  hono: startHono,
  fetch: startFetch,
}
