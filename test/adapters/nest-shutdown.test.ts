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
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const { config } = createManager().tokens

test.each([
  ['forRoot', (store: RevocationStore) => TokenModule.forRoot({ config, store })],
  [
    'forRootAsync',
    (store: RevocationStore) => TokenModule.forRootAsync({ useFactory: () => ({ config, store }) }),
  ],
])('app.close() closes the manager that %s built, and its store', async (_, register) => {
  const store = createMemoryStore()
  const { app, close } = await start([], { imports: [register(store)] })
  const tokens = app.get(TokenManager)
  await tokens.ready()
  await close()
  expect(internalsOf(tokens).isClosed).toBe(true)
  await expect(store.lookup([{ kind: 'all', id: '' }])).rejects.toThrow('closed')
})

test('a manager that the application built itself stays open', async () => {
  const tokens = new TokenManager({ config, store: createMemoryStore() })
  const imports = [
    TokenModule.forRoot({ tokens }),
    TokenModule.forRootAsync({ name: 'other', useFactory: () => ({ tokens }) }),
  ]
  const { close } = await start([], { imports })
  await close()
  expect((await tokens.verify(tokens.createAccessToken({ uid: 'ada' }))).sub).toBe('ada')
  await tokens.close()
})

test('managers with one store are closed together', async () => {
  const store = createMemoryStore()
  const imports = [
    TokenModule.forRoot({ config, store }),
    TokenModule.forRoot({ config, store, name: 'admin' }),
  ]
  const { app, close } = await start([], { imports })
  const managers = [app.get(TokenManager), app.get<TokenManager>(getTokenManagerToken('admin'))]
  await close()
  expect(managers.map((tokens) => internalsOf(tokens).isClosed)).toEqual([true, true])
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
  const store: RevocationStore = {
    ...memory,
    async lookup(...given) {
      calls.emit('asked')
      await once(calls, 'answer')
      return memory.lookup(...given)
    },
  }
  const { app, url, close } = await start([ReadController], {
    imports: [TokenModule.forRoot({ config, store })],
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
  const module = TokenModule.forRoot({ config, store: { ...createMemoryStore(), close } })
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
  const module = TokenModule.forRoot({ config, store: createMemoryStore() })
  await (await start([], { imports: [module] })).close()
  await expect(start([], { imports: [module] })).rejects.toThrow('forRootAsync')
})

test('applications that follow each other have managers of their own with forRootAsync', async () => {
  const module = TokenModule.forRootAsync({ useFactory: () => ({ config, store: createMemoryStore() }) })
  await (await start([], { imports: [module] })).close()
  const { app, close } = await start([], { imports: [module] })
  const tokens = app.get(TokenManager)
  expect((await tokens.verify(tokens.createAccessToken({ uid: 'ada' }))).sub).toBe('ada')
  await close()
})

test('a manager without a store serves one application after the other', async () => {
  const module = TokenModule.forRoot({ config })
  await (await start([], { imports: [module] })).close()
  const second = await start([], { imports: [module] })
  await expect(second.close()).resolves.toBeUndefined()
})
