import { strict as assert } from 'node:assert'
import { randomBytes } from 'node:crypto'
import { createBrowser, withServer } from './shared/server.mjs'

const env = { ORIGIN: 'http://127.0.0.1:{port}', BETTER_AUTH_SECRET: randomBytes(32).toString('hex') }
await withServer(['node', 'build/server.js'], test, env)

async function test(origin) {
  const open = () => {
    const { cookies, send } = createBrowser(origin)
    const post = (path, body = {}) =>
      send(path, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-csrf-token': cookies.get('csrf_access_token') ?? '',
          origin,
        },
        body: JSON.stringify(body),
      })
    return { cookies, send, post }
  }
  const ada = { name: 'Ada', email: 'ada@example.com', password: 'correct horse battery' }
  const status = async (response) => (await response).status
  const reach = (browser, path = '/me') => status(browser.send(path))

  const phone = open()
  assert.equal(await status(phone.post('/session/login', ada)), 401, 'nobody without a login gets a session')
  assert.equal(await status(phone.post('/api/auth/sign-up/email', ada)), 200)
  assert.equal(await reach(phone), 401, 'a session of better-auth opens no route')
  const handOver = { cookie: [...phone.cookies].map((pair) => pair.join('=')).join('; ') }

  assert.equal(await status(phone.post('/session/login')), 200)
  assert.equal(await reach(phone), 200)
  assert.equal(await reach(phone, '/export'), 200, 'the access token of the login is fresh')

  // The cookie of better-auth was copied before the hand-over.
  const copied = await fetch(`${origin}/session/login`, {
    method: 'POST',
    headers: { ...handOver, 'content-type': 'application/json' },
    body: '{}',
  })
  assert.equal(copied.status, 401, 'a login is handed over once')

  assert.equal(await status(phone.post('/session/refresh')), 200)
  assert.equal(await reach(phone, '/export'), 401, 'the access token of a refresh is not fresh')
  assert.equal(await status(phone.post('/session/step-up')), 401, 'a step-up needs a login of its own')
  assert.equal(await status(phone.post('/api/auth/sign-in/email', ada)), 200)
  assert.equal(await status(phone.post('/session/step-up')), 200)
  assert.equal(await reach(phone, '/export'), 200)

  const eve = { name: 'Eve', email: 'eve@example.com', password: 'her own password' }
  assert.equal(await status(phone.post('/api/auth/sign-up/email', eve)), 200)
  assert.equal(await status(phone.post('/session/step-up')), 401, 'a step-up with the login of another user')

  const laptop = open()
  const wrong = { ...ada, password: 'a wrong password' }
  assert.equal(await status(laptop.post('/api/auth/sign-in/email', wrong)), 401)
  assert.equal(await status(laptop.post('/session/login')), 401)
  assert.equal(await status(laptop.post('/api/auth/sign-in/email', ada)), 200)
  const change = { currentPassword: 'a wrong password', newPassword: 'another horse battery' }
  assert.equal(await status(laptop.post('/api/auth/change-password', change)), 400)
  assert.equal(await reach(phone), 200, 'a failed change of the password revokes nothing')
  change.currentPassword = ada.password
  assert.equal(await status(laptop.post('/api/auth/change-password', change)), 200)
  assert.equal(await reach(phone), 401, 'a new password ends every session')
  assert.equal(await status(phone.post('/session/refresh')), 401)
  assert.equal(await status(laptop.post('/session/login')), 200)
  assert.equal(await reach(laptop), 200)
}
