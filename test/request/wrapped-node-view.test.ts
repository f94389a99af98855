import { describe, expect, test } from 'vitest'
import { toRequestView } from '../../packages/tokenlib/src/http/request-source.js'
import { type WrappedRequest, wrappedRequestReader } from '../../packages/tokenlib/src/http/node-view.js'

/** A request as Fastify has it: Node's own in `raw`, and what its parser left in `body`. */
function wrap(raw: Partial<WrappedRequest['raw']> = {}, body?: unknown): WrappedRequest {
  return {
    raw: {
      method: 'POST',
      url: '/a?b',
      headers: { 'content-type': 'application/json', 'content-length': '2', 'x-one': '1' },
      rawHeaders: ['X-One', '1'],
      readableDidRead: false,
      socket: { remoteAddress: '192.0.2.1' },
      ...raw,
    },
    body,
  }
}

test('the view shows what Node received', async () => {
  const view = wrappedRequestReader.toView(wrap({}, { a: 1 }))
  expect([view.method, view.url, view.ip, view.header('X-One')]).toEqual(['POST', '/a?b', '192.0.2.1', '1'])
  expect(await view.body()).toEqual({ a: 1 })
})

test('a repeated header is seen in the raw ones', () => {
  const rawHeaders = ['Authorization', 'Bearer a', 'Authorization', 'Bearer b']
  const view = wrappedRequestReader.toView(wrap({ headers: { authorization: 'Bearer a' }, rawHeaders }))
  expect(view.header('authorization')).toBe('Bearer a, Bearer b')
})

test('the wrapped request and the raw one have the same view', () => {
  const request = wrap()
  const view = wrappedRequestReader.toView(request)
  expect(wrappedRequestReader.toView(request)).toBe(view)
  expect(toRequestView(request.raw)).toBe(view)
  expect(toRequestView(request as never)).toBe(view)
})

describe('a body that the framework has still to parse is not taken for none', () => {
  const headersOf = (type: string, rest: object = { 'content-length': '2' }) => ({
    headers: { 'content-type': type, ...rest },
  })

  test.each<[string, Partial<WrappedRequest['raw']>]>([
    ['JSON', {}],
    ['JSON of a PUT', { method: 'PUT' }],
    ['JSON of a PATCH', { method: 'PATCH' }],
    ['JSON of a DELETE', { method: 'DELETE' }],
    ['a form', headersOf('application/x-www-form-urlencoded')],
    ['JSON in chunks', headersOf('application/json', { 'transfer-encoding': 'chunked' })],
  ])('%s', async (_what, raw) => {
    await expect(wrappedRequestReader.toView(wrap(raw)).body()).rejects.toThrow(
      new TypeError('The body is not parsed yet: a token in it needs a preValidation hook'),
    )
  })

  test.each<[string, Partial<WrappedRequest['raw']>]>([
    ['a GET', { method: 'GET' }],
    ['a method that only looks like one with a body', { method: 'XPOST' }],
    ['a longer one', { method: 'POSTX' }],
    ['no method', { method: undefined }],
    ['a stream that was read', { readableDidRead: true }],
    ['no body', headersOf('application/json', { 'content-length': '0' })],
    ['no length', headersOf('application/json', {})],
    ['another type', headersOf('text/plain')],
    ['no type', { headers: { 'content-length': '2' } }],
  ])('there is none to wait for: %s', async (_what, raw) => {
    expect(await wrappedRequestReader.toView(wrap(raw)).body()).toBeUndefined()
  })
})
