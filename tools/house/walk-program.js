// Prints, as JSON, which files of the packages run code in each walk; `walks.js` runs it.
import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import { Session } from 'node:inspector/promises'
import { createBackChannelLogout, trustIssuer } from '@tokenlib/issuers'
import { Hono } from 'hono'
import { exportJWK, SignJWT } from 'jose'
import { TokenConfig, TokenManager } from 'tokenlib'
import { enforce, mount } from 'tokenlib/hono'
import { createMemoryStore } from 'tokenlib/memory'
import { createSessionRoutes } from 'tokenlib/session-routes'

const WARM_UPS = 20
const PROVIDER = 'https://id.example'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256' }
const tokens = new TokenManager({
  config: new TokenConfig({ JWT_SECRET_KEY: randomBytes(32) }),
  store: createMemoryStore(),
  issuers: [
    trustIssuer({
      issuer: PROVIDER,
      audience: 'https://api.example',
      keys: { keys: [jwk] },
      subjectPrefix: 'id:',
    }),
  ],
})
// The walk of a request is that of an application without issuers.
const own = new TokenManager({
  config: new TokenConfig({ JWT_SECRET_KEY: randomBytes(32) }),
  store: createMemoryStore(),
})
const storeless = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: randomBytes(32) }) })
const app = new Hono()
  .get('/storeless', enforce(storeless.accessTokenRequired), (c) => c.text('ran'))
  .get('/', enforce(own.accessTokenRequired), (c) => c.text('ran'))
  .use(mount(createSessionRoutes(own, { logIn: async () => ({ uid: 'ada' }) })))
  .use(mount(createBackChannelLogout(tokens, { clientId: 'my-app' })))

const known = (await logIn()).accessToken

// Each makes a request: many to warm up, and one that is recorded.
const WALKS = {
  'a guarded request': async () => bearer('/', 'GET', (await logIn()).accessToken),
  'a guarded request with a token seen before': async () => bearer('/', 'GET', known),
  'a guarded request without a store': async () =>
    bearer('/storeless', 'GET', storeless.createAccessToken({ uid: 'ada' })),
  'a refresh': async () => bearer('/auth/refresh', 'POST', (await logIn()).refreshToken),
  'a back-channel logout': async () =>
    new Request('http://localhost/backchannel-logout', {
      method: 'POST',
      body: new URLSearchParams({ logout_token: await signLogoutToken() }),
    }),
}

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
const walks = []
for (const [name, createRequest] of Object.entries(WALKS)) {
  for (let count = 0; count < WARM_UPS; count += 1) await send(await createRequest())
  const request = await createRequest()
  walks.push({ name, files: await record(() => send(request)) })
}
session.disconnect()
await Promise.all([tokens, own, storeless].map((manager) => manager.close()))
console.log(JSON.stringify(walks))

async function logIn() {
  const response = await app.request('/auth/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  })
  return response.json()
}

function bearer(path, method, token) {
  return new Request(`http://localhost${path}`, { method, headers: { authorization: `Bearer ${token}` } })
}

function signLogoutToken() {
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  return new SignJWT({
    iss: PROVIDER,
    jti: randomUUID(),
    aud: 'my-app',
    sub: 'ada',
    sid: 'session-1',
    events,
  })
    .setProtectedHeader({ alg: 'ES256', kid: 'k1', typ: 'logout+jwt' })
    .setIssuedAt()
    .setExpirationTime('2m')
    .sign(privateKey)
}

async function send(request) {
  const response = await app.request(request)
  if (response.status !== 200) throw new Error(`${request.url}: ${response.status} ${await response.text()}`)
}

/** The files of our packages that a task runs code of. */
async function record(task) {
  // Sets the counts back to zero.
  await session.post('Profiler.takePreciseCoverage')
  await task()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  return result
    .filter(({ functions }) => functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)))
    .map(({ url }) => /\/build\/house\/node_modules\/(.+)\.js$/.exec(url)?.[1])
    .filter((path) => path !== undefined)
    .map((path) => `${path.replace('/src/', '/')}.ts`)
    .toSorted()
}
