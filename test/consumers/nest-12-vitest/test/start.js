// Starts the compiled application and uses it, over HTTP.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import * as imported from 'tokenlib'
import { getTokenManagerToken } from 'tokenlib/nest'

const [main] = process.argv.slice(2)
const child = spawn(process.execPath, [main], { stdio: ['ignore', 'pipe', 'inherit'] })
try {
  const [output] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
  const url = String(output).trim()
  const login = await fetch(`${url}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uid: 'ada' }),
  })
  const { accessToken } = await login.json()
  const headers = { authorization: `Bearer ${accessToken}` }
  const statuses = []
  for (const [method, path, sent] of [
    ['GET', '/me', {}],
    ['GET', '/me', headers],
    ['DELETE', '/logout', headers],
    ['GET', '/me', headers],
  ]) {
    statuses.push((await fetch(url + path, { method, headers: sent })).status)
  }
  assert.deepEqual(statuses, [401, 200, 200, 401])
} finally {
  child.kill()
}

// A CommonJS file in such a project finds the same classes.
const required = createRequire(import.meta.url)('tokenlib')
assert.equal(required.TokenManager, imported.TokenManager)
assert.equal(getTokenManagerToken(), imported.TokenManager)
