import { strict as assert } from 'node:assert'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { Provider } from 'oidc-provider'
import { createBrowser, withServer } from './shared/server.mjs'

const CLIENT_SECRET = randomBytes(32).toString('base64url')
let answer
const listener = createServer((request, response) => void answer(request, response))
await once(listener.listen(0, '127.0.0.1'), 'listening')
const ISSUER = `http://127.0.0.1:${listener.address().port}`

// The application is started with its port, and the provider must know its URLs: it is created in the test. Until then,
// only its metadata is asked for.
const setUp = (origin) => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const provider = new Provider(ISSUER, {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'k1', alg: 'ES256', use: 'sig' }] },
    clients: [
      {
        client_id: 'notes',
        client_secret: CLIENT_SECRET,
        token_endpoint_auth_method: 'client_secret_post',
        id_token_signed_response_alg: 'ES256',
        redirect_uris: [`${origin}/callback`],
        backchannel_logout_uri: `${origin}/backchannel-logout`,
      },
    ],
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    fetch: (url, { method, headers, body } = {}) => fetch(url, { method, headers, body }),
    cookies: { keys: [randomBytes(32).toString('hex')] },
    ttl: { Session: 3600, Grant: 3600, Interaction: 600, IdToken: 3600, AccessToken: 3600 },
    features: { backchannelLogout: { enabled: true }, rpInitiatedLogout: { enabled: true } },
  })
  answer = provider.callback()
}
setUp('http://127.0.0.1:1')

const env = { ORIGIN: 'http://127.0.0.1:{port}', ISSUER, CLIENT_SECRET }
try {
  await withServer(['node', 'build/server.js'], test, env)
} finally {
  listener.closeAllConnections()
  listener.close()
}

async function test(origin) {
  setUp(origin)
  const open = () => {
    const [atApp, atProvider] = [createBrowser(origin), createBrowser(ISSUER)]
    const visit = (url, form) => {
      const { origin: host, pathname, search } = new URL(url, ISSUER)
      const body = form && { method: 'POST', body: new URLSearchParams(form) }
      const { send } = host === origin ? atApp : atProvider
      return send(pathname + search, { ...body, redirect: 'manual' })
    }
    // Follows redirects, and fills in the pages of the provider, until a URL of the application.
    const logIn = async (login) => {
      let at = `${origin}/sign-in`
      let form
      for (let step = 0; !at.startsWith(`${origin}/callback`); step++) {
        assert.ok(step < 12, `the login does not end: ${at}`)
        const response = await visit(at, form)
        const location = response.headers.get('location')
        const prompt = /name="prompt" value="(\w+)"/.exec(await response.text())?.[1]
        at = location === null ? at : new URL(location, at).href
        form = location === null ? { prompt, login, password: 'any' } : undefined
      }
      return at
    }
    const status = async (path) => (await atApp.send(path)).status
    return { atApp, visit, logIn, status }
  }

  const ada = open()
  assert.equal(await ada.status('/me'), 401)
  const callback = await ada.logIn('ada')
  const stranger = await open().visit(callback)
  assert.equal(stranger.headers.get('location'), '/sign-in-failed', 'the same link in another browser')
  assert.equal((await ada.visit(callback)).headers.get('location'), '/')
  assert.equal(await (await ada.visit(`${origin}/me`)).json(), 'user-1')
  assert.equal(await ada.status('/export'), 200, 'a new login is fresh')
  assert.equal((await ada.visit(callback)).headers.get('location'), '/sign-in-failed', 'a code works once')

  const again = await ada.visit(await ada.logIn('ada'))
  assert.equal(again.headers.get('location'), '/', 'single sign-on opens a session for the same user')
  assert.equal(await (await ada.visit(`${origin}/me`)).json(), 'user-1')

  const page = await (await ada.visit('/session/end')).text()
  const xsrf = /name="xsrf" value="(\w+)"/.exec(page)?.[1] ?? ''
  await ada.visit('/session/end/confirm', { xsrf, logout: 'yes' })
  assert.equal(await ada.status('/me'), 401, 'a logout at the provider ends the session')
}
