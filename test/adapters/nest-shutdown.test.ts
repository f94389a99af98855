import { EventEmitter, once } from 'node:events'
import { Controller, Get, Logger, UseGuards } from '@nestjs/common'
import { expect, test, vi } from 'vitest'
import {
  AccessTokenGuard,
  getTokenManagerToken,
  TokenModule,
} from '../../packages/tokenlib/src/frameworks/nest/index.js'
import { type RevocationStore, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createManager } from '../helpers/manager.js'
import { start } from '../helpers/nest.js'

const { config } = createManager().tokens

test.each([
  ['forRoot', (revocation: RevocationStore) => TokenModule.forRoot({ config, revocation })],
  [
    'forRootAsync',
    (revocation: RevocationStore) => TokenModule.forRootAsync({ useFactory: () => ({ config, revocation }) }),
  ],
])('app.close() closes the manager that %s built, and its store', async (_, register) => {
  const store = createMemoryStore()
  const { app, close } = await start([], { imports: [register(store)] })
  const tokens = app.get(TokenManager)
  await tokens.ready()
  await close()
  expect(tokens.isClosed).toBe(true)
  await expect(store.lookup([{ kind: 'all', id: '' }])).rejects.toThrow('closed')
})

test('a manager that the application built itself stays open', async () => {
  const tokens = new TokenManager({ config, revocation: createMemoryStore() })
  const imports = [
    TokenModule.forRoot({ tokens }),
    TokenModule.forRootAsync({ name: 'other', useFactory: () => ({ tokens }) }),
  ]
  const { close } = await start([], { imports })
  await close()
  expect((await tokens.verifyToken(tokens.createAccessToken({ uid: 'ada' }))).sub).toBe('ada')
  await tokens.close()
})

test('managers with one store are closed together', async () => {
  const revocation = createMemoryStore()
  const imports = [
    TokenModule.forRoot({ config, revocation }),
    TokenModule.forRoot({ config, revocation, name: 'admin' }),
  ]
  const { app, close } = await start([], { imports })
  const managers = [app.get(TokenManager), app.get<TokenManager>(getTokenManagerToken('admin'))]
  await close()
  expect(managers.map(({ isClosed }) => isClosed)).toEqual([true, true])
})

@Controller()
class ReadController {
  @Get()
  @UseGuards(AccessTokenGuard)
  read() {
    return 'read'
  }
}

test('requests that are under way are answered before the store is closed', async () => {
  const calls = new EventEmitter()
  const memory = createMemoryStore()
  const revocation: RevocationStore = {
    ...memory,
    async lookup(...given) {
      calls.emit('asked')
      await once(calls, 'answer')
      return memory.lookup(...given)
    },
  }
  const { app, url, close } = await start([ReadController], {
    imports: [TokenModule.forRoot({ config, revocation })],
    forceCloseConnections: false,
  })
  const authorization = `Bearer ${app.get(TokenManager).createAccessToken({ uid: 'ada' })}`
  const asked = once(calls, 'asked')
  const answer = fetch(url, { headers: { authorization, connection: 'close' } })
  await asked
  const closing = close()
  calls.emit('answer')
  expect(await (await answer).text()).toBe('read')
  await closing
})

test('a store that cannot be closed is logged, and does not keep the application from stopping', async () => {
  const close = () => Promise.reject(new Error('ECONNREFUSED'))
  const module = TokenModule.forRoot({ config, revocation: { ...createMemoryStore(), close } })
  const running = await start([], { imports: [module] })
  const logged = vi.spyOn(Logger.prototype, 'error').mockImplementation(() => {})
  try {
    await running.close()
    expect(logged).toHaveBeenCalledWith(expect.objectContaining({ code: 'REVOCATION_UNAVAILABLE' }))
  } finally {
    logged.mockRestore()
  }
})

test('an application does not start with a manager that was closed with an earlier one', async () => {
  const module = TokenModule.forRoot({ config, revocation: createMemoryStore() })
  await (await start([], { imports: [module] })).close()
  await expect(start([], { imports: [module] })).rejects.toThrow('forRootAsync')
})

test('applications that follow each other have managers of their own with forRootAsync', async () => {
  const module = TokenModule.forRootAsync({ useFactory: () => ({ config, revocation: createMemoryStore() }) })
  await (await start([], { imports: [module] })).close()
  const { app, close } = await start([], { imports: [module] })
  const tokens = app.get(TokenManager)
  expect((await tokens.verifyToken(tokens.createAccessToken({ uid: 'ada' }))).sub).toBe('ada')
  await close()
})

test('a manager without a store serves one application after the other', async () => {
  const module = TokenModule.forRoot({ config })
  await (await start([], { imports: [module] })).close()
  await (await start([], { imports: [module] })).close()
})
