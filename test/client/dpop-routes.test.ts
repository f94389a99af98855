import { expect, test } from 'vitest'
import { createTokenClient } from '../../packages/client/src/index.js'
import { dpop } from '../../packages/client/src/dpop.js'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { enforce, handleErrors } from '../../packages/tokenlib/src/frameworks/fetch.js'
import type { DpopOptions } from '../../packages/tokenlib/src/proofs/dpop.js'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { PUBLIC_URL } from '../helpers/dpop.js'
import { createClock, PATIENT, SECRET } from '../helpers/manager.js'

/** The client on one side, the manager and its session routes on the other, and the requests between them. */
function open(options: Partial<DpopOptions> = {}, clientClock = createClock()) {
  const clock = createClock()
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT }),
    clock,
    store: createMemoryStore({ clock }),
    dpop: { publicUrl: PUBLIC_URL, required: true, ...options },
  })
  const routes = createSessionRoutes(tokens, { logIn: () => ({ uid: 'ada' }) })
  const profile = handleErrors()(
    enforce(tokens.accessTokenRequired)(async (request) =>
      Response.json({ id: (await tokens.accessTokenRequired(request)).sub }),
    ),
  )
  const requests: Request[] = []
  const serve = async (input: string | URL | Request): Promise<Response> => {
    const request = new Request(input)
    requests.push(request.clone())
    const response = (await routes.handle(request)) ?? (await profile(request))
    response.headers.set('date', new Date(clock()).toUTCString())
    return response
  }
  const client = createTokenClient({
    path: `${PUBLIC_URL}/auth`,
    transport: 'bearer',
    proof: dpop({ storage: 'memory' }),
    fetch: serve,
    clock: clientClock,
  })
  return { tokens, clock, clientClock, client, requests, serve }
}

const NONCES = { nonceSecret: 'a-secret-for-nonces-of-at-least-32-bytes' }

test.each([
  ['without nonces', {}],
  ['with nonces', NONCES],
  ['with nonces alone', { ...NONCES, rememberProofs: false }],
])('the client logs in, calls routes, refreshes and logs out, %s', async (_, options) => {
  const { tokens, clock, clientClock, client } = open(options)
  expect((await client.logIn({ name: 'ada' })).sub).toBe('ada')
  for (let round = 0; round < 4; round++) {
    const response = await client.fetch(`${PUBLIC_URL}/profile?page=${round}`)
    expect([response.status, await response.json()]).toEqual([200, { id: 'ada' }])
    // Longer than an access token lives.
    clock.seconds += 1000
    clientClock.seconds += 1000
  }
  expect(await tokens.sessions.list('ada')).toHaveLength(1)
  await client.logOut()
  expect(await tokens.sessions.list('ada')).toEqual([])
})

test('a client whose clock is wrong by an hour works all the same', async () => {
  const { client, clientClock } = open()
  clientClock.seconds -= 3600
  expect((await client.logIn({ name: 'ada' })).sub).toBe('ada')
  expect((await client.fetch(`${PUBLIC_URL}/profile`)).status).toBe(200)
})

test('anyone who copies its requests gets nothing', async () => {
  const { client, requests, serve } = open()
  await client.logIn({ name: 'ada' })
  await client.fetch(`${PUBLIC_URL}/profile`)
  const codeOf = async (request: Request): Promise<unknown> =>
    ((await (await serve(request)).json()) as { code?: string }).code
  const copied = requests.at(-1) as Request
  expect(await codeOf(copied.clone())).toBe('PROOF_REUSED')
  const authorization = copied.headers.get('authorization') as string
  const plain = (scheme: string): Request =>
    new Request(copied.url, { headers: { authorization: authorization.replace('DPoP', scheme) } })
  expect(await codeOf(plain('Bearer'))).toBe('PROOF_REQUIRED')
  expect(await codeOf(plain('DPoP'))).toBe('PROOF_REQUIRED')
})
