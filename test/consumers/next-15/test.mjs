import { strict as assert } from 'node:assert'
import { createBrowser, mustRun, withServer } from './shared/server.mjs'

await mustRun('npx', ['next', 'build'])
await withServer(['npx', 'next', 'start', '--port', '{port}'], async (origin) => {
  const browser = createBrowser(origin)
  const open = async (path) => (await browser.send(path)).text()
  assert.match(await open('/'), /Not logged in/)
  assert.equal((await browser.send('/account')).status, 401)
  const json = { 'content-type': 'application/json' }
  await browser.send('/api/login', { method: 'POST', headers: json, body: '{"uid":"ada"}' })
  assert.match(await open('/'), /Hello ada/)

  // The access token has expired, and its cookie with it: the middleware renews it for the page and for the browser.
  browser.cookies.delete('access_token_cookie')
  const renewed = await browser.send('/')
  assert.match(await renewed.text(), /Hello ada/)
  assert.equal(renewed.headers.getSetCookie().length, 4)
  assert.equal(renewed.headers.get('cache-control'), 'private, no-store')
  assert.notEqual(browser.cookies.get('access_token_cookie'), undefined)
})
