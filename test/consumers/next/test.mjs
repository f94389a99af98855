import { strict as assert } from 'node:assert'
import { checkApi } from './shared/api.mjs'
import { createBrowser, mustRun, tamper, withServer } from './shared/server.mjs'

const bundlers = [[], ['--webpack']]

for (const bundler of bundlers) {
  await mustRun('npx', ['next', 'build', ...bundler])
  await withServer(['npx', 'next', 'start', '--port', '{port}'], async (origin) => {
    await checkApi((path, init) => fetch(`${origin}${path}`, init))
    await checkPages(origin)
  })
}

/** Server Components read the cookies that a route handler has set; the proxy refuses them after the logout. */
async function checkPages(origin) {
  const browser = createBrowser(origin)
  const open = async (path) => {
    const response = await browser.send(path)
    return { status: response.status, text: await response.text() }
  }
  assert.match((await open('/')).text, /Not logged in/)
  // The page itself would redirect: this is the answer of the proxy.
  assert.equal((await open('/account')).status, 401)

  const json = { 'content-type': 'application/json' }
  await browser.send('/api/login', { method: 'POST', headers: json, body: '{"uid":"ada"}' })
  assert.match((await open('/')).text, /Hello ada/)
  assert.match((await open('/account')).text, /Account of ada/)

  const kept = new Map(browser.cookies)
  browser.cookies.set('access_token_cookie', tamper(kept.get('access_token_cookie')))
  assert.match((await open('/')).text, /Not logged in/)
  assert.equal((await open('/account')).status, 401)
  browser.cookies.set('access_token_cookie', kept.get('access_token_cookie'))

  // The access token has expired, and its cookie with it: the page itself sees the renewed one, and so does the browser.
  browser.cookies.delete('access_token_cookie')
  assert.match((await open('/')).text, /Hello ada/)
  assert.notEqual(browser.cookies.get('access_token_cookie'), undefined)
  assert.notEqual(browser.cookies.get('refresh_token_cookie'), kept.get('refresh_token_cookie'))
  browser.cookies.delete('access_token_cookie')
  assert.match((await open('/account')).text, /Account of ada/)
  for (const [name, value] of browser.cookies) kept.set(name, value)

  // The response with the new cookies is for one visitor, also if every cache may keep the page.
  const prerendered = await fetch(`${origin}/about`)
  assert.match(prerendered.headers.get('cache-control'), /s-maxage=\d+/)
  browser.cookies.delete('access_token_cookie')
  const renewed = await browser.send('/about')
  assert.match(await renewed.text(), /About us/)
  assert.equal(renewed.headers.getSetCookie().length, 4)
  assert.equal(renewed.headers.get('cache-control'), 'private, no-store')
  for (const [name, value] of browser.cookies) kept.set(name, value)

  const csrf = { 'x-csrf-token': kept.get('csrf_access_token') }
  const logout = await browser.send('/api/logout', { method: 'POST', headers: csrf })
  assert.equal(logout.status, 200)
  assert.equal(browser.cookies.size, 0)

  // Cookies that were copied before the logout.
  for (const [name, value] of kept) browser.cookies.set(name, value)
  assert.match((await open('/')).text, /Not logged in/)
  const refused = await browser.send('/account')
  assert.equal(refused.status, 401)
  assert.equal((await refused.json()).code, 'TOKEN_REVOKED')
}
