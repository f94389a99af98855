import { Elysia, t } from 'elysia'
import { describe, expect, test } from 'vitest'
import { enforce, handleErrors, inject } from '../../packages/tokenlib/src/frameworks/elysia.js'
import { createManager } from '../helpers/manager.js'
import { createJsonRequest, createRequest } from '../helpers/requests.js'

// What every adapter does is in matrix.test.ts.
const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'json' })
const TOKEN = tokens.createAccessToken({ uid: 'ada' })
const BODY = { access_token: TOKEN, title: 'x' }
const guard = { beforeHandle: enforce(tokens.accessTokenRequired) }
const dependencies = { payload: tokens.accessTokenRequired }

interface App {
  handle(request: Request): Promise<Response>
}
const post = async (app: App, body: unknown = BODY, contentType?: string) => {
  const response = await app.handle(createJsonRequest(body, contentType))
  return { status: response.status, body: await response.json() }
}

describe.each([true, false])('a token in a JSON body, with aot: %s', (aot) => {
  const createApp = () => new Elysia({ aot }).onError(handleErrors())

  test('is found where Elysia does not parse the body', async () => {
    const app = createApp()
      .resolve(inject(dependencies))
      .post('/', ({ payload }) => ({ id: payload.sub }))
    await expect(post(app)).resolves.toEqual({ status: 200, body: { id: 'ada' } })
  })

  test('is found where the route wants the body as text', async () => {
    const app = createApp().post('/', ({ body }) => ({ body }), { ...guard, parse: 'text' })
    await expect(post(app)).resolves.toEqual({ status: 200, body: { body: JSON.stringify(BODY) } })
  })

  test('is found in a media type that Elysia does not parse', async () => {
    const app = createApp().post('/', ({ body }) => ({ body: typeof body }), guard)
    await expect(post(app, BODY, 'application/vnd.api+json')).resolves.toEqual({
      status: 200,
      body: { body: 'undefined' },
    })
  })

  test.each([
    ['text', 'text/plain'],
    ['json', 'text/plain'],
    ['json', 'application/octet-stream'],
  ] as const)('is not found when %s is parsed from %s', async (parse, contentType) => {
    const app = createApp().post('/', ({ body }) => ({ body }), { ...guard, parse })
    const answer = await post(app, BODY, contentType)
    expect(answer).toMatchObject({ status: 401, body: { code: 'TOKEN_MISSING' } })
  })

  test('a request without a token is refused before its body is validated, when the guard is a transform', async () => {
    const body = t.Object({ access_token: t.String(), title: t.Number() })
    const check = enforce(tokens.accessTokenRequired)
    const late = createApp().post('/', () => 'ran', { beforeHandle: check, body })
    const early = createApp().post('/', () => 'ran', { transform: check, body })
    expect((await late.handle(createJsonRequest({}))).status).toBe(422)
    expect((await early.handle(createJsonRequest({}))).status).toBe(401)
    expect((await early.handle(createJsonRequest(BODY))).status).toBe(422)
  })
})

describe('a route that Elysia compiles', () => {
  test('can read the raw request behind enforce and a resolver', async () => {
    const app = new Elysia()
      .resolve(inject(dependencies))
      .post('/', async ({ request }) => JSON.parse(await request.text()) as object, guard)
    await expect(post(app)).resolves.toEqual({ status: 200, body: BODY })
  })

  test('can read the raw request inside inject, if it says that nothing is to be parsed', async () => {
    const raw = inject(dependencies, async (_, { request }) => JSON.parse(await request.text()) as object)
    const app = new Elysia().post('/', raw, { parse: 'none' })
    await expect(post(app)).resolves.toEqual({ status: 200, body: BODY })
  })

  test('a schema without the token drops it before beforeHandle, not before transform', async () => {
    const body = t.Object({ title: t.String() })
    const app = new Elysia().onError(handleErrors())
    app.post('/late', ({ body }) => body, { ...guard, body })
    app.post(
      '/early',
      inject(dependencies, (_, { body }: { body: { title: string } }) => body),
      {
        transform: enforce(tokens.accessTokenRequired),
        body,
      },
    )
    const send = (path: string) =>
      app.handle(
        createRequest({
          method: 'POST',
          path,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(BODY),
        }),
      )
    expect((await send('/late')).status).toBe(401)
    await expect((await send('/early')).json()).resolves.toEqual({ title: 'x' })
  })
})
