import { Body, Controller, type ExecutionContext, Post, UseGuards } from '@nestjs/common'
import { describe, expect, test, vi } from 'vitest'
import {
  AccessTokenGuard,
  enforce,
  Token,
  TokenExceptionFilter,
  TokenModule,
} from '../../packages/tokenlib/src/frameworks/nest/index.js'
import { MissingTokenError, type RequestToken } from '../../packages/tokenlib/src/index.js'
import { createManager } from '../helpers/manager.js'
import { PLATFORMS, serve } from '../helpers/nest.js'
import { csrfOf } from '../helpers/requests.js'

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

describe.each(PLATFORMS)('on %s', (platform) => {
  const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['cookies', 'json'], JWT_CSRF_CHECK_FORM: true })
  const TOKEN = tokens.createAccessToken({ uid: 'ada' })

  @Controller()
  class Routes {
    @Post('body')
    @UseGuards(AccessTokenGuard)
    body(@Body() body: unknown, @Token() token: RequestToken) {
      return { body, location: token.location }
    }
  }
  const options = {
    imports: [TokenModule.forRoot({ tokens })],
    setUp: (app: { useGlobalFilters(filter: TokenExceptionFilter): unknown }) =>
      void app.useGlobalFilters(new TokenExceptionFilter()),
    platform,
  }
  const json = (body: unknown) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

  test('AccessTokenGuard finds a token in a JSON body, and the route reads the body', async () => {
    const { send } = await serve([Routes], options)
    const body = { access_token: TOKEN, title: 'x' }
    await expect((await send('/body', json(body))).json()).resolves.toEqual({ body, location: 'json' })
    const refused = await send('/body', json({ title: 'x' }))
    await expect(refused.json()).resolves.toMatchObject({ code: 'TOKEN_MISSING' })
  })

  test('AccessTokenGuard finds a CSRF value in a form', async () => {
    const { send } = await serve([Routes], options)
    const post = (csrf_token: string) =>
      send('/body', {
        method: 'POST',
        headers: { cookie: `access_token_cookie=${TOKEN}` },
        body: new URLSearchParams({ csrf_token }),
      })
    await expect((await post(csrfOf(TOKEN))).json()).resolves.toMatchObject({ location: 'cookies' })
    await expect((await post('wrong')).json()).resolves.toMatchObject({ code: 'CSRF_MISMATCH' })
  })
})

/** A handler's context on a transport that has no server in these tests. */
function createContext(type: string, ...args: unknown[]): ExecutionContext {
  const getHandler = () => createContext
  return {
    getType: () => type,
    getArgByIndex: (index: number) => args[index],
    switchToWs: () => ({ getClient: () => args[0] }),
    getHandler,
    getClass: () => Object,
  } as unknown as ExecutionContext
}

describe('on other transports', () => {
  const { tokens } = createManager()
  const TOKEN = tokens.createAccessToken({ uid: 'ada' })
  const guard = enforce(tokens.accessTokenRequired)
  const request = (token: string) => ({ method: 'POST', url: '/graphql', headers: bearer(token) })

  test.each([
    ['req, as Express has it', (given: object) => ({ req: given })],
    ['req, as Fastify has it', (given: object) => ({ req: { raw: given, body: {} } })],
    ['request', (given: object) => ({ request: given })],
  ])('GraphQL: the request is %s in the context', async (_, toGraphql) => {
    const pass = guard.canActivate(createContext('graphql', {}, {}, toGraphql(request(TOKEN)), {}))
    await expect(pass).resolves.toBe(true)
    const refuse = guard.canActivate(createContext('graphql', {}, {}, toGraphql(request('bad')), {}))
    await expect(refuse).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  })

  test('GraphQL: all resolvers of one request share one check, those of one subscription socket do not', async () => {
    const { tokens } = createManager()
    const isRevoked = vi.fn(() => false)
    tokens.setCallbackTokenBlocklist(isRevoked)
    const count = async (req: object): Promise<number> => {
      isRevoked.mockClear()
      const guard = new AccessTokenGuard(tokens)
      for (let at = 0; at < 3; at++) await guard.canActivate(createContext('graphql', {}, {}, { req }, {}))
      return isRevoked.mock.calls.length
    }
    await expect(count(request(TOKEN))).resolves.toBe(1)
    const upgrade = { method: 'GET', url: '/', headers: { ...bearer(TOKEN), upgrade: 'websocket' } }
    await expect(count(upgrade)).resolves.toBe(3)
  })

  test.each([
    ['rpc', createContext('rpc', {})],
    ['a GraphQL context without a request', createContext('graphql', {}, {}, {}, {})],
    ['no GraphQL context', createContext('graphql', {}, {}, undefined, {})],
    ['a client of ws whose handshake nobody authenticated', createContext('ws', {})],
    ['one of Socket.IO', createContext('ws', { request: { method: 'GET', headers: bearer(TOKEN) } })],
  ])('%s: refused with a TypeError that says what is missing', async (_, context) => {
    await expect(guard.canActivate(context)).rejects.toThrow(TypeError)
  })

  test('the filter tells a GraphQL client the code in extensions, and keeps the cause', () => {
    const error = new MissingTokenError()
    const throwing = () => new TokenExceptionFilter().catch(error, createContext('graphql'))
    expect(throwing).toThrow(
      expect.objectContaining({
        cause: error,
        extensions: expect.objectContaining({ code: 'TOKEN_MISSING' }),
      }),
    )
  })

  test("the filter sends Nest's exception event over Socket.IO and ws", () => {
    const filter = new TokenExceptionFilter()
    const data = expect.objectContaining({ status: 'error', code: 'TOKEN_MISSING' }) as object
    const io = { emit: vi.fn() }
    filter.catch(new MissingTokenError(), createContext('ws', io))
    expect(io.emit).toHaveBeenCalledWith('exception', data)
    const ws = { readyState: 1, emit: vi.fn(), send: vi.fn<(text: string) => void>() }
    filter.catch(new MissingTokenError(), createContext('ws', ws))
    expect(ws.emit).not.toHaveBeenCalled()
    expect(JSON.parse(ws.send.mock.calls[0]?.[0] ?? '')).toEqual({ event: 'exception', data })
  })
})
