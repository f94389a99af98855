import { EventEmitter, once } from 'node:events'
import { describe, expect, test } from 'vitest'
import type { RevocationStore } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { createManager, createTimedClock } from '../helpers/manager.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

/** A memory store that counts how often it is closed; `change` replaces parts of it. */
function createCounted(change: Partial<RevocationStore> = {}) {
  const memory = createMemoryStore()
  const closed = { count: 0 }
  const close = async (): Promise<void> => {
    closed.count++
    await memory.close()
  }
  return { store: { ...memory, close, ...change }, closed }
}

const bearer = (token: string) =>
  new Request('https://api.example/', { headers: { authorization: `Bearer ${token}` } })

describe('a manager that was closed', () => {
  test.each([
    ['the memory store', () => createMemoryStore()],
    ['a replica', () => replicate(createMemoryStore())],
    [
      'a replica that asks the store while it is stale',
      () => replicate(createMemoryStore(), { whenStale: 'ask' }),
    ],
  ])('refuses what needs the store, with %s', async (_, createStore) => {
    const { tokens } = createRevocable({}, { store: createStore() })
    await tokens.ready()
    const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    const payload = await tokens.accessTokenRequired(bearer(accessToken))
    expect(internalsOf(tokens).isClosed).toBe(false)

    await tokens.close()

    expect(internalsOf(tokens).isClosed).toBe(true)
    // The token was seen before: it must not pass from memory.
    expect(await outcomeOf(tokens.accessTokenRequired(bearer(accessToken)))).toBe('REVOCATION_UNAVAILABLE')
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('REVOCATION_UNAVAILABLE')
    expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('REVOCATION_UNAVAILABLE')
    expect(await outcomeOf(tokens.sessions.open({ uid: 'ada' }))).toBe('REVOCATION_UNAVAILABLE')
    expect(await outcomeOf(tokens.logout(payload))).toBe('REVOCATION_UNAVAILABLE')
    expect(await outcomeOf(tokens.sessions.list('ada'))).toBe('REVOCATION_UNAVAILABLE')
    expect(await outcomeOf(tokens.ready())).toBe('REVOCATION_UNAVAILABLE')
    expect(await tokens.health()).toMatchObject({
      status: 'down',
      error: { message: 'The token manager is closed' },
    })
  })

  test('still creates tokens and reads them without the store', async () => {
    const { tokens } = createRevocable()
    await tokens.close()
    const token = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: '400d' })
    expect(internalsOf(tokens).verifyWithoutRevocation(token).sub).toBe('ada')
  })

  test('is closed once, however often and by whomever', async () => {
    const { store, closed } = createCounted()
    const { tokens } = createRevocable({}, { store })
    await Promise.all([tokens.close(), tokens.close()])
    await tokens.close()
    expect(closed.count).toBe(1)
  })

  test('can share its store with another manager that is closed too', async () => {
    const store = replicate(createMemoryStore())
    const [one, other] = [createRevocable({}, { store }).tokens, createRevocable({}, { store }).tokens]
    await Promise.all([one.ready(), other.ready()])
    await one.close()
    const token = other.createAccessToken({ uid: 'ada' })
    expect(await outcomeOf(other.verify(token))).toBe('REVOCATION_UNAVAILABLE')
    await other.close()
  })

  test('lets calls that are under way have their answer', async () => {
    const calls = new EventEmitter()
    const asked = once(calls, 'asked')
    const { store } = createCounted({
      async lookup(keys) {
        calls.emit('asked')
        await once(calls, 'answer')
        return keys.map(() => undefined)
      },
    })
    const { tokens } = createRevocable({}, { store })
    const checking = outcomeOf(tokens.verify(tokens.createAccessToken({ uid: 'ada' })))
    await asked
    await tokens.close()
    calls.emit('answer')
    expect(await checking).toBe('ok')
  })

  test('is not opened again by a store that is prepared late', async () => {
    let finish: () => void = () => {}
    const { store } = createCounted({ prepare: () => new Promise((resolve) => (finish = resolve)) })
    const { tokens } = createRevocable({}, { store })
    const token = tokens.createAccessToken({ uid: 'ada' })
    const checking = outcomeOf(tokens.verify(token))
    await tokens.close()
    finish()
    expect(await checking).toBe('REVOCATION_UNAVAILABLE')
    expect(await outcomeOf(tokens.verify(token))).toBe('REVOCATION_UNAVAILABLE')
  })

  test.each([
    ['fails', () => Promise.reject(new Error('ECONNREFUSED'))],
    [
      'throws',
      () => {
        throw new Error('broken')
      },
    ],
    ['does not answer', () => new Promise<void>(() => {})],
  ])('reports a store that %s when it is closed', async (_, close) => {
    const clock = createTimedClock()
    const { store } = createCounted({ close })
    const { tokens } = createRevocable({ JWT_REVOCATION_TIMEOUT: '1s' }, { store, clock })
    expect(await clock.runUntil(outcomeOf(tokens.close()))).toBe('REVOCATION_UNAVAILABLE')
    expect(internalsOf(tokens).isClosed).toBe(true)
    expect(await outcomeOf(tokens.verify(tokens.createAccessToken({ uid: 'ada' })))).toBe(
      'REVOCATION_UNAVAILABLE',
    )
  })
})

test('a manager without a store has nothing to close', async () => {
  const { tokens } = createManager()
  await tokens.close()
  expect(internalsOf(tokens).isClosed).toBe(false)
  expect((await tokens.verify(tokens.createAccessToken({ uid: 'ada' }))).sub).toBe('ada')
})
