// Runs the Worker in wrangler's local mode: logs in, refreshes and logs out, and starts it again on the same data.
import { strict as assert } from 'node:assert'
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const DATA = 'build/data'

rmSync(DATA, { recursive: true, force: true })
const revoked = await withWorker(async (send) => {
  assert.equal((await send('GET', '/me')).status, 401)
  assert.equal((await send('POST', '/login', null, { name: 'ada', password: 'x' })).status, 401)
  const first = await login(send)
  assert.deepEqual(await (await send('GET', '/me', first.accessToken)).json(), { id: 'ada' })
  assert.equal((await send('GET', '/me', first.refreshToken)).status, 401)

  const response = await send('POST', '/refresh', first.refreshToken)
  assert.equal(response.status, 200)
  const second = await response.json()
  assert.equal((await send('GET', '/me', second.accessToken)).status, 200)

  const other = await login(send)
  assert.equal((await send('POST', '/logout', second.accessToken)).status, 204)
  for (const { accessToken } of [first, second]) {
    assert.equal((await send('GET', '/me', accessToken)).status, 401)
  }
  assert.equal((await send('POST', '/refresh', second.refreshToken)).status, 401)
  assert.equal((await send('GET', '/me', other.accessToken)).status, 200)

  const idle = await login(send)
  const expired = expire(idle.accessToken)
  assert.equal((await send('GET', '/me', expired)).status, 401)
  assert.equal((await send('POST', '/logout')).status, 204)
  assert.equal((await send('GET', '/me', idle.accessToken)).status, 200)
  assert.equal((await send('POST', '/logout', expired)).status, 204)
  assert.equal((await send('POST', '/refresh', idle.refreshToken)).status, 401)

  assert.deepEqual(await (await send('GET', '/health')).json(), { status: 'up' })
  return { second, other }
})
await withWorker(async (send) => {
  assert.equal((await send('GET', '/me', revoked.second.accessToken)).status, 401)
  assert.equal((await send('GET', '/me', revoked.other.accessToken)).status, 200)
})
console.log('Hono on Workers: login, refresh and logout, also after a restart')

async function login(send) {
  const response = await send('POST', '/login', null, { name: 'ada', password: 'lovelace' })
  assert.equal(response.status, 200)
  return response.json()
}

/** The same token as it is an hour after its end. */
function expire(token) {
  const [, secret] = readFileSync('.dev.vars', 'utf8').trim().split('=')
  const [header, body] = token.split('.')
  const payload = JSON.parse(Buffer.from(body, 'base64url'))
  const lifetime = payload.exp - payload.iat
  const [iat, exp] = [payload.iat - lifetime - 3600, payload.iat - 3600]
  const changed = Buffer.from(JSON.stringify({ ...payload, iat, nbf: iat, exp })).toString('base64url')
  const signature = createHmac('sha256', secret).update(`${header}.${changed}`).digest('base64url')
  return `${header}.${changed}.${signature}`
}

async function withWorker(use) {
  const port = await findPort()
  const args = [
    'wrangler',
    'dev',
    '--port',
    port,
    '--ip',
    '127.0.0.1',
    '--persist-to',
    DATA,
    '--show-interactive-dev-session=false',
  ]
  const child = spawn('npx', args, { stdio: 'inherit', detached: true })
  const ended = once(child, 'exit')
  const origin = `http://127.0.0.1:${port}`
  try {
    await waitFor(`${origin}/health`, child)
    return await use((method, path, token = null, body = null) =>
      fetch(origin + path, {
        method,
        headers: {
          ...(token !== null && { authorization: `Bearer ${token}` }),
          ...(body !== null && { 'content-type': 'application/json' }),
        },
        ...(body !== null && { body: JSON.stringify(body) }),
      }),
    )
  } finally {
    // The whole group: npx does not pass signals on.
    process.kill(-child.pid, 'SIGTERM')
    await ended
  }
}

async function waitFor(url, child) {
  for (let attempt = 0; attempt < 600; attempt++) {
    if (child.exitCode !== null) throw new Error('wrangler dev has ended')
    const response = await fetch(url).catch(() => null)
    if (response?.ok) return
    await sleep(100)
  }
  throw new Error('wrangler dev does not answer')
}

async function findPort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return String(port)
}
