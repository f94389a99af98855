'use strict'
// Starts the application of a module and uses it over HTTP.
const assert = require('node:assert/strict')
const { once } = require('node:events')
const { resolve } = require('node:path')

async function use(file) {
  const module = await import(resolve(file))
  // esbuild gives an ES module that it made of CommonJS a default export, and nothing else.
  const { createApp } = module.createApp ? module : module.default
  const server = createApp().listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const url = `http://127.0.0.1:${server.address().port}`
    const send = (method, path, headers = {}, body) => fetch(url + path, { method, headers, body })
    const login = await send('POST', '/login', { 'content-type': 'application/json' }, '{"uid":"ada"}')
    const { accessToken, refreshToken } = await login.json()
    const access = { authorization: `Bearer ${accessToken}` }
    const cookie = login.headers
      .getSetCookie()
      .map((text) => text.split(';')[0])
      .join('; ')

    const refused = await send('GET', '/me')
    assert.equal(refused.status, 401)
    assert.match(refused.headers.get('www-authenticate'), /^Bearer/)
    assert.deepEqual(await (await send('GET', '/me', access)).json(), { id: 'ada' })
    assert.equal((await send('GET', '/me', { cookie })).status, 200)
    assert.equal((await send('GET', '/me', { authorization: `Bearer ${refreshToken}` })).status, 401)
    assert.equal((await send('DELETE', '/logout', access)).status, 200)
    assert.equal((await send('GET', '/me', access)).status, 401)
    assert.equal((await send('GET', '/me', { cookie })).status, 401)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

use(process.argv[2]).then(
  () => console.log(`works  ${process.execArgv.join(' ')} ${process.argv[2]}`),
  (error) => {
    console.error(error)
    process.exit(1)
  },
)
