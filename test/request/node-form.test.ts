import { describe, expect, test } from 'vitest'
import { CsrfError, MissingCsrfTokenError } from '../../packages/tokenlib/src/errors.js'
import { createManager } from '../helpers/manager.js'
import { csrfOf, readBodyAsRoute, receive, type ReceivedRequest, toHttpText } from '../helpers/requests.js'

const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'cookies', JWT_CSRF_CHECK_FORM: true })
const TOKEN = tokens.createAccessToken({ uid: 'ada' })
const URLENCODED = 'application/x-www-form-urlencoded'
const MULTIPART = 'multipart/form-data; boundary=frontier'

/** Posts a form with the access cookie to a real server. */
const post = <Value>(
  contentType: string,
  body: string,
  handle: (request: ReceivedRequest) => Promise<Value>,
): Promise<Value> => {
  const headers = [
    ['Cookie', `access_token_cookie=${TOKEN}`],
    ['Content-Type', contentType],
    ['Content-Length', String(Buffer.byteLength(body))],
  ] as const
  return receive(toHttpText('POST /', headers, body), handle)
}

const multipartOf = (name: string, value: string): string =>
  [
    '--frontier',
    `Content-Disposition: form-data; name="${name}"`,
    '',
    value,
    '--frontier',
    'Content-Disposition: form-data; name="title"',
    '',
    'a form',
    '--frontier--',
    '',
  ].join('\r\n')

describe('a form sent to a Node server', () => {
  test('a urlencoded field supplies the CSRF value, and the route has the form', async () => {
    const [payload, body] = await post(
      URLENCODED,
      `title=a+form&csrf_token=${csrfOf(TOKEN)}`,
      async (request) => [await tokens.accessTokenRequired(request), await readBodyAsRoute(request)],
    )
    expect(payload).toMatchObject({ sub: 'ada' })
    expect(body).toBe(`title=a+form&csrf_token=${csrfOf(TOKEN)}`)
  })

  test('a wrong urlencoded field is a mismatch, an absent one is missing', async () => {
    await expect(post(URLENCODED, 'csrf_token=wrong', tokens.accessTokenRequired)).rejects.toBeInstanceOf(
      CsrfError,
    )
    await expect(post(URLENCODED, 'title=x', tokens.accessTokenRequired)).rejects.toBeInstanceOf(
      MissingCsrfTokenError,
    )
  })

  test('a urlencoded field sent twice is refused', async () => {
    const twice = `csrf_token=${csrfOf(TOKEN)}&csrf_token=${csrfOf(TOKEN)}`
    await expect(post(URLENCODED, twice, tokens.accessTokenRequired)).rejects.toMatchObject({
      code: expect.stringMatching(/^CSRF_/),
    })
  })

  test.each([URLENCODED, MULTIPART])('a field that a parser of %s has read is used', async (type) => {
    const payload = await post(type, multipartOf('csrf_token', csrfOf(TOKEN)), async (request) => {
      await readBodyAsRoute(request)
      request.body = { csrf_token: csrfOf(TOKEN) }
      return tokens.accessTokenRequired(request)
    })
    expect(payload).toMatchObject({ sub: 'ada' })
  })

  // Parsed or not, the form must survive: a parser for uploads (multer, busboy) runs in the route, after us.
  test('the route still has a multipart form that nobody has parsed', async () => {
    const sent = multipartOf('csrf_token', csrfOf(TOKEN))
    const body = await post(MULTIPART, sent, async (request) => {
      await tokens.accessTokenRequired(request).catch(() => null)
      return readBodyAsRoute(request)
    })
    const title =
      typeof body === 'string' ? (body === sent ? 'a form' : null) : (body as { title?: unknown }).title
    expect(title).toBe('a form')
  })

  test('a multipart body is not read as if it were urlencoded', async () => {
    const disguised = multipartOf('title', `&csrf_token=${csrfOf(TOKEN)}&`)
    await expect(post(MULTIPART, disguised, tokens.accessTokenRequired)).rejects.toBeInstanceOf(
      MissingCsrfTokenError,
    )
  })
})
