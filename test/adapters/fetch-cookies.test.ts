import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { handleErrors, inject, sendCookies } from '../../src/adapters/fetch.js'
import { setAccessCookies, setRefreshCookies, unsetCookies } from '../../src/index.js'
import { createCookieJar } from '../helpers/cookie-jar.js'
import { createManager } from '../helpers/manager.js'
import { createRequest } from '../helpers/requests.js'

const COOKIES = ['a=1; Path=/', 'b=2; Path=/; Expires=Thu, 01 Jan 2026 00:00:00 GMT']

describe('sendCookies', () => {
  test('adds every cookie to a response, each in a header of its own', () => {
    expect(sendCookies(new Response(), COOKIES).headers.getSetCookie()).toEqual(COOKIES)
  })

  test('keeps the cookies that are there, those of the same name included', () => {
    const headers = new Headers([
      ['set-cookie', 'theme=dark'],
      ['set-cookie', 'a=0'],
    ])
    const response = sendCookies(new Response(null, { headers }), COOKIES)
    expect(response.headers.getSetCookie()).toEqual(['theme=dark', 'a=0', ...COOKIES])
  })

  test('keeps the status, its text, the headers and the body', async () => {
    const init = { status: 201, statusText: 'Made', headers: { 'x-own': 'yes' } }
    const response = sendCookies(Response.json({ ok: true }, init), COOKIES)
    expect([response.status, response.statusText]).toEqual([201, 'Made'])
    expect(response.headers.get('x-own')).toBe('yes')
    expect(response.headers.get('content-type')).toBe('application/json')
    await expect(response.json()).resolves.toEqual({ ok: true })
  })

  test.each([204, 304])('takes a response of status %d, which has no body', (status) => {
    const response = sendCookies(new Response(null, { status }), COOKIES)
    expect([response.status, response.body]).toEqual([status, null])
    expect(response.headers.getSetCookie()).toEqual(COOKIES)
  })

  test('takes a redirect, whose headers cannot change', () => {
    const redirect = Response.redirect('http://localhost/home', 303)
    expect(() => redirect.headers.append('set-cookie', 'a=1')).toThrow(TypeError)
    const response = sendCookies(redirect, COOKIES)
    expect([response.status, response.headers.get('location')]).toEqual([303, 'http://localhost/home'])
    expect(response.headers.getSetCookie()).toEqual(COOKIES)
  })

  test('takes a response that was fetched, whose headers cannot change either', async () => {
    const upstream = createServer((_, answer) => {
      answer.setHeader('set-cookie', ['up=1', 'stream=2']).end('from upstream')
    }).listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    try {
      const fetched = await fetch(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`)
      const response = sendCookies(fetched, COOKIES)
      expect(response.headers.getSetCookie()).toEqual(['up=1', 'stream=2', ...COOKIES])
      await expect(response.text()).resolves.toBe('from upstream')
    } finally {
      upstream.close()
      upstream.closeAllConnections()
    }
  })

  test('leaves the headers of the given response as they were', () => {
    const given = new Response()
    sendCookies(given, COOKIES)
    expect(given.headers.getSetCookie()).toEqual([])
  })

  test('can be used more than once on the way out', () => {
    const response = sendCookies(sendCookies(new Response(), ['a=1']), ['b=2'])
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  })

  test('refuses a cookie that no header can carry', () => {
    expect(() => sendCookies(new Response(), ['a=1\r\nx-injected: yes'])).toThrow(TypeError)
  })

  test('logs a browser in with a redirect, and out again', async () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['cookies'] })
    const jar = createCookieJar()
    const me = handleErrors()(
      inject({ payload: tokens.accessTokenRequired }, ({ payload }) => Response.json(payload.sub)),
    )
    const ask = () => me(createRequest({ headers: jar.headers() }))

    const { accessToken, refreshToken } = await tokens.createTokenPair({ uid: 'ada' })
    const login = sendCookies(Response.redirect('http://localhost/', 303), [
      ...setAccessCookies(tokens, accessToken),
      ...setRefreshCookies(tokens, refreshToken),
    ])
    jar.store(login.headers.getSetCookie())
    await expect((await ask()).json()).resolves.toBe('ada')

    const logout = sendCookies(new Response(null, { status: 204 }), unsetCookies(tokens))
    jar.store(logout.headers.getSetCookie())
    expect((await ask()).status).toBe(401)
  })
})
