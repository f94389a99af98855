import { strictEqual } from 'node:assert/strict'

const METHODS = ['GET', 'HEAD', 'POST', 'OPTIONS']
const OVERRIDES = [{}, { 'x-http-method-override': 'DELETE' }, { 'x-http-method': 'DELETE' }]

/** ATK-68: a link to the logout of an example application logs nobody out. */
export function declareLogoutByGet(start, runner) {
  runner.test('a request that is no DELETE logs nobody out', async () => {
    const app = await start({ profile: 'message', handleErrors: true })
    try {
      const login = await fetch(`${app.url}/login`, { method: 'POST' })
      const { access_token: token } = await login.json()
      const send = async (method, path, more = {}) => {
        const headers = { authorization: `Bearer ${token}`, ...more }
        const response = await fetch(app.url + path, { method, headers, redirect: 'manual' })
        await response.arrayBuffer()
        return response.status
      }
      for (const method of METHODS) {
        for (const more of OVERRIDES) {
          for (const path of ['/logout', '/logout?_method=DELETE']) {
            strictEqual((await send(method, path, more)) < 500, true, `${method} ${path}`)
          }
        }
      }
      strictEqual(await send('GET', '/me'), 200)
      strictEqual(await send('DELETE', '/logout'), 200)
      strictEqual(await send('GET', '/me'), 401)
    } finally {
      await app.close()
    }
  })
}
