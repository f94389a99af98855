import Fastify from 'fastify'
import { TokenConfig, TokenManager } from 'tokenlib'
import { trustLegacyIssuer } from '@tokenlib/issuers'
import { enforce, handleErrors, inject } from 'tokenlib/fastify'
import { createMemoryStore } from 'tokenlib/memory'
import { type AfterSettings, type RunningSuccessor, toAnswer } from '../shared/application.js'
import { checkPassword } from '../shared/users.js'
import { SECRET } from './before.js'

/** In the environment too, and not the old secret. */
const JWT_SECRET_KEY = 'wB6jMx1rGs9kZd4tQn8vCf2yPh7eLa5u'

function createTokens({ clock, acceptUntil }: AfterSettings) {
  return new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY, JWT_REFRESH_TOKEN_LOCATION: 'json' }),
    store: createMemoryStore({ clock }),
    clock,
    issuers: [
      trustLegacyIssuer({
        issuer: 'old-app',
        withoutIss: true,
        secret: SECRET,
        mapping: { sub: 'user.id', scopes: 'user.roles' },
        maxTokenAge: '7d',
        acceptUntil,
      }),
    ],
  })
}

function createApp(tokens: TokenManager) {
  const app = Fastify({ forceCloseConnections: true })
  app.setErrorHandler(handleErrors({ config: tokens.config }))

  app.post<{ Body: { name: string; password: string } }>('/login', async (request, reply) => {
    const user = checkPassword(request.body.name, request.body.password)
    if (user === null) return reply.code(401).send({ error: 'Wrong name or password' })
    return toAnswer(await tokens.sessions.open({ uid: String(user.id) }, { scopes: user.roles }))
  })

  app.get(
    '/me',
    inject({ payload: tokens.accessTokenRequired }, ({ payload }) => ({
      id: Number(payload.sub),
      roles: payload.scopes,
    })),
  )

  app.post('/refresh', async (request) => toAnswer(await tokens.sessions.refresh(request)))

  app.post('/logout', { onRequest: enforce(tokens.accessTokenRequired) }, async (request, reply) => {
    await tokens.logout(request)
    return reply.code(204).send()
  })
  return app
}

export async function start(settings: AfterSettings): Promise<RunningSuccessor> {
  const tokens = createTokens(settings)
  await tokens.ready()
  const app = createApp(tokens)
  const url = await app.listen({ host: '127.0.0.1', port: settings.port })
  return { url, close: () => app.close(), tokens }
}
