import { expect, onTestFinished } from 'vitest'
import type { Framework } from '../../examples/options.js'
import { openExample } from './example-site.js'

/** Expects the example application of a framework to serve the page, the session routes and the console. */
export async function expectExampleServed(framework: Framework): Promise<void> {
  const site = await openExample(framework)
  onTestFinished(() => site.close())
  const read = async (path: string) => {
    const response = await fetch(site.url + path)
    await response.arrayBuffer()
    return [response.status, response.headers.get('content-type')]
  }
  expect(await read('/app')).toEqual([200, 'text/html; charset=utf-8'])
  expect(await read('/app/')).toEqual([200, 'text/html; charset=utf-8'])
  expect(await read('/app/style.css')).toEqual([200, 'text/css; charset=utf-8'])
  expect(await read('/app/client.js')).toEqual([200, 'text/javascript; charset=utf-8'])
  for (const path of ['/app/client.js/../page.ts', '/app/%2e%2e/package.json', '/app/client/', '/app/none']) {
    expect((await read(path))[0]).toBe(404)
  }
  expect((await read('/console/'))[0]).toBe(401)

  const response = await fetch(`${site.url}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ user: 'grace', password: 'correct horse' }),
  })
  expect(await response.json()).toMatchObject({ session: { sub: 'grace', scopes: ['operator'] } })
  const cookie = response.headers
    .getSetCookie()
    .map((text) => text.split(';', 1)[0])
    .join('; ')
  const greeting = await fetch(`${site.url}/app/api/greeting`, { headers: { cookie } })
  expect(await greeting.json()).toEqual({ message: 'Hello, grace' })
  expect((await fetch(`${site.url}/console/`, { headers: { cookie } })).status).toBe(200)
}
