// An example application as a Worker. The bundle has `worker-server.js` in the place of the server that listens.
import { createApplication } from './examples/application.js'
import { createMemoryStore } from 'tokenlib/memory'
import { readHandler } from './worker-server.js'

const FRAMEWORKS = {
  hono: () => import('./examples/hono.js'),
  h3: () => import('./examples/h3.js'),
  fetch: () => import('./examples/fetch.js'),
}

const store = createMemoryStore()
let started

export default {
  async fetch(request, { framework, profile, handleErrors, withoutGrace }) {
    const fields = withoutGrace === 'true' ? { JWT_REFRESH_GRACE: 0 } : {}
    started ??= start(framework, fields, {
      framework,
      profile,
      handleErrors: handleErrors === 'true',
      port: 0,
    })
    await started
    return readHandler()(request)
  },
}

async function start(framework, fields, options) {
  const { start } = await FRAMEWORKS[framework]()
  await start(createApplication(store, fields), options)
}
