import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { createApplication } from '../examples/application.js'
import { createApp as createFetchApp } from '../examples/fetch.js'
import { createApp as createHonoApp } from '../examples/hono.js'
import { applicationContract, type StartApplication } from './contract/application.js'

function startWith(createApp: typeof createFetchApp | typeof createHonoApp): StartApplication {
  return (options) =>
    new Promise((resolve, reject) => {
      const app = createApp(createApplication(), { ...options, framework: 'fetch', port: 0 })
      const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }: AddressInfo) =>
        resolve({
          url: `http://127.0.0.1:${port}`,
          close: () => new Promise((done) => server.close(() => done())),
        }),
      )
      server.on('error', reject)
    })
}

applicationContract('hono', startWith(createHonoApp))
applicationContract('fetch', startWith(createFetchApp))
