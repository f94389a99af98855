import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mount } from '../../packages/tokenlib/src/frameworks/express.js'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createBackChannelLogout, trustIssuer } from '../../packages/issuers/src/index.js'
import { createRedisStore } from '../../packages/tokenlib/src/stores/redis.js'
import { bundleWorker, type WorkerProgram } from '../faults/harness/bundle-worker.js'
import { outcomeOf } from '../helpers/revocable.js'
import { PATIENT } from '../helpers/manager.js'
import { describeWithRedis } from '../helpers/servers/describe-with-servers.js'
import {
  type AuthorizationServer,
  createSigningKey,
  RESOURCE,
  startAuthorizationServer,
  WEB_CLIENT,
} from './authorization-server.js'

describeWithRedis('a logout at oidc-provider', (url) => {
  const namespace = `logout-${randomUUID()}`
  const firstKey = createSigningKey('first')
  let redis: Redis
  let provider: AuthorizationServer
  let application: Server
  let tokens: TokenManager
  let program: WorkerProgram
  let other: ChildProcess

  beforeAll(async () => {
    redis = new Redis(url)
    application = createServer()
    await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve))
    const { port } = application.address() as AddressInfo
    provider = await startAuthorizationServer([firstKey], `http://127.0.0.1:${port}/backchannel-logout`)
    tokens = new TokenManager({
      config: new TokenConfig(PATIENT),
      store: createRedisStore(redis, { namespace }),
      issuers: [
        trustIssuer({
          issuer: provider.issuer,
          audience: RESOURCE,
          profile: 'at+jwt',
          keys: {
            discovery: `${provider.issuer}/.well-known/openid-configuration`,
            allowPrivateNetwork: true,
          },
        }),
      ],
    })
    const app = express().use(
      mount(createBackChannelLogout(tokens, { clientId: WEB_CLIENT, revoke: 'session' })),
    )
    application.on('request', app)
    program = await bundleWorker('test/issuers/logout-process.ts')
    other = fork(program.path, [url, namespace, provider.issuer, RESOURCE], { execArgv: [] })
    await once(other, 'message')
  }, 60_000)

  afterAll(async () => {
    other.kill()
    program.remove()
    application.closeAllConnections()
    application.close()
    await provider.stop()
    await redis.quit()
  })

  const askOther = async (token: string): Promise<unknown> => {
    const answer = once(other, 'message')
    other.send(token)
    return (await answer)[0]
  }
  const outcomes = async (token: string): Promise<unknown[]> => [
    await outcomeOf(tokens.verify(token)),
    await askOther(token),
  ]

  test('its token is refused in every process, and those of other sessions are not', async () => {
    const [phone, laptop, others] = await Promise.all(
      ['ada', 'ada', 'grace'].map((user) => provider.logIn(user)),
    )
    for (const each of [phone, laptop, others]) {
      expect(await outcomes(each?.accessToken ?? '')).toEqual(['ok', 'ok'])
    }
    await phone?.logOut()
    expect(provider.logouts).toEqual({ accepted: 1, failed: 0 })
    expect(await outcomes(phone?.accessToken ?? '')).toEqual(['TOKEN_REVOKED', 'TOKEN_REVOKED'])
    expect(await outcomes(laptop?.accessToken ?? '')).toEqual(['ok', 'ok'])
    expect(await outcomes(others?.accessToken ?? '')).toEqual(['ok', 'ok'])
  })

  test('is accepted right after new keys, whatever strangers have asked for before', async () => {
    const before = { ...provider.logouts }
    const user = await provider.logIn('barbara')
    expect(await outcomes(user.accessToken)).toEqual(['ok', 'ok'])
    const [, claims = '', signature = ''] = user.accessToken.split('.')
    const toForged = (kid: string, typ: string): string =>
      [Buffer.from(JSON.stringify({ alg: 'ES256', kid, typ })).toString('base64url'), claims, signature].join(
        '.',
      )
    const { port } = application.address() as AddressInfo
    const sendForged = (kid: string): Promise<Response> =>
      fetch(`http://127.0.0.1:${port}/backchannel-logout`, {
        method: 'POST',
        body: new URLSearchParams({ logout_token: toForged(kid, 'logout+jwt') }),
      })
    // On a route, and at the receiver itself.
    expect(await outcomeOf(tokens.verify(toForged('stranger', 'at+jwt')))).toBe('TOKEN_SIGNATURE_INVALID')
    expect((await sendForged('stranger')).status).toBe(400)
    // The first of them signs; the other one still verifies what it signed before.
    provider.setKeys([createSigningKey('second'), firstKey])
    const strangers = ['1', '2', '3', '4'].map((name) => sendForged(`stranger ${name}`))
    await user.logOut()
    expect(provider.logouts).toEqual({ accepted: before.accepted + 1, failed: before.failed })
    for (const { status } of await Promise.all(strangers)) expect(status).toBe(400)
    expect(await askOther(user.accessToken)).toBe('TOKEN_REVOKED')
  })

  test('the user can log in again immediately', async () => {
    const before = await provider.logIn('linus')
    await before.logOut()
    const after = await provider.logIn('linus')
    expect(await outcomes(before.accessToken)).toEqual(['TOKEN_REVOKED', 'TOKEN_REVOKED'])
    expect(await outcomes(after.accessToken)).toEqual(['ok', 'ok'])
  })
})
