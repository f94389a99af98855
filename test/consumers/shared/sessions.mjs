// What every consumer with session routes and rendered pages must do, from login to logout. Its routes:
//
//   /auth/*        the session routes; `logIn` takes { "name": "ada" }
//   GET  /         "Not logged in", or "Hello ada"
//   GET  /account  "Account of ada", or a redirect to /
//   GET  /api/me   → { "id": "ada" }; also by POST, with the CSRF value
import { strict as assert } from 'node:assert'
import { createBrowser, tamper } from './server.mjs'

/** Sends the requests of a login to its logout, as the pages of one browser do, and asserts each answer. */
export async function checkSessions(server) {
  const browser = createBrowser(server)
  const open = async (path) => {
    const response = await browser.send(path, { headers: { accept: 'text/html' } })
    return { status: response.status, to: response.headers.get('location'), text: await response.text() }
  }
  const post = (path, headers = {}, body) =>
    browser.send(path, {
      method: 'POST',
      headers: { origin: server, ...(body && { 'content-type': 'application/json' }), ...headers },
      body: body && JSON.stringify(body),
    })
  const assertLoggedOut = async (code) => {
    assert.match((await open('/')).text, /Not logged in/)
    const { status, to } = await open('/account')
    assert.deepEqual([status, to], [303, '/'])
    await assertRefused(await browser.send('/api/me'), code)
  }

  await assertLoggedOut('TOKEN_MISSING')

  const foreign = { origin: 'https://attacker.example', 'sec-fetch-site': 'cross-site' }
  assert.equal((await post('/auth/login', foreign, { name: 'mallory' })).status, 401)
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  assert.ok([400, 403, 415].includes((await post('/auth/login', form, { name: 'mallory' })).status))
  assert.equal(browser.cookies.size, 0)

  const login = await post('/auth/login', {}, { name: 'ada' })
  assert.equal(login.status, 200, await login.text())
  assert.equal(browser.cookies.size, 3)
  assert.match((await open('/')).text, /Hello (?:<!-- -->)?ada/)
  assert.match((await open('/account')).text, /Account of (?:<!-- -->)?ada/)
  const me = await browser.send('/api/me')
  assert.deepEqual([me.status, await me.json()], [200, { id: 'ada' }])

  await assertRefused(await post('/api/me'), 'CSRF_MISSING')
  const csrf = () => ({ 'x-csrf-token': browser.cookies.get('csrf_access_token') })
  assert.equal((await post('/api/me', csrf())).status, 200)

  const kept = new Map(browser.cookies)
  browser.cookies.set('access_token_cookie', tamper(kept.get('access_token_cookie')))
  await assertLoggedOut()
  browser.cookies.delete('access_token_cookie')
  await assertRefused(await post('/auth/refresh'), 'CSRF_MISSING')
  assert.equal((await post('/auth/refresh', csrf())).status, 200)
  assert.match((await open('/')).text, /Hello (?:<!-- -->)?ada/)

  await assertRefused(await post('/auth/logout'), 'CSRF_MISSING')
  assert.equal((await post('/auth/logout', csrf())).status, 204)
  assert.equal(browser.cookies.size, 0)
  await assertLoggedOut('TOKEN_MISSING')

  // Cookies that were copied before the logout.
  for (const [name, copied] of kept) browser.cookies.set(name, copied)
  await assertLoggedOut('TOKEN_REVOKED')
}

async function assertRefused(response, code) {
  const text = await response.text()
  assert.equal(response.status, 401, text)
  assert.match(response.headers.get('www-authenticate') ?? '', /^Bearer/)
  const body = JSON.parse(text)
  if (code === undefined) assert.match(body.code, /^[A-Z_]+$/)
  else assert.equal(body.code, code)
}
