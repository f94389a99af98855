import { DatabaseSync } from 'node:sqlite'
import { TokenConfig, TokenManager } from 'tokenlib'
import { handleErrors, inject } from 'tokenlib/fetch'
import { createSqliteStore } from 'tokenlib/sqlite'

const database = new DatabaseSync(Deno.env.get('DATABASE_PATH') ?? 'tokens.sqlite')
const config = new TokenConfig({ JWT_SECRET_KEY: Deno.env.get('JWT_SECRET_KEY') })
const tokens = new TokenManager({ config, store: createSqliteStore(database) })
await tokens.ready()

const routes = {
  // Check a password here.
  'POST /login': async () => Response.json(await tokens.sessions.open({ uid: 'ada' })),
  'POST /refresh': async (request) => Response.json(await tokens.sessions.refresh(request)),
  'GET /me': inject({ payload: tokens.accessTokenRequired }, ({ payload }) =>
    Response.json({ id: payload.sub }),
  ),
  'DELETE /logout': async (request) => {
    await tokens.logout(request)
    return new Response(null, { status: 204 })
  },
}

const answer = handleErrors({ config })((request) => {
  const route = routes[`${request.method} ${new URL(request.url).pathname}`]
  return route === undefined ? new Response('Not Found', { status: 404 }) : route(request)
})

Deno.serve(
  {
    port: Number(Deno.env.get('PORT') ?? 3000),
    onListen: ({ port }) => console.log(JSON.stringify({ url: `http://localhost:${port}` })),
  },
  answer,
)
