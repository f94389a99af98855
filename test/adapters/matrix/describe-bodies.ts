import { describe, expect, test, vi } from 'vitest'
import type { Dependency } from '../../../packages/tokenlib/src/index.js'
import { createManager } from '../../helpers/manager.js'
import { csrfOf, type RequestBody } from '../../helpers/requests.js'
import type { BodyReader, Framework, Route, Send } from './framework.js'

const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['json', 'cookies'], JWT_CSRF_CHECK_FORM: true })
const TOKEN = tokens.createAccessToken({ uid: 'ada' })
const BODY = { access_token: TOKEN, title: 'x' }

const toInit = (body: RequestBody, contentType = 'application/json'): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': contentType },
  body,
  duplex: 'half',
})

/** Access tokens in the header, refresh tokens in the body. */
const { tokens: mixed } = createManager({
  JWT_TOKEN_LOCATION: 'headers',
  JWT_REFRESH_TOKEN_LOCATION: 'json',
})
const REFRESH_BODY = { refresh_token: mixed.createRefreshToken({ uid: 'ada' }) }

/** A route behind a guard, with its body read in one way. */
function guardBody({ name, enforceAs, injectAs }: BodyReader, dependency: Dependency<unknown>): Route {
  const route = { method: 'POST', reader: name } as const
  if (injectAs !== undefined) return { ...route, inject: { payload: dependency }, injectAs }
  return { ...route, enforce: [dependency], ...(enforceAs !== undefined && { enforceAs }) }
}

/** Tokens and CSRF values in bodies, and what is left of the body for the route. */
export function describeBodies(frameworks: readonly Framework[]): void {
  const readers = frameworks.flatMap((framework) =>
    framework.bodyReaders.map((reader) => [framework.name, reader.name, framework, reader] as const),
  )
  describe.each(readers)('%s: a token in a JSON body, read with %s', (_, _name, framework, reader) => {
    const start = (route: Route, dependency: Dependency<unknown> = tokens.accessTokenRequired) =>
      framework.start(
        { '/items/new': { ...guardBody(reader, dependency), ...route } },
        { handleErrors: true },
      )

    test('is found, also by a call in the route, and the route has its body', async () => {
      const send = await start({
        async run(_values, call) {
          const { sub } = await tokens.tokenRequired(call.sources[0])
          return { sub, body: await call.body() }
        },
      })
      for (const body of [JSON.stringify(BODY), new Blob([JSON.stringify(BODY)]).stream()]) {
        const response = await send('/items/new', toInit(body))
        expect([response.status, await response.json()]).toEqual([200, { sub: 'ada', body: BODY }])
      }
    })

    test('a body with no token, no JSON or a bad token is refused before the route runs', async () => {
      const run = vi.fn(() => ({}))
      const send = await start({ run })
      for (const [body, status, code] of [
        ['{"title":"x"}', 401, 'TOKEN_MISSING'],
        ['[1]', 401, 'TOKEN_MISSING'],
        ['{"access_token":42}', 401, 'TOKEN_INVALID'],
        ['{"access_token":"bad"}', 401, 'TOKEN_INVALID'],
        ['{"access_token":', reader.malformed, 'TOKEN_MISSING'],
        ['', reader.empty, 'TOKEN_MISSING'],
      ] as const) {
        const response = await send('/items/new', toInit(body))
        expect([body, response.status]).toEqual([body, status])
        if (status === 401) await expect(response.json()).resolves.toMatchObject({ code })
      }
      expect(run).not.toHaveBeenCalled()
    })

    test('a request without a body has no token in it', async () => {
      const send = await start({}, tokens.accessTokenOptional)
      expect((await send('/items/new', { method: 'POST' })).status).toBe(200)
      const required = await (await start({}))('/items/new', { method: 'POST' })
      await expect(required.json()).resolves.toMatchObject({ code: 'TOKEN_MISSING' })
    })

    test('a call in the route finds it behind a guard that knows the token in the header', async () => {
      const send = await start(
        {
          async run(_values, call) {
            const found = await Promise.all(call.sources.map((source) => mixed.refreshTokenRequired(source)))
            return { subjects: [...new Set(found.map(({ sub }) => sub))], body: await call.body() }
          },
        },
        mixed.accessTokenRequired,
      )
      const init = { ...toInit(JSON.stringify(REFRESH_BODY)), token: mixed.createAccessToken({ uid: 'ada' }) }
      for (let times = 1; times <= 4; times++) {
        const response = await send('/items/new', init)
        expect([times, await response.json()]).toEqual([times, { subjects: ['ada'], body: REFRESH_BODY }])
      }
    })

    test('is not found in another media type', async () => {
      const response = await (await start({}))('/items/new', toInit(JSON.stringify(BODY), 'text/plain'))
      expect([response.status, await response.json()]).toMatchObject([401, { code: 'TOKEN_MISSING' }])
    })

    if (reader.isRaw === true) {
      const readText: Route['run'] = async (_values, call) => ({ text: await call.text() })

      test('on an optional route a malformed body is left as it was', async () => {
        const send = await start({ run: readText }, tokens.accessTokenOptional)
        const response = await send('/items/new', toInit('{"access_token":'))
        await expect(response.json()).resolves.toEqual({ text: '{"access_token":' })
      })

      test('a body over 1 MiB is not searched, and left to the route', async () => {
        const send = await start({ run: readText }, tokens.accessTokenOptional)
        const text = JSON.stringify({ access_token: 'bad', filler: 'x'.repeat(1024 * 1024) })
        const response = await send('/items/new', toInit(text))
        expect(((await response.json()) as { text: string }).text.length).toBe(text.length)
      })
    }
  })

  describe.each(readers.filter(([, , , { isRaw }]) => isRaw !== true))(
    '%s: a CSRF value in a form, read with %s',
    (_, _name, framework, reader) => {
      const start = (): Promise<Send> =>
        framework.start(
          {
            '/items/new': {
              ...guardBody(reader, tokens.accessTokenRequired),
              run: async (_values, call) => ({ form: await call.form() }),
            },
          },
          { handleErrors: true },
        )
      const post = (send: Send, body: RequestBody): Promise<Response> =>
        send('/items/new', { method: 'POST', headers: { cookie: `access_token_cookie=${TOKEN}` }, body })
      const kinds = framework.isMultipartRead ? [toUrlencoded, toMultipart] : [toUrlencoded]

      test('a field supplies it, and the route has the form', async () => {
        const send = await start()
        for (const create of kinds) {
          const response = await post(send, create([csrfOf(TOKEN)]))
          const form = { title: 'a form', csrf_token: csrfOf(TOKEN) }
          expect([response.status, await response.json()]).toEqual([200, { form }])
        }
      })

      test('a field that is absent, empty, wrong, sent twice or a file is refused', async () => {
        const send = await start()
        for (const [values, code] of [
          [[], 'CSRF_MISSING'],
          [[''], 'CSRF_MISSING'],
          [['wrong'], 'CSRF_MISMATCH'],
          [[csrfOf(TOKEN), csrfOf(TOKEN)], 'CSRF_MISSING'],
        ] as const) {
          for (const create of kinds) {
            const response = await post(send, create(values))
            expect([response.status, await response.json()]).toMatchObject([401, { code }])
          }
        }
        if (!framework.isMultipartRead) return
        const file = await post(send, toMultipart([new Blob([csrfOf(TOKEN)])]))
        expect([file.status, await file.json()]).toMatchObject([401, { code: 'CSRF_MISSING' }])
      })
    },
  )
}

function toMultipart(values: readonly (string | Blob)[]): FormData {
  const data = new FormData()
  data.append('title', 'a form')
  for (const value of values) data.append('csrf_token', value)
  return data
}

function toUrlencoded(values: readonly string[]): URLSearchParams {
  const fields = new URLSearchParams({ title: 'a form' })
  for (const value of values) fields.append('csrf_token', value)
  return fields
}
