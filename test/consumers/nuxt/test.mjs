import { strict as assert } from 'node:assert'
import { readFileSync } from 'node:fs'
import { checkApi } from './shared/api.mjs'
import { createBrowser, mustRun, withServer } from './shared/server.mjs'

// The h3 that server code imports must stay the one of Nuxt, whatever version tokenlib is made for.
assert.match(JSON.parse(readFileSync('node_modules/h3/package.json', 'utf8')).version, /^1\./)
await mustRun('npx', ['nuxt', 'prepare'])
await mustRun('npx', ['vue-tsc', '--build', '--noEmit'])
await mustRun('npx', ['nuxt', 'build'])
await withServer(['node', '.output/server/index.mjs'], async (origin) => {
  await checkApi((path, init) => fetch(`${origin}${path}`, init))
  await checkPage(origin)
})

/** A page that is rendered on the server reads the cookies that an API route has set, until the logout. */
async function checkPage(origin) {
  const browser = createBrowser(origin)
  const open = async () => (await browser.send('/')).text()
  assert.match(await open(), /Not logged in/)

  const json = { 'content-type': 'application/json' }
  await browser.send('/api/login', { method: 'POST', headers: json, body: '{"uid":"ada"}' })
  assert.match(await open(), /Hello ada/)

  const kept = new Map(browser.cookies)
  const csrf = { 'x-csrf-token': kept.get('csrf_access_token') }
  await browser.send('/api/logout', { method: 'POST', headers: csrf })
  assert.equal(browser.cookies.size, 0)
  for (const [name, value] of kept) browser.cookies.set(name, value)
  assert.match(await open(), /Not logged in/)
}
