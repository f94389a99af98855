// What every consumer with pages and forms must do, from login to logout. Its routes:
//
//   GET  /         "Not logged in", or "Hello ada" and a form for /logout with the field `csrf_token`
//   POST /login    a form with `uid` → a redirect and the four cookies
//   GET  /account  "Account of ada", or a redirect to /login
//   GET  /api/me   → { "id": "ada" }; also by POST, with the CSRF value
//   POST /logout   a form → a redirect that deletes the cookies
import { strict as assert } from 'node:assert'
import { createBrowser, tamper } from './server.mjs'

/**
 * Sends the requests of a login to its logout, as a browser without scripts does, and asserts each answer.
 * `origin` is that of the pages, if a reverse proxy would give them another one than `server`.
 */
export async function checkForms(server, origin = server) {
  const browser = createBrowser(server)
  const open = async (path) => {
    const response = await browser.send(path, { headers: { accept: 'text/html' } })
    return { status: response.status, to: response.headers.get('location'), text: await response.text() }
  }
  const submit = (path, fields, headers = { origin }) =>
    browser.send(path, {
      method: 'POST',
      headers: { accept: 'text/html', ...headers },
      body: new URLSearchParams(fields),
    })
  const assertLoggedOut = async (code) => {
    assert.match((await open('/')).text, /Not logged in/)
    const { status, to } = await open('/account')
    assert.deepEqual([status, to], [303, '/login'])
    await assertRefused(await browser.send('/api/me'), code)
  }

  await assertLoggedOut('TOKEN_MISSING')

  const foreign = await submit('/login', { uid: 'mallory' }, { origin: 'https://attacker.example' })
  assert.ok([400, 403].includes(foreign.status), `${foreign.status}`)
  assert.equal(browser.cookies.size, 0)

  const login = await submit('/login', { uid: 'ada' })
  assert.equal(login.status, 303)
  assert.equal(browser.cookies.size, 4)
  const { text } = await open('/')
  assert.match(text, /Hello (?:<!-- -->)?ada/)
  assert.match((await open('/account')).text, /Account of (?:<!-- -->)?ada/)
  const me = await browser.send('/api/me')
  assert.deepEqual([me.status, await me.json()], [200, { id: 'ada' }])

  const kept = new Map(browser.cookies)
  browser.cookies.set('access_token_cookie', tamper(kept.get('access_token_cookie')))
  await assertLoggedOut()
  browser.cookies.set('access_token_cookie', kept.get('access_token_cookie'))

  await assertRefused(await browser.send('/api/me', { method: 'POST', headers: { origin } }), 'CSRF_MISSING')
  const csrf = { origin, 'x-csrf-token': kept.get('csrf_access_token') }
  assert.equal((await browser.send('/api/me', { method: 'POST', headers: csrf })).status, 200)

  assert.equal((await submit('/logout', {})).status, 401)
  assert.equal((await browser.send('/api/me')).status, 200)
  const [input] = /<input[^>]*name="csrf_token"[^>]*>/.exec(text) ?? []
  const [, value] = / value="([^"]+)"/.exec(input) ?? []
  assert.equal(value, kept.get('csrf_access_token'))
  const logout = await submit('/logout', { csrf_token: value })
  assert.deepEqual([logout.status, logout.headers.get('location')], [303, '/'])
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
