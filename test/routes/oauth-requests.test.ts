import { describe, expect, test } from 'vitest'
import {
  clientCredentials,
  createIntrospectionRoute,
  createRevocationRoute,
} from '../../packages/issuers/src/index.js'
import { createRevocable } from '../helpers/revocable.js'
import { basic, client, createForm, send } from './oauth-fixture.js'

const { tokens } = createRevocable()
const ENDPOINTS = [
  ['introspection', createIntrospectionRoute(tokens, { client })],
  ['revocation', createRevocationRoute(tokens, { client })],
] as const

describe.each(ENDPOINTS)('%s', (_name, routes) => {
  test('other methods are refused, and pre-flights and other paths are left to the application', async () => {
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH']) {
      const response = await routes.handle(new Request(`http://localhost${routes.path}`, { method }))
      expect([response?.status, response?.headers.get('allow')]).toEqual([405, 'POST'])
    }
    for (const [method, path] of [
      ['OPTIONS', routes.path],
      ['POST', `${routes.path}/`],
      ['POST', `${routes.path}/x`],
      ['POST', '/oauth'],
    ] as const) {
      expect(await routes.handle(new Request(`http://localhost${path}`, { method }))).toBe(null)
    }
  })

  test.each<[string, Parameters<typeof createForm>[1], Record<string, string | null>, number]>([
    ['JSON', '{"token":"x"}', { 'content-type': 'application/json' }, 415],
    ['no type', 'token=x', { 'content-type': 'text/plain' }, 415],
    ['a multipart form', 'token=x', { 'content-type': 'multipart/form-data; boundary=x' }, 415],
    ['no token', 'token_type_hint=access_token', {}, 400],
    ['an empty token', 'token=', {}, 400],
    ['an empty body', '', {}, 400],
    ['the token twice', 'token=a&token=b', {}, 400],
    ['the hint twice', 'token=a&token_type_hint=a&token_type_hint=a', {}, 400],
    ['an unknown parameter twice', 'token=a&x=1&x=1', {}, 400],
    ['a body that is too big', `token=${'a'.repeat(70_000)}`, {}, 413],
  ])('%s is refused', async (_case, body, headers, status) => {
    expect(await send(routes, body, headers)).toMatchObject([status, { error: 'invalid_request' }])
  })

  test('a token in the query is not read', async () => {
    const { headers } = createForm(routes.path, '')
    const request = new Request(`http://localhost${routes.path}?token=x`, {
      method: 'POST',
      headers,
      body: '',
    })
    expect((await routes.handle(request))?.status).toBe(400)
  })

  test('a body that is no UTF-8', async () => {
    const request = new Request(`http://localhost${routes.path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: basic() },
      body: Uint8Array.of(0x74, 0x3d, 0xff, 0xfe),
    })
    expect((await routes.handle(request))?.status).toBe(400)
  })

  test('parameters of the type do not matter', async () => {
    const headers = { 'content-type': 'Application/X-WWW-Form-URLEncoded; charset=UTF-8' }
    expect((await send(routes, 'token=x', headers))[0]).toBe(200)
  })
})

describe('clients', () => {
  const routes = createIntrospectionRoute(tokens, { client })
  const token = 'x'

  test.each<[string, Record<string, string>, string | null]>([
    ['Basic', { token }, basic()],
    ['Basic, with a colon and characters that are encoded', { token }, basic('billing:eu')],
    ['Basic, in small letters', { token }, basic().replace('Basic', 'basic')],
    ['Basic, with the same client_id', { token, client_id: 'orders' }, basic()],
    ['the form', { token, client_id: 'orders', client_secret: 'secret of orders' }, null],
  ])('%s authenticates', async (_name, form, authorization) => {
    expect(await send(routes, form, { authorization })).toEqual([200, { active: false }])
  })

  test.each<[string, Record<string, string>, string | null]>([
    ['nothing', { token }, null],
    ['an id alone', { token, client_id: 'orders' }, null],
    ['a secret alone', { token, client_secret: 'secret of orders' }, null],
    ['a wrong secret', { token, client_id: 'orders', client_secret: 'no' }, null],
    ['an unknown client', { token, client_id: 'nobody', client_secret: '' }, null],
    ['a wrong secret in Basic', { token }, basic('orders', 'no')],
    ['an unknown client in Basic', { token }, basic('nobody', 'x')],
    ['Basic without a colon', { token }, `Basic ${Buffer.from('orders').toString('base64')}`],
    ['Basic without an id', { token }, `Basic ${Buffer.from(':secret').toString('base64')}`],
    ['Basic that is not encoded', { token }, `Basic ${Buffer.from('orders:%zz').toString('base64')}`],
    ['Basic that is no Base64', { token }, 'Basic ###'],
    ['another scheme', { token }, 'Bearer abc'],
    ['two headers', { token }, `${basic()}, ${basic()}`],
  ])('%s does not', async (_name, form, authorization) => {
    const response = await routes.handle(createForm(routes.path, form, { authorization }))
    expect(response?.status).toBe(401)
    expect(response?.headers.get('www-authenticate')).toMatch(/^Basic realm=/)
    expect(await response?.json()).toMatchObject({ error: 'invalid_client' })
  })

  test.each<[string, Record<string, string>]>([
    ['two ways at once', { token, client_id: 'orders', client_secret: 'secret of orders' }],
    ['a client_id of another client', { token, client_id: 'billing:eu' }],
  ])('%s is refused', async (_name, form) => {
    expect(await send(routes, form)).toMatchObject([400, { error: 'invalid_request' }])
  })

  test('a response that the dependency throws is the response, and any other error is one of the application', async () => {
    const challenge = new Response(null, { status: 401, headers: { 'www-authenticate': 'DPoP' } })
    const custom = createIntrospectionRoute(tokens, {
      client: (): string => {
        throw challenge
      },
    })
    expect(await custom.handle(createForm(custom.path, { token }))).toBe(challenge)
    const broken = createIntrospectionRoute(tokens, {
      client: async (): Promise<string> => Promise.reject(new Error('database')),
    })
    await expect(send(broken, { token })).rejects.toMatchObject({
      status: 500,
      cause: { message: 'database' },
    })
  })

  test('what verify returns is a client or null', async () => {
    const odd = createIntrospectionRoute(tokens, {
      client: clientCredentials({ verify: () => false as never }),
    })
    await expect(send(odd, { token })).rejects.toMatchObject({ cause: expect.any(TypeError) as TypeError })
    expect(() => clientCredentials({ verify: 'x' } as never)).toThrow(TypeError)
  })
})
