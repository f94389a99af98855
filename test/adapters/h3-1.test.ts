import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createApp,
  createError,
  defineEventHandler,
  type EventHandler,
  type H3Event as FirstH3Event,
  toNodeListener,
  toWebRequest,
} from 'h3-1'
import { afterEach, expect, test } from 'vitest'
import { enforce, handleErrors, inject, sendCookies } from '../../packages/tokenlib/src/frameworks/h3.js'
import { isTokenError, toErrorResponse } from '../../packages/tokenlib/src/index.js'
import { createManager } from '../helpers/manager.js'

const { tokens } = createManager()
let server: Server | undefined
afterEach(() => server?.close())

// The answer of an application on h3 1, and what its handler threw.
async function request(handler: EventHandler, token?: string) {
  const errors: unknown[] = []
  const app = createApp({ onError: (error) => void errors.push(error.cause ?? error) })
  app.use(handler)
  server = createServer(toNodeListener(app)).listen(0)
  const { port } = server.address() as AddressInfo
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const response = await fetch(`http://localhost:${port}/`, { headers })
  return { status: response.status, body: await response.text(), errors }
}

const REFUSAL = expect.objectContaining({
  name: 'TypeError',
  message: expect.stringContaining('toWebRequest(event)') as unknown,
}) as unknown

test.each([
  ['enforce', (event: FirstH3Event) => enforce(tokens.accessTokenRequired)(event as never, () => 'open')],
  [
    'inject',
    (event: FirstH3Event) => inject({ payload: tokens.accessTokenOptional }, () => 'open')(event as never),
  ],
  ['handleErrors', (event: FirstH3Event) => handleErrors()(event as never, () => 'open')],
  ['sendCookies', (event: FirstH3Event) => sendCookies(event as never, ['a=b'])],
] as const)('%s says that it needs h3 2, and lets no request through', async (_name, run) => {
  const handler = defineEventHandler((event) => run(event))
  const { status, errors } = await request(handler, tokens.createAccessToken({ uid: 'ada' }))
  expect(status).toBe(500)
  expect(errors).toEqual([REFUSAL])
})

test('a dependency takes toWebRequest(event), and the Node request of the event', async () => {
  const handler = defineEventHandler(async (event) => {
    try {
      await tokens.accessTokenRequired(event.node.req)
      const { sub } = await tokens.accessTokenRequired(toWebRequest(event))
      return sub
    } catch (error) {
      if (!isTokenError(error)) throw error
      const { status, body } = toErrorResponse(error)
      throw createError({ status, data: body })
    }
  })
  expect(await request(handler, tokens.createAccessToken({ uid: 'ada' }))).toMatchObject({
    status: 200,
    body: 'ada',
  })
  expect(await request(handler)).toMatchObject({ status: 401 })
})
