import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { RunningBrowser } from '../helpers/servers/browser.js'
import { describeWithBrowsers } from '../helpers/servers/describe-with-servers.js'
import { openServer } from './open-server.js'

/** A server that every page may read and send any header to; `/to?…` redirects, everything else is written down. */
async function openStranger() {
  const heard: { readonly method: string; readonly csrf: unknown; readonly authorization: unknown }[] = []
  const server = createServer((request, response) => {
    const { method = '', headers, url = '' } = request
    response.setHeader('access-control-allow-origin', headers.origin ?? '*')
    response.setHeader('access-control-allow-headers', headers['access-control-request-headers'] ?? '*')
    response.setHeader('access-control-allow-methods', '*')
    response.setHeader('access-control-allow-credentials', 'true')
    const location = /^\/to\?(.*)/.exec(url)?.[1]
    if (method === 'OPTIONS') return void response.writeHead(204).end()
    if (location !== undefined) return void response.writeHead(307, { location }).end()
    heard.push({ method, csrf: headers['x-csrf-token'], authorization: headers.authorization })
    response.end('stranger')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard }
}

const redirect =
  (location: string, status = 307) =>
  (): Response =>
    new Response(null, { status, headers: { location } })

describeWithBrowsers('redirects of requests with credentials', (browser) => {
  /** A page whose user has logged in. */
  async function openPage(options = '{}', { newContext }: RunningBrowser = browser()) {
    const server = await openServer({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] })
    const context = await newContext()
    onTestFinished(() => context.close())
    const page = await context.newPage()
    await page.goto(`${server.origin}/page`)
    const run = <Value>(body: string): Promise<Value> => page.evaluate(`(async () => { ${body} })()`)
    await run(`const { createTokenClient } = await import('/client.js')
      window.client = createTokenClient(${options})
      await client.logIn({ name: 'ada', password: 'secret' })`)
    const post = (path: string, init = '') =>
      run<string>(`try {
        const response = await client.fetch('${path}', { method: 'POST', body: 'milk', ${init} })
        return response.type === 'opaqueredirect' ? response.type : await response.text()
      } catch (error) {
        return error.name
      }`)
    return { ...server, run, post }
  }

  test('a CSRF value follows no redirect to another origin, and every one within the origin', async () => {
    const stranger = await openStranger()
    const { plan, post } = await openPage()
    for (const status of [301, 302, 303, 307, 308]) {
      plan('POST /notes', redirect(stranger.url, status))
      expect(await post('/notes'), String(status)).toBe('TypeError')
    }
    plan('POST /notes', redirect('/moved'))
    plan('POST /moved', redirect(stranger.url))
    expect(await post('/notes')).toBe('TypeError')
    expect(stranger.heard).toEqual([])

    plan('POST /notes', redirect('/moved'), redirect('/moved', 303))
    expect(JSON.parse(await post('/notes'))).toEqual({ body: 'milk', method: 'POST' })
    expect(JSON.parse(await post('/notes'))).toEqual({ body: '', method: 'GET' })
  })

  test('the referrer, and what the caller says about redirects, stay as they are', async () => {
    const { requests, plan, post } = await openPage()
    await post('/notes', `referrer: '/elsewhere'`)
    expect(requests.at(-1)?.headers.get('referer')).toMatch(/\/elsewhere$/)
    await post('/notes', `referrerPolicy: 'no-referrer'`)
    expect(requests.at(-1)?.headers.get('referer')).toBeNull()
    plan('POST /notes', redirect('/moved'), redirect('/moved'))
    expect(await post('/notes', `redirect: 'manual'`)).toBe('opaqueredirect')
    expect(await post('/notes', `redirect: 'error'`)).toBe('TypeError')
  })

  test('of an API on another origin, a redirect is returned instead of followed', async () => {
    const [api, stranger] = [await openStranger(), await openStranger()]
    const { post } = await openPage(`{ origins: ['${api.url}'] }`)
    expect(await post(`${api.url}/to?${stranger.url}`)).toBe('opaqueredirect')
    expect(stranger.heard).toEqual([])
    expect(await post(`${api.url}/notes`)).toBe('stranger')
    expect(api.heard).toMatchObject([{ method: 'POST', csrf: expect.any(String) }])
  })

  test('a bearer token does not follow either, because browsers drop it', async () => {
    const stranger = await openStranger()
    const { plan, post, run } = await openPage(`{ transport: 'bearer' }`)
    plan('POST /notes', redirect(stranger.url))
    plan('GET /notes', redirect(stranger.url, 302))
    expect(await post('/notes')).toBe('stranger')
    expect(await run(`return (await client.fetch('/notes')).text()`)).toBe('stranger')
    expect(stranger.heard).toEqual([{ method: 'POST' }, { method: 'GET' }])
  })
})
