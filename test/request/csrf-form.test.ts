import { describe, expect, test } from 'vitest'
import type { TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import { CsrfError, MissingCsrfTokenError } from '../../packages/tokenlib/src/errors.js'
import { createManager } from '../helpers/manager.js'
import { createRequest, csrfOf, type RequestBody } from '../helpers/requests.js'

const FORMS = {
  JWT_TOKEN_LOCATION: 'cookies',
  JWT_CSRF_CHECK_FORM: true,
} as const satisfies TokenConfigOptions
const { tokens } = createManager(FORMS)
const ACCESS = tokens.createAccessToken({ uid: 'ada' })
const REFRESH = tokens.createRefreshToken({ uid: 'ada' })
const CSRF = csrfOf(ACCESS)
const COOKIES = { access_token_cookie: ACCESS, refresh_token_cookie: REFRESH }

type Fields = readonly (readonly [name: string, value: string | Blob])[]

const urlencoded = (fields: Fields): RequestBody => new URLSearchParams(fields as [string, string][])

function multipart(fields: Fields): RequestBody {
  const form = new FormData()
  for (const [name, value] of fields) form.append(name, value)
  return form
}

const ENCODINGS = [
  ['urlencoded', urlencoded],
  ['multipart', multipart],
] as const

/** A POST of a form with both cookies. */
const post = (body: RequestBody, headers: Record<string, string> = {}): Request =>
  createRequest({ method: 'POST', cookies: COOKIES, headers, body })

describe.each(ENCODINGS)('a CSRF value in a %s form', (_, encode) => {
  const field = (value: string): RequestBody =>
    encode([
      ['title', 'a form'],
      ['csrf_token', value],
    ])

  test('JWT_CSRF_CHECK_FORM on: the field supplies the value', async () => {
    const request = post(field(CSRF))
    await expect(tokens.accessTokenRequired(request)).resolves.toMatchObject({ sub: 'ada' })
  })

  test('JWT_CSRF_CHECK_FORM off, the default: the field is not read', async () => {
    const { tokens } = createManager({ ...FORMS, JWT_CSRF_CHECK_FORM: undefined })
    await expect(tokens.accessTokenRequired(post(field(CSRF)))).rejects.toBeInstanceOf(MissingCsrfTokenError)
  })

  test('the route can still read the form', async () => {
    const request = post(field(CSRF))
    await tokens.accessTokenRequired(request)
    expect((await request.formData()).get('title')).toBe('a form')
  })

  test('a wrong value is a mismatch', async () => {
    for (const value of ['wrong', 'ü🔑', `${CSRF}x`])
      await expect(tokens.accessTokenRequired(post(field(value)))).rejects.toBeInstanceOf(CsrfError)
  })

  test('the header wins over the field', async () => {
    const good = post(field('wrong'), { 'x-csrf-token': CSRF })
    await expect(tokens.accessTokenRequired(good)).resolves.toMatchObject({ sub: 'ada' })
    const bad = post(field(CSRF), { 'x-csrf-token': 'wrong' })
    await expect(tokens.accessTokenRequired(bad)).rejects.toBeInstanceOf(CsrfError)
  })

  test('a field that is absent or empty is missing', async () => {
    const absent = post(encode([['title', 'a form']]))
    await expect(tokens.accessTokenRequired(absent)).rejects.toBeInstanceOf(MissingCsrfTokenError)
    await expect(tokens.accessTokenRequired(post(field('')))).rejects.toBeInstanceOf(MissingCsrfTokenError)
  })

  test('a field sent twice is no string, and refused', async () => {
    const twice = encode([
      ['csrf_token', CSRF],
      ['csrf_token', CSRF],
    ])
    await expect(tokens.accessTokenRequired(post(twice))).rejects.toMatchObject({
      code: expect.stringMatching(/^CSRF_/),
    })
  })

  test('JWT_ACCESS_CSRF_FIELD_NAME is read for tokens of both types', async () => {
    const { tokens } = createManager({ ...FORMS, JWT_ACCESS_CSRF_FIELD_NAME: '_csrf' })
    const access = (name: string) => tokens.accessTokenRequired(post(encode([[name, CSRF]])))
    const refresh = (name: string) => tokens.refreshTokenRequired(post(encode([[name, csrfOf(REFRESH)]])))
    await expect(access('_csrf')).resolves.toMatchObject({ type: 'access' })
    await expect(refresh('_csrf')).resolves.toMatchObject({ type: 'refresh' })
    await expect(access('csrf_token')).rejects.toBeInstanceOf(MissingCsrfTokenError)
    await expect(refresh('csrf_token')).rejects.toBeInstanceOf(MissingCsrfTokenError)
  })

  test.each(['__proto__', 'constructor', 'toString'])('a field may be called %s', async (name) => {
    const { tokens } = createManager({ ...FORMS, JWT_ACCESS_CSRF_FIELD_NAME: name })
    await expect(tokens.accessTokenRequired(post(encode([[name, CSRF]])))).resolves.toMatchObject({
      sub: 'ada',
    })
    const without = post(encode([['title', 'a form']]))
    await expect(tokens.accessTokenRequired(without)).rejects.toBeInstanceOf(MissingCsrfTokenError)
  })
})

describe('what is no form field', () => {
  test('a file under the name is refused', async () => {
    const body = multipart([['csrf_token', new Blob([CSRF], { type: 'text/plain' })]])
    await expect(tokens.accessTokenRequired(post(body))).rejects.toMatchObject({
      code: expect.stringMatching(/^CSRF_/),
    })
  })

  test.each([
    ['JSON', 'application/json', JSON.stringify({ csrf_token: CSRF })],
    ['plain text', 'text/plain', `csrf_token=${CSRF}`],
    ['a malformed multipart body', 'multipart/form-data; boundary=x', `csrf_token=${CSRF}`],
    ['a multipart body without a boundary', 'multipart/form-data', `csrf_token=${CSRF}`],
  ])('%s supplies no value', async (_, type, body) => {
    const request = post(body, { 'content-type': type })
    await expect(tokens.accessTokenRequired(request)).rejects.toBeInstanceOf(MissingCsrfTokenError)
  })

  test('a POST without a body supplies no value', async () => {
    const type = 'application/x-www-form-urlencoded'
    const request = createRequest({ method: 'POST', cookies: COOKIES, headers: { 'content-type': type } })
    await expect(tokens.accessTokenRequired(request)).rejects.toBeInstanceOf(MissingCsrfTokenError)
  })

  test('the query string supplies no value', async () => {
    const type = 'application/x-www-form-urlencoded'
    const request = createRequest({
      method: 'POST',
      path: `/?csrf_token=${CSRF}`,
      cookies: COOKIES,
      headers: { 'content-type': type },
      body: 'title=x',
    })
    await expect(tokens.accessTokenRequired(request)).rejects.toBeInstanceOf(MissingCsrfTokenError)
  })

  test.each([
    ['a list', [CSRF]],
    ['an object', { value: CSRF }],
    ['a number', 1],
    ['null', null],
  ])('%s from a body parser is refused', async (_, value) => {
    const request = {
      method: 'POST',
      headers: {
        cookie: `access_token_cookie=${ACCESS}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: { csrf_token: value },
    }
    await expect(tokens.accessTokenRequired(request)).rejects.toMatchObject({
      code: expect.stringMatching(/^CSRF_/),
    })
  })

  test('the error names the field where one is read', async () => {
    await expect(tokens.accessTokenRequired(post(urlencoded([])))).rejects.toThrow('csrf_token')
  })
})

test('a form that repeats one field a hundred thousand times is read in one pass', async () => {
  const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'cookies', JWT_CSRF_CHECK_FORM: true })
  const token = tokens.createAccessToken({ uid: 'u' })
  const request = new Request('http://x/', {
    method: 'POST',
    headers: {
      cookie: `access_token_cookie=${token}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: 'csrf_token=a&'.repeat(80_000),
  })
  // Copying the list for each field would take hours, and the test's own limit is 30 seconds.
  await expect(tokens.accessTokenRequired(request)).rejects.toMatchObject({ code: 'CSRF_MISSING' })
})
