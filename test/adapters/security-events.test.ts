import express from 'express'
import Fastify from 'fastify'
import { describe, expect, onTestFinished, test } from 'vitest'
import { serveNode } from '../../examples/server.js'
import { mount } from '../../packages/tokenlib/src/frameworks/express.js'
import { mount as mountFastify } from '../../packages/tokenlib/src/frameworks/fastify.js'
import {
  createBackChannelLogout,
  createEventReceiver,
  createGlobalTokenRevocation,
} from '../../packages/issuers/src/index.js'
import { outcomeOf } from '../helpers/revocable.js'
import {
  accessToken,
  CAEP,
  CLIENT,
  createReceiving,
  eventToken,
  ID,
  logoutToken,
  revocationJwt,
} from '../routes/security-events-fixture.js'
import { MOUNTS } from './mounted.js'

const ADA = { format: 'iss_sub', iss: ID.issuer, sub: 'ada' }

// Everything that a framework may take from an error for its answer.
const fail = (): never => {
  throw Object.assign(new Error('password=hunter2'), {
    status: 204,
    statusCode: 204,
    statusText: 'hunter2',
    statusMessage: 'hunter2',
    headers: { 'x-password': 'hunter2' },
    data: { password: 'hunter2' },
    body: { password: 'hunter2' },
    expose: true,
    unhandled: false,
    getResponse: () => new Response('hunter2'),
    toResponse: () => new Response('hunter2'),
  })
}

// Over real HTTP in every framework, with the body types that their parsers do not know.
describe.each(Object.entries(MOUNTS))('receivers in %s', (_name, start) => {
  test('a back-channel logout', async () => {
    const { tokens } = createReceiving()
    const app = await start(createBackChannelLogout(tokens, { clientId: CLIENT, path: '/auth' }))
    onTestFinished(() => app.close())
    const body = () => new URLSearchParams({ logout_token: logoutToken() })
    const token = accessToken(ID, 'ada')
    expect((await fetch(`${app.url}/auth`, { method: 'POST', body: 'logout_token=x' })).status).toBe(400)
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
    const answer = await fetch(`${app.url}/auth`, { method: 'POST', body: body() })
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
    expect((await fetch(`${app.url}/auth`)).status).toBe(405)
  })

  test('a security event', async () => {
    const { tokens } = createReceiving()
    const app = await start(createEventReceiver(tokens, { audience: 'https://api.example', path: '/auth' }))
    onTestFinished(() => app.close())
    const token = accessToken(ID, 'ada')
    const answer = await fetch(`${app.url}/auth`, {
      method: 'POST',
      headers: { 'content-type': 'application/secevent+jwt', accept: 'application/json' },
      body: eventToken(`${CAEP}session-revoked`, ADA),
    })
    expect([answer.status, await answer.text()]).toEqual([202, ''])
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
  })

  test('a Global Token Revocation request', async () => {
    const { tokens } = createReceiving()
    const audience = 'https://api.example/global-token-revocation'
    const app = await start(createGlobalTokenRevocation(tokens, { audience, path: '/auth' }))
    onTestFinished(() => app.close())
    const token = accessToken(ID, 'ada')
    const answer = await fetch(`${app.url}/auth`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${revocationJwt()}` },
      body: JSON.stringify({ sub_id: ADA }),
    })
    expect([answer.status, await answer.text()]).toEqual([204, ''])
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
  })

  test.each(['toUid', 'onLogout'])('%s that throws is a 5xx without what it has thrown', async (option) => {
    const { tokens } = createReceiving()
    const options = { clientId: CLIENT, path: '/auth', [option]: fail }
    const app = await start(createBackChannelLogout(tokens, options))
    onTestFinished(() => app.close())
    const body = new URLSearchParams({ logout_token: logoutToken() })
    const answer = await fetch(`${app.url}/auth`, { method: 'POST', body })
    const sent = [answer.statusText, ...[...answer.headers].flat(), await answer.text()]
    expect([answer.status, sent.filter((text) => text.includes('hunter2'))]).toEqual([500, []])
  })

  test('authorization that throws is a 5xx without what it has thrown', async () => {
    const { tokens } = createReceiving()
    const options = { audience: 'https://api.example', path: '/auth', authorization: fail }
    const app = await start(createEventReceiver(tokens, options))
    onTestFinished(() => app.close())
    const answer = await fetch(`${app.url}/auth`, {
      method: 'POST',
      headers: { 'content-type': 'application/secevent+jwt' },
      body: eventToken(`${CAEP}session-revoked`, ADA),
    })
    const sent = [answer.statusText, ...[...answer.headers].flat(), await answer.text()]
    expect([answer.status, sent.filter((text) => text.includes('hunter2'))]).toEqual([500, []])
  })
})

test('Fastify leaves what is below the path of a receiver to the application', async () => {
  const { tokens } = createReceiving()
  const app = Fastify()
  await app.register(mountFastify(createBackChannelLogout(tokens, { clientId: CLIENT })))
  app.post('/backchannel-logout/*', () => 'application')
  const { statusCode, body } = await app.inject({ method: 'POST', url: '/backchannel-logout/other' })
  expect([statusCode, body]).toEqual([200, 'application'])
})

test('Express, behind a parser of forms', async () => {
  const { tokens } = createReceiving()
  const app = express()
  app.use(express.urlencoded({ extended: false }))
  app.use(mount(createBackChannelLogout(tokens, { clientId: CLIENT })))
  const { url, close } = await serveNode(app, 0)
  onTestFinished(() => close())
  const send = (fields: [string, string][]) =>
    fetch(`${url}/backchannel-logout`, { method: 'POST', body: new URLSearchParams(fields) })
  const twice = [1, 2].map((): [string, string] => ['logout_token', logoutToken()])
  expect((await send(twice)).status).toBe(400)
  expect((await send([['logout_token', logoutToken()]])).status).toBe(200)
  expect(await outcomeOf(tokens.verify(accessToken(ID, 'ada')))).toBe('TOKEN_REVOKED')
})
