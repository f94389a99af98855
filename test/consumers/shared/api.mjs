// What every consumer with a JSON API must do, from login to logout. Its routes:
//
//   POST /api/login      { "uid": "ada" } → { "id": "ada" } and the four cookies
//   GET  /api/me         → { "id": "ada" }
//   PUT  /api/users/:id  with a text → { "id": "ada", "name": "<the text>" }
//   POST /api/refresh    → the four cookies
//   POST /api/logout     → deletes the cookies
import { strict as assert } from 'node:assert'
import { keepCookies, tamper } from './server.mjs'

// HTML §4.10.21.6: the encodings that a form of another site can choose; a text/plain one can look like JSON.
const FORM_TYPES = [
  'application/x-www-form-urlencoded',
  'text/plain',
  'text/plain; charset=utf-8; application/json',
  'multipart/form-data; boundary=x',
]

/** Sends the requests of a login to its logout, and asserts each answer. `send` takes a path and fetch options. */
export async function checkApi(send) {
  const cookies = new Map()
  const withCookies = async (path, init = {}) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await send(path, { ...init, headers: { cookie, ...init.headers } })
    keepCookies(cookies, response)
    return response
  }
  const withCsrf = (name) => ({ 'x-csrf-token': cookies.get(name) })
  const withBearer = (token) => ({ headers: { authorization: `Bearer ${token}` } })

  await assertRefused(await send('/api/me'), 'TOKEN_MISSING')

  const login = (contentType) =>
    withCookies('/api/login', {
      method: 'POST',
      headers: { 'content-type': contentType },
      body: '{"uid":"ada"}',
    })
  for (const contentType of FORM_TYPES) {
    assert.equal((await login(contentType)).status, 415)
    assert.equal(cookies.size, 0)
  }
  await assertAnswer(await login('Application/JSON; charset=utf-8'), { id: 'ada' })
  assert.equal(cookies.size, 4)

  const accessToken = cookies.get('access_token_cookie')
  await assertAnswer(await withCookies('/api/me'), { id: 'ada' })
  await assertAnswer(await send('/api/me', withBearer(accessToken)), { id: 'ada' })
  await assertRefused(await send('/api/me', withBearer(tamper(accessToken))))
  await assertRefused(
    await send('/api/me', { headers: { cookie: `access_token_cookie=${tamper(accessToken)}` } }),
  )

  const name = 'Ada Lovelace, née Byron'
  const rename = (headers, id = 'ada') =>
    withCookies(`/api/users/${id}`, {
      method: 'PUT',
      headers: { 'content-type': 'text/plain; charset=utf-8', ...headers },
      body: name,
    })
  await assertRefused(await rename({}), 'CSRF_MISSING')
  await assertRefused(await rename({ 'x-csrf-token': 'another' }), 'CSRF_MISMATCH')
  await assertAnswer(await rename(withCsrf('csrf_access_token')), { id: 'ada', name })
  assert.equal((await rename(withCsrf('csrf_access_token'), 'grace')).status, 403)

  const refresh = (headers) => withCookies('/api/refresh', { method: 'POST', headers })
  await assertRefused(await refresh({}), 'CSRF_MISSING')
  const refreshed = await refresh(withCsrf('csrf_access_token'))
  assert.equal(refreshed.status, 200)
  const secondToken = cookies.get('access_token_cookie')
  assert.notEqual(secondToken, accessToken)
  await assertAnswer(await withCookies('/api/me'), { id: 'ada' })

  const logout = (headers) => withCookies('/api/logout', { method: 'POST', headers })
  await assertRefused(await logout({}), 'CSRF_MISSING')
  assert.equal((await logout(withCsrf('csrf_access_token'))).status, 200)
  assert.equal(cookies.size, 0)
  for (const token of [accessToken, secondToken]) {
    await assertRefused(await send('/api/me', withBearer(token)), 'TOKEN_REVOKED')
    const copied = { headers: { cookie: `access_token_cookie=${token}` } }
    await assertRefused(await send('/api/me', copied), 'TOKEN_REVOKED')
  }
}

async function assertAnswer(response, expected) {
  assert.equal(response.status, 200)
  assert.deepEqual(await response.json(), expected)
}

async function assertRefused(response, code) {
  const text = await response.text()
  assert.equal(response.status, 401, text)
  assert.match(response.headers.get('www-authenticate') ?? '', /^Bearer/)
  const body = JSON.parse(text)
  if (code === undefined) assert.match(body.code, /^[A-Z_]+$/)
  else assert.equal(body.code, code)
}
