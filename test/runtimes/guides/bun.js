import { Database } from 'bun:sqlite'
import { TokenConfig, TokenManager } from 'tokenlib'
import { handleErrors, inject } from 'tokenlib/fetch'
import { createSqliteStore } from 'tokenlib/sqlite'

const database = new Database(process.env.DATABASE_PATH ?? 'tokens.sqlite')
const config = new TokenConfig({ JWT_SECRET_KEY: process.env.JWT_SECRET_KEY })
const tokens = new TokenManager({ config, store: createSqliteStore(database) })
await tokens.ready()

const answerErrors = handleErrors({ config })

const server = Bun.serve({
  port: Number(process.env.PORT ?? 3000),
  routes: {
    // Check a password here.
    '/login': { POST: async () => Response.json(await tokens.sessions.open({ uid: 'ada' })) },
    '/refresh': {
      POST: answerErrors(async (request) => Response.json(await tokens.sessions.refresh(request))),
    },
    '/me': answerErrors(
      inject({ payload: tokens.accessTokenRequired }, ({ payload }) => Response.json({ id: payload.sub })),
    ),
    '/logout': {
      DELETE: answerErrors(async (request) => {
        await tokens.logout(request)
        return new Response(null, { status: 204 })
      }),
    },
  },
})
console.log(JSON.stringify({ url: server.url.origin }))
