import 'reflect-metadata'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Controller, Get, Module, UseGuards } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { WsAdapter } from '@nestjs/platform-ws'
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'
import { loadCopies, PAIRS } from './copies.js'

const root = await loadCopies('.')
const nest = await loadCopies('./nest')

function createManager(copy) {
  const { TokenConfig, TokenManager } = root[copy]
  return new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: 'a-fake-secret-for-tests-of-enough-bytes' }),
  })
}

/** Starts an application whose module has these imports and providers; `guards` are those of its route. */
async function start({ imports = [], providers = [], guards = [], prepare = () => undefined }) {
  class AppController {
    me() {
      return 'me'
    }
  }
  Controller()(AppController)
  const route = Object.getOwnPropertyDescriptor(AppController.prototype, 'me')
  Get('me')(AppController.prototype, 'me', route)
  if (guards.length > 0) UseGuards(...guards)(AppController.prototype, 'me', route)
  class AppModule {}
  Module({ imports, providers, controllers: [AppController] })(AppModule)
  const app = await NestFactory.create(AppModule, { logger: false, abortOnError: false })
  prepare(app)
  await app.listen(0, '127.0.0.1')
  return app
}

// An application that starts all the same is closed, so that the test can end.
async function assertRefused(starting, expected) {
  void starting.then((app) => app.close()).catch(() => undefined)
  await assert.rejects(starting, expected)
}

function createGateway() {
  class Gateway {
    message() {
      return 'for those who may'
    }
  }
  WebSocketGateway()(Gateway)
  const descriptor = Object.getOwnPropertyDescriptor(Gateway.prototype, 'message')
  SubscribeMessage('message')(Gateway.prototype, 'message', descriptor)
  return Gateway
}

for (const [first, second] of PAIRS) {
  test(`enforce of ${first} with a manager of ${second}`, async () => {
    const tokens = createManager(second)
    const app = await start({
      guards: [nest[first].enforce(tokens.accessTokenRequired)],
      prepare: (starting) => starting.useGlobalFilters(new nest[first].TokenExceptionFilter()),
    })
    try {
      const url = `${await app.getUrl()}/me`
      const authorization = `Bearer ${tokens.createAccessToken({ uid: 'ada' })}`
      assert.equal((await fetch(url)).status, 401)
      assert.equal((await fetch(url, { headers: { authorization } })).status, 200)
    } finally {
      await app.close()
    }
  })

  test(`TokenGuard of ${first} does not start with TokenModule of ${second}`, async () => {
    const { TokenModule } = nest[second]
    const starting = start({
      imports: [TokenModule.forRoot({ tokens: createManager(second) })],
      providers: [{ provide: APP_GUARD, useClass: nest[first].TokenGuard }],
    })
    await assertRefused(starting, /resolve dependencies of the .*TokenManager/s)
  })

  test(`TokenModule of ${first} refuses a gateway behind a global TokenGuard of ${second}`, async () => {
    const starting = start({
      imports: [nest[first].TokenModule.forRoot({ tokens: createManager(first), name: 'main' })],
      providers: [createGateway(), { provide: APP_GUARD, useClass: nest[second].TokenGuard.for('main') }],
      prepare: (app) => app.useWebSocketAdapter(new WsAdapter(app)),
    })
    await assertRefused(starting, { code: 'CONFIGURATION_INVALID' })
  })

  test(`TokenModule of ${first} refuses a gateway behind enforce of ${second}`, async () => {
    const tokens = createManager(first)
    const Gateway = createGateway()
    UseGuards(nest[second].enforce(tokens.accessTokenRequired))(Gateway)
    const starting = start({
      imports: [nest[first].TokenModule.forRoot({ tokens })],
      providers: [Gateway],
      prepare: (app) => app.useWebSocketAdapter(new WsAdapter(app)),
    })
    await assertRefused(starting, { code: 'CONFIGURATION_INVALID' })
  })
}
