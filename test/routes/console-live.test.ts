import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { MissingTokenError, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createConsole } from '../../packages/console/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import type { Replica } from '../../packages/tokenlib/src/kit.js'
import { advance, createRevocable } from '../helpers/revocable.js'
import { ORIGIN, openConsole, readLive } from './console-fixture.js'

describe('live revocations', () => {
  test('first those that are kept, then those that happen', async () => {
    const { tokens, get, clock } = openConsole()
    await tokens.revoke.user('ada', { actor: 'grace', note: 'Ticket 1\ndata: forged\n\n' })
    const response = await get('/api/live')
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const live = readLive(response)
    expect(await live.next()).toMatchObject({
      number: 1,
      event: 'revoked',
      facts: { kind: 'user', id: 'ada', actor: 'grace', note: 'Ticket 1 data: forged  ' },
    })
    const { refreshToken } = await tokens.sessions.open({ uid: 'bob' })
    const next = await advance({ tokens, clock }, refreshToken)
    await advance({ tokens, clock }, next.refreshToken)
    clock.seconds += 60
    await tokens.sessions.refresh(refreshToken, { ip: '192.0.2.66' }).catch(() => undefined)
    expect(await live.next()).toMatchObject({ event: 'revoked', facts: { reason: 'reuse', sub: 'bob' } })
    expect(await live.next()).toMatchObject({
      event: 'reuseDetected',
      facts: { sub: 'bob', ip: '192.0.2.66' },
    })
    await live.cancel()
  })

  test('a storm keeps the newest hundred, and the numbers show that some are missing', async () => {
    const { tokens, get } = openConsole()
    for (let at = 1; at <= 130; at++) await tokens.revoke.user(`user-${at}`)
    const live = readLive(await get('/api/live'))
    expect(await live.next()).toMatchObject({ number: 31, facts: { id: 'user-31' } })
    await live.cancel()
  })

  test('anyone who may not see them any more gets nothing new, however long the stream is open', async () => {
    let isOperator = true
    const { tokens, get } = openConsole({
      allow: () => {
        if (!isOperator) throw new MissingTokenError()
        return 'grace'
      },
    })
    const live = readLive(await get('/api/live'))
    isOperator = false
    await tokens.revoke.user('ada')
    expect(await live.next()).toBeNull()
    expect((await get('/api/live')).status).toBe(401)
  })

  test('the revocation of an operator is not shown to that operator', async () => {
    const { tokens, get } = openConsole({}, { config: { JWT_TOKEN_LOCATION: 'headers' } })
    const routes = createConsole(tokens, { allow: tokens.accessTokenRequired })
    const { accessToken } = await tokens.sessions.open({ uid: 'mallory' })
    const headers = { authorization: `Bearer ${accessToken}` }
    const response = await routes.handle(new Request(`${ORIGIN}/console/api/live`, { headers }))
    const live = readLive(response as Response)
    await tokens.revoke.user('bob')
    expect(await live.next()).toMatchObject({ facts: { id: 'bob' } })
    await tokens.revoke.user('mallory')
    expect(await live.next()).toBeNull()
    expect((await get('/api/live')).status).toBe(200)
  })

  test('a client that goes away, or does not read, holds nothing', async () => {
    const { tokens, get } = openConsole()
    const { body } = await get('/api/live')
    await body?.cancel()
    const unread = await get('/api/live')
    for (let at = 0; at < 500; at++) await tokens.revoke.user('ada')
    const live = readLive(unread)
    // Nothing was queued for it while it did not read: the newest hundred come, and not all five hundred.
    expect(await live.next()).toMatchObject({ number: 401 })
    await live.cancel()
  })

  test('those of other processes arrive where the console knows a store with a replica', async () => {
    const shared = createMemoryStore()
    const store = replicate(shared)
    onTestFinished(() => store.close())
    const { tokens, get } = openConsole({ store }, { store })
    const other = new TokenManager({ config: tokens.config, store: shared })
    await other.revoke.user('long ago')
    await tokens.ready()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const live = readLive(await get('/api/live'))
    await tokens.revoke.user('own')
    await tokens.revoke.session('own session')
    await other.revoke.user('of another')
    expect(await live.next()).toMatchObject({ event: 'revoked', facts: { id: 'own' } })
    expect(await live.next()).toMatchObject({ event: 'revoked', facts: { id: 'own session' } })
    await vi.advanceTimersByTimeAsync(2000)
    expect(await live.next()).toMatchObject({ event: 'arrived', facts: { kind: 'user', id: 'of another' } })
    await live.cancel()
  })
})

describe('close', () => {
  test('ends streams and listeners, and answers everything else with 503', async () => {
    const { routes, get, tokens } = openConsole()
    const [one, other] = [readLive(await get('/api/live')), readLive(await get('/api/live'))]
    routes.close()
    expect([await one.next(), await other.next()]).toEqual([null, null])
    for (const path of ['', '/', '/style.css', '/api/health', '/api/live', '/api/revoke']) {
      const response = await get(path, { method: path === '/api/revoke' ? 'POST' : 'GET' })
      expect([path, response.status]).toEqual([path, 503])
      expect(response.headers.get('cache-control')).toContain('no-store')
    }
    // What is none of the console's is still none of it.
    expect(await routes.handle(new Request(`${ORIGIN}/console/other`))).toBeNull()
    routes.close()
    await tokens.revoke.user('ada')
  })

  test('leaves no listener at the manager or the replica, and no timer', async () => {
    const ended: string[] = []
    const count = <Args extends readonly unknown[]>(
      name: string,
      subscribe: (...args: Args) => () => void,
    ) => {
      return (...args: Args) => {
        const stop = subscribe(...args)
        return () => {
          ended.push(name)
          stop()
        }
      }
    }
    const { tokens, store } = createRevocable()
    const replicated = replicate(store, { bound: '1s' })
    onTestFinished(() => replicated.close())
    const replica = replicated.replica as Replica
    const on = count('event', tokens.on.bind(tokens))
    const watched = Object.assign(Object.create(tokens) as typeof tokens, { on })
    const subscribe = count('replica', replica.subscribe.bind(replica))
    const routes = createConsole(watched, {
      allow: () => 'grace',
      store: { replica: { ...replica, subscribe } },
    })
    routes.close()
    expect(ended).toEqual(['event', 'event', 'event', 'replica'])
  })

  test('while a request is being admitted ends its stream immediately', async () => {
    let admit = (): void => undefined
    const { routes, get } = openConsole({
      allow: () => new Promise((resolve) => (admit = () => resolve('grace'))),
    })
    const pending = get('/api/live')
    routes.close()
    admit()
    expect(await readLive(await pending).next()).toBeNull()
  })
})
