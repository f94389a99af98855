import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { applicationContract, type StartApplication } from '@tokenlib/contracts'
import { type Dependency, MissingTokenError, type RequestToken, TokenConfig, TokenManager } from 'tokenlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  enforce,
  handleErrors,
  type Handler,
  inject,
  sendCookies,
} from '../../examples/extending/node-http.js'

function createRoutes(profile: 'message' | 'payload') {
  const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: randomBytes(32) }) })
  const blocklist = new Set<string>()
  const logins = new Map<string, string[]>()
  let checks = 0
  tokens.setCallbackTokenBlocklist((token) => {
    checks++
    return blocklist.has(token)
  })

  const issue = async (uid: string) => {
    const { accessToken, refreshToken } = await tokens.sessions.open({ uid, foo: 'bar', age: 36 })
    const { sid = '' } = await tokens.verify(accessToken)
    logins.set(sid, [accessToken, refreshToken])
    return { access_token: accessToken, refresh_token: refreshToken }
  }
  // The whole session: its refresh token too.
  const revoke = ({ token }: RequestToken, sid = '') => {
    for (const revoked of [token, ...(logins.get(sid) ?? [])]) blocklist.add(revoked)
  }
  const getTokenDep: Dependency<RequestToken> = async (request) => {
    const found = await tokens.getTokenFromRequest(request)
    if (found === null) throw new MissingTokenError()
    return found
  }
  const describeToken = (found: RequestToken | null) =>
    found === null ? 'No token found' : `Your token is: ${found.token} and is located in ${found.location}`

  const guard = enforce(tokens.accessTokenRequired)
  const me = guard(
    inject({ payload: tokens.accessTokenRequired }, ({ payload: { sub, age, foo } }, _, response) =>
      sendJson(response, { id: sub, age, foo }),
    ),
  )
  const routes: Record<string, Handler> = {
    'GET /token/mandatory': guard(
      inject({ found: getTokenDep }, ({ found }, _, response) => sendJson(response, describeToken(found))),
    ),
    'GET /token/optional': inject({ found: tokens.getTokenFromRequest }, ({ found }, _, response) =>
      sendJson(response, describeToken(found)),
    ),
    'GET /profile':
      profile === 'payload' ? me : guard((_, response) => sendJson(response, 'You are authenticated')),
    'GET /me': me,
    'GET /token': (_, response) =>
      sendJson(response, { access_token: tokens.createAccessToken({ uid: 'ada', foo: 'bar', age: 36 }) }),
    'POST /login': async (request, response) => {
      const uid = await readUid(request)
      if (uid === null) sendJson(response, 'uid must be a non-empty string', 400)
      else sendJson(response, await issue(uid))
    },
    'POST /refresh': inject(
      { payload: tokens.refreshTokenRequired, found: getTokenDep },
      async (values, _, response) => {
        revoke(values.found, values.payload.sid)
        sendJson(response, await issue(values.payload.sub))
      },
    ),
    'DELETE /logout': inject(
      { payload: tokens.accessTokenRequired, found: getTokenDep },
      (values, _, response) => {
        revoke(values.found, values.payload.sid)
        sendJson(response, 'OK')
      },
    ),
  }
  return { routes, config: tokens.config, checks: () => checks }
}

function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

async function readUid(request: IncomingMessage): Promise<string | null> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  if (text === '') return 'ada'
  try {
    const { uid } = JSON.parse(text) as { uid?: unknown }
    return typeof uid === 'string' && uid !== '' ? uid : null
  } catch {
    return null
  }
}

const start: StartApplication = async (options) => {
  const { routes, config, checks } = createRoutes(options.profile)
  const route: Handler = (request, response) => {
    const handler = routes[`${request.method} ${request.url}`]
    return handler === undefined ? sendJson(response, 'Not Found', 404) : handler(request, response)
  }
  const handler = options.handleErrors ? handleErrors({ config })(route) : route

  const server = createServer((request, response) => {
    const fail = () => sendJson(response, 'Internal Server Error', 500)
    Promise.resolve(handler(request, response)).catch(fail)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, checks, close }
}

applicationContract('node:http', start, { afterAll, beforeAll, describe, test })

test('a cookie is added to the ones that a response has', async () => {
  const server = createServer((_request, response) => {
    response.setHeader('set-cookie', 'a=1')
    sendCookies(response, ['b=2', 'c=3'])
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2', 'c=3'])
  await new Promise((resolve) => server.close(resolve))
})
