// Starts the compiled application and uses it: once as Node 20.19 and later load the package (the ES modules), and once
// with the CommonJS build.
const assert = require('node:assert/strict')
const { spawn } = require('node:child_process')
const { once } = require('node:events')

const [main] = process.argv.slice(2)

async function check(flags) {
  const child = spawn(process.execPath, [...flags, main], { stdio: ['ignore', 'pipe', 'inherit'] })
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
}

async function run() {
  await check([])
  await check(['--no-experimental-require-module'])

  // In one process, `require` and `import` find the same classes, in every entry point.
  const { TokenError, TokenManager } = require('tokenlib')
  const { getTokenManagerToken } = require('tokenlib/nest')
  const imported = await import('tokenlib')
  const nest = await import('tokenlib/nest')
  assert.equal(TokenManager, imported.TokenManager)
  assert.equal(getTokenManagerToken(), imported.TokenManager)
  assert.equal(nest.getTokenManagerToken(), TokenManager)
  assert.ok(new imported.MissingTokenError() instanceof TokenError)
}

run().catch((error) => {
  console.error(error)
  process.exit(1)
})
