import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import { describe, expect, test } from 'vitest'
import { describeSecurity, enforce, inject } from '../../packages/tokenlib/src/frameworks/fastify.js'
import { securitySchemes } from '../../packages/tokenlib/src/routes/openapi.js'
import { createManager } from '../helpers/manager.js'

const { tokens } = createManager()
const { config, accessTokenRequired } = tokens
const BEARER = [{ bearerAuth: [] }]
const guard = { onRequest: enforce(accessTokenRequired) }
const ran = () => 'ran'

async function createApp(): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(swagger, { openapi: { components: { securitySchemes: securitySchemes(config) } } })
  return app
}

/** What the document says about the security of each operation. */
async function readSecurity(app: FastifyInstance): Promise<Record<string, unknown>> {
  await app.ready()
  const operations = Object.entries(app.swagger().paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods ?? {}).map(([method, operation]): [string, unknown] => [
      `${method.toUpperCase()} ${path}`,
      (operation as { security?: unknown }).security,
    ]),
  )
  return Object.fromEntries(operations)
}

describe('describeSecurity', () => {
  test('marks exactly the guarded routes, however they are guarded', async () => {
    const app = await createApp()
    describeSecurity(app, config)
    const hook = enforce(accessTokenRequired)
    const other = async () => 1
    app.get('/on-request', { onRequest: hook }, ran)
    app.get('/pre-validation', { preValidation: [other, hook] }, ran)
    app.get('/pre-handler', { preHandler: hook }, ran)
    app.get('/handler', inject({ payload: accessTokenRequired }, ran))
    app.route({ method: 'GET', url: '/route', handler: inject({ payload: accessTokenRequired }, ran) })
    app.register(async (child) => void child.get('/child', { onRequest: hook }, ran), { prefix: '/in' })
    app.get('/open', ran)
    app.get('/other', { onRequest: other, preHandler: [other] }, ran)
    expect(await readSecurity(app)).toEqual({
      'GET /on-request': BEARER,
      'GET /pre-validation': BEARER,
      'GET /pre-handler': BEARER,
      'GET /handler': BEARER,
      'GET /route': BEARER,
      'GET /in/child': BEARER,
      'GET /open': undefined,
      'GET /other': undefined,
    })
    expect(app.swagger()).toMatchObject({
      components: { securitySchemes: { bearerAuth: { type: 'http', scheme: 'bearer' } } },
    })
  })

  test('marks only the routes of its context', async () => {
    const app = await createApp()
    app.register(async (child) => {
      describeSecurity(child, config)
      child.get('/inside', guard, ran)
    })
    app.get('/outside', guard, ran)
    expect(await readSecurity(app)).toEqual({ 'GET /inside': BEARER, 'GET /outside': undefined })
  })

  test('marks every route of a context that a hook of its own guards, when told so', async () => {
    const app = await createApp()
    app.register(async (admin) => {
      admin.addHook('onRequest', enforce(accessTokenRequired))
      describeSecurity(admin, config, { everyRoute: true })
      admin.get('/users', ran)
      admin.register(async (child) => void child.get('/deep', ran))
    })
    app.get('/open', ran)
    expect(await readSecurity(app)).toEqual({
      'GET /users': BEARER,
      'GET /deep': BEARER,
      'GET /open': undefined,
    })
  })

  test('what a route says itself stands', async () => {
    const app = await createApp()
    describeSecurity(app, config)
    app.get('/none', { ...guard, schema: { security: [] } }, ran)
    app.get('/own', { ...guard, schema: { security: [{ bearerAuth: ['admin'] }] } }, ran)
    expect(await readSecurity(app)).toEqual({ 'GET /none': [], 'GET /own': [{ bearerAuth: ['admin'] }] })
  })

  test('keeps the rest of the schema, and leaves one alone that an open route shares', async () => {
    const app = await createApp()
    describeSecurity(app, config)
    const querystring = { type: 'object', properties: { page: { type: 'integer' } } }
    const schema = { summary: 'List', querystring }
    app.get('/guarded', { ...guard, schema }, (request) => ({ query: request.query }))
    app.get('/open', { schema }, ran)
    expect(await readSecurity(app)).toEqual({ 'GET /guarded': BEARER, 'GET /open': undefined })
    expect(schema).not.toHaveProperty('security')
    expect(app.swagger().paths?.['/guarded']).toMatchObject({ get: { summary: 'List' } })
    const headers = { authorization: `Bearer ${tokens.createAccessToken({ uid: 'ada' })}` }
    expect((await app.inject({ url: '/guarded?page=2', headers })).json()).toEqual({ query: { page: 2 } })
  })

  test('inside another, the inner one describes its routes', async () => {
    const cookies = createManager({ JWT_TOKEN_LOCATION: 'cookies' }).tokens.config
    const app = Fastify()
    const components = { securitySchemes: { ...securitySchemes(config), ...securitySchemes(cookies) } }
    await app.register(swagger, { openapi: { components } })
    describeSecurity(app, config)
    app.register(async (child) => {
      describeSecurity(child, cookies)
      child.get('/inner', guard, ran)
      child.post('/inner', guard, ran)
      child.route({ method: ['GET', 'PUT'], url: '/both', ...guard, handler: ran })
    })
    app.get('/outer', guard, ran)
    const withCsrf = [{ cookieAuth: [], csrfToken: [] }]
    expect(await readSecurity(app)).toEqual({
      'GET /inner': [{ cookieAuth: [] }],
      'POST /inner': withCsrf,
      'GET /both': withCsrf,
      'PUT /both': withCsrf,
      'GET /outer': BEARER,
    })
  })

  test('marks routes for refresh tokens with the schemes of refresh tokens', async () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'cookies' })
    const app = Fastify()
    await app.register(swagger, {
      openapi: { components: { securitySchemes: securitySchemes(tokens.config) } },
    })
    describeSecurity(app, tokens.config)
    const other = async () => 1
    app.post('/hook', { onRequest: enforce(tokens.refreshTokenRequired) }, ran)
    app.get('/handler', inject({ other, payload: tokens.require({ type: 'refresh', fresh: false }) }, ran))
    app.get('/either', { onRequest: enforce(tokens.tokenRequired) }, ran)
    app.get('/access', { onRequest: enforce(tokens.require({ scopes: ['read'] })) }, ran)
    app.get('/own', { onRequest: enforce(other) }, ran)
    expect(await readSecurity(app)).toEqual({
      'POST /hook': [{ refreshCookieAuth: [], csrfToken: [] }],
      'GET /handler': [{ refreshCookieAuth: [] }],
      'GET /either': [{ cookieAuth: [] }, { refreshCookieAuth: [] }],
      'GET /access': [{ cookieAuth: [] }],
      'GET /own': [{ cookieAuth: [] }],
    })
    expect(app.swagger()).toMatchObject({
      components: { securitySchemes: { refreshCookieAuth: { in: 'cookie', name: 'refresh_token_cookie' } } },
    })
  })

  test('says nothing for tokens in a JSON body, which OpenAPI has no words for', async () => {
    const app = await createApp()
    describeSecurity(app, createManager({ JWT_TOKEN_LOCATION: 'json' }).tokens.config)
    app.post('/', guard, ran)
    expect(await readSecurity(app)).toEqual({ 'POST /': undefined })
  })

  test('works without @fastify/swagger, and changes nothing but the schema', async () => {
    const app = Fastify()
    describeSecurity(app, config)
    app.get('/', guard, ran)
    expect((await app.inject('/')).statusCode).toBe(500)
  })
})
