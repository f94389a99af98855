import type { AddressInfo } from 'node:net'
import express from 'express'
import { describe, expect, test } from 'vitest'
import { CsrfError, MissingCsrfTokenError, TokenDecodeError } from '../../packages/tokenlib/src/errors.js'
import { createManager } from '../helpers/manager.js'
import { csrfOf, readBodyAsRoute, receive, toHttpText } from '../helpers/requests.js'

const ALL = { JWT_TOKEN_LOCATION: ['headers', 'cookies', 'json', 'query'] } as const
const { tokens } = createManager(ALL)
const TOKEN = tokens.createAccessToken({ uid: 'ada' })
const MEBIBYTE = 1024 * 1024

/** The text of a POST whose length is stated. */
const post = (
  contentType: string,
  body: string,
  headers: readonly (readonly [string, string])[] = [],
): string =>
  toHttpText(
    'POST /',
    [['Content-Type', contentType], ['Content-Length', String(Buffer.byteLength(body))], ...headers],
    body,
  )

/** The text of a POST in chunks, whose length nobody knows beforehand (RFC 9112 §7.1). */
const postChunked = (contentType: string, ...chunks: readonly string[]): string => {
  const body = [...chunks, ''].map((chunk) => `${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`)
  return toHttpText(
    'POST /',
    [
      ['Content-Type', contentType],
      ['Transfer-Encoding', 'chunked'],
    ],
    body.join(''),
  )
}

describe('the headers of a Node request', () => {
  test.each(['Authorization', 'authorization', 'AUTHORIZATION'])('%s is read', async (name) => {
    const text = toHttpText('GET /', [[name, `Bearer ${TOKEN}`]])
    const found = await receive(text, (request) => tokens.getTokenFromRequest(request))
    expect(found).toMatchObject({ token: TOKEN, location: 'headers' })
  })

  // Node keeps the first Authorization header and drops the rest without a word.
  test.each([
    ['with two tokens', `Bearer ${TOKEN}`, 'Bearer other'],
    ['with one token twice', `Bearer ${TOKEN}`, `bearer ${TOKEN}`],
  ])('two Authorization headers are refused, %s', async (_, first, second) => {
    const text = toHttpText('GET /', [
      ['Authorization', first],
      ['authorization', second],
    ])
    await expect(receive(text, tokens.accessTokenRequired)).rejects.toBeInstanceOf(TokenDecodeError)
  })

  test('two Authorization headers of two schemes yield the bearer token', async () => {
    const text = toHttpText('GET /', [
      ['Authorization', 'Basic creds'],
      ['Authorization', `Bearer ${TOKEN}`],
    ])
    await expect(receive(text, tokens.accessTokenRequired)).resolves.toMatchObject({ sub: 'ada' })
  })

  test('two custom headers are refused as well', async () => {
    const { tokens } = createManager({ JWT_HEADER_NAME: 'X-Auth' })
    const text = toHttpText('GET /', [
      ['X-Auth', `Bearer ${TOKEN}`],
      ['X-Auth', `Bearer ${TOKEN}`],
    ])
    await expect(receive(text, tokens.accessTokenRequired)).rejects.toBeInstanceOf(TokenDecodeError)
  })

  test('the token is found in the second of two Cookie headers', async () => {
    const text = toHttpText('GET /', [
      ['Cookie', 'a=1'],
      ['Cookie', `access_token_cookie=${TOKEN}`],
    ])
    const found = await receive(text, (request) => tokens.getTokenFromRequest(request))
    expect(found).toMatchObject({ token: TOKEN, location: 'cookies' })
  })

  test('two Cookie headers with different tokens are refused', async () => {
    const text = toHttpText('GET /', [
      ['Cookie', `access_token_cookie=${TOKEN}`],
      ['Cookie', 'access_token_cookie=planted'],
    ])
    await expect(receive(text, tokens.accessTokenRequired)).rejects.toBeInstanceOf(TokenDecodeError)
  })

  test('the CSRF header is read, and refused when it comes twice', async () => {
    const send = (...values: readonly string[]) => {
      const csrf = values.map((value) => ['X-CSRF-Token', value] as const)
      return receive(
        toHttpText('DELETE /', [['Cookie', `access_token_cookie=${TOKEN}`], ...csrf]),
        tokens.accessTokenRequired,
      )
    }
    await expect(send(csrfOf(TOKEN))).resolves.toMatchObject({ sub: 'ada' })
    await expect(send()).rejects.toBeInstanceOf(MissingCsrfTokenError)
    await expect(send(csrfOf(TOKEN), csrfOf(TOKEN))).rejects.toBeInstanceOf(CsrfError)
  })

  test('the query string of the request line is read', async () => {
    const text = toHttpText(`GET /me?token=${TOKEN}`, [])
    const found = await receive(text, (request) => tokens.getTokenFromRequest(request))
    expect(found).toMatchObject({ token: TOKEN, location: 'query' })
  })
})

describe('the body of a Node request', () => {
  const json = JSON.stringify({ access_token: TOKEN, title: 'x' })

  test('a token is found, and the route can still read the stream', async () => {
    const [payload, body] = await receive(post('application/json', json), async (request) => [
      await tokens.accessTokenRequired(request),
      await readBodyAsRoute(request),
    ])
    expect(payload).toMatchObject({ sub: 'ada' })
    expect(body).toBe(json)
  })

  test('a route that listens for data and end gets both, however large the body is', async () => {
    const large = JSON.stringify({ access_token: TOKEN, text: 'x'.repeat(900_000) })
    const body = await receive(post('application/json', large), async (request) => {
      await tokens.accessTokenRequired(request)
      return new Promise((resolve) => {
        let text = ''
        request.setEncoding('utf8')
        request.on('data', (chunk: string) => (text += chunk)).on('end', () => resolve(text))
      })
    })
    expect(body).toBe(large)
  })

  test('a body parser after us finds the body', async () => {
    const app = express()
    app.use(async (request, _, next) => {
      await tokens.accessTokenRequired(request)
      next()
    })
    app.use(express.json())
    app.post('/', (request, response) => void response.json(request.body))
    const server = app.listen(0)
    const { port } = server.address() as AddressInfo
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`http://localhost:${port}/`, { method: 'POST', headers, body: json })
    expect(await response.json()).toEqual(JSON.parse(json))
    server.close()
  })

  test('several dependencies at once read it once', async () => {
    const results = await receive(post('application/json', json), (request) =>
      Promise.all([tokens.accessTokenRequired(request), tokens.accessTokenOptional(request)]),
    )
    for (const payload of results) expect(payload).toMatchObject({ sub: 'ada' })
  })

  test('a body that a parser has left in req.body is used', async () => {
    const found = await receive(post('application/json', json), async (request) => {
      request.body = JSON.parse((await readBodyAsRoute(request)) as string)
      return tokens.getTokenFromRequest(request)
    })
    expect(found).toMatchObject({ token: TOKEN, location: 'json' })
  })

  test.each([
    ['text', (text: string) => text],
    ['bytes', (text: string) => Buffer.from(text)],
  ])('a body that a parser has left as %s is used, and left as it is', async (_, convert) => {
    const left = convert(json)
    const [found, body] = await receive(post('application/json', json), async (request) => {
      await readBodyAsRoute(request)
      request.body = left
      return [await tokens.getTokenFromRequest(request), request.body] as const
    })
    expect(found).toMatchObject({ token: TOKEN, location: 'json' })
    expect(body).toBe(left)
  })

  test('a body that someone read and did not keep has no token for us', async () => {
    const found = await receive(post('application/json', json), async (request) => {
      await readBodyAsRoute(request)
      return tokens.getTokenFromRequest(request)
    })
    expect(found).toBeNull()
  })

  test('a chunked body is read too, and the route has it whole', async () => {
    const text = postChunked('application/json', json.slice(0, 9), json.slice(9))
    const [found, body] = await receive(text, async (request) => [
      await tokens.getTokenFromRequest(request),
      await readBodyAsRoute(request),
    ])
    expect(found).toMatchObject({ token: TOKEN })
    expect(body).toBe(json)
  })

  test('a chunked body that turns out to be too large is left to the route, whole', async () => {
    const large = JSON.stringify({ access_token: TOKEN, filler: 'x'.repeat(2 * MEBIBYTE) })
    const pieces = Array.from({ length: 22 }, (_, at) => large.slice(at * 100_000, (at + 1) * 100_000))
    const [found, body] = await receive(postChunked('application/json', ...pieces), async (request) => [
      await tokens.getTokenFromRequest(request),
      await readBodyAsRoute(request),
    ])
    expect(found).toBeNull()
    expect(body === large).toBe(true)
  })

  test('a chunked body that a parser has read is used', async () => {
    const found = await receive(postChunked('application/json', json), async (request) => {
      request.body = JSON.parse((await readBodyAsRoute(request)) as string)
      return tokens.getTokenFromRequest(request)
    })
    expect(found).toMatchObject({ token: TOKEN })
  })

  test('a body that we left alone is used once a parser has read it', async () => {
    const large = JSON.stringify({ access_token: TOKEN, filler: 'x'.repeat(2 * MEBIBYTE) })
    const found = await receive(post('application/json', large), async (request) => {
      const before = await tokens.getTokenFromRequest(request)
      request.body = JSON.parse((await readBodyAsRoute(request)) as string)
      return [before, await tokens.getTokenFromRequest(request)]
    })
    expect(found).toEqual([null, expect.objectContaining({ token: TOKEN, location: 'json' })])
  })

  test.each([
    ['of 1 MiB is read', MEBIBYTE, TOKEN],
    ['over 1 MiB is left alone', MEBIBYTE + 1, null],
  ])('a body %s, and the route has it whole', async (_, size, expected) => {
    const large = `${json.slice(0, -1)},"filler":"${'x'.repeat(size - json.length - 12)}"}`
    expect(large.length).toBe(size)
    const [found, body] = await receive(post('application/json', large), async (request) => [
      await tokens.getTokenFromRequest(request),
      await readBodyAsRoute(request),
    ])
    expect(found).toEqual(expected === null ? null : expect.objectContaining({ token: expected }))
    expect((typeof body === 'string' ? body : JSON.stringify(body)) === large).toBe(true)
  })

  test.each([
    ['a malformed body', 'application/json', '{"access_token":'],
    ['an empty body', 'application/json', ''],
    ['a body of another type', 'text/plain', json],
  ])('%s has no token, and the route has it as it was', async (_, contentType, sent) => {
    const [found, body] = await receive(post(contentType, sent), async (request) => [
      await tokens.getTokenFromRequest(request),
      await readBodyAsRoute(request),
    ])
    expect(found).toBeNull()
    expect(String(body)).toBe(sent)
  })
})
