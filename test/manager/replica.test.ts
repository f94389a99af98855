import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createMemoryStore } from 'tokenlib/memory'
import { replicate, type ReplicaOptions } from 'tokenlib/replica'
import {
  type RevocationStore,
  TokenConfig,
  TokenManager,
  type TokenPayload,
} from '../../packages/tokenlib/src/index.js'
import type { FeedPage } from '../../packages/tokenlib/src/kit.js'
import { createVirtualClock, type VirtualClock } from '../../packages/tokenlib/src/testing/clocks.js'
import { toPair } from '../helpers/revocable.js'

const fields = { JWT_SECRET_KEY: 'a secret of 32 bytes or more: Kq7Zw0', JWT_REVOCATION_TIMEOUT: '5s' }
const config = new TokenConfig(fields)
let clock: VirtualClock
beforeEach(() => void (clock = createVirtualClock()))

const opened: RevocationStore[] = []
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close()
})

/** A store that two managers share, one of them through a replica; `fail` makes the feed fail. */
function createShared(options: ReplicaOptions = {}, grace = 10) {
  const config = new TokenConfig({ ...fields, JWT_REFRESH_GRACE: grace })
  const store = createMemoryStore({ clock })
  const fault: { fail: boolean; lookups: number } = { fail: false, lookups: 0 }
  const { watch: _, ...unwatched } = store
  const replica = replicate(
    {
      ...unwatched,
      feed: (after, given): Promise<FeedPage> =>
        fault.fail ? Promise.reject(new Error('The store is down')) : store.feed(after, given),
      lookup(keys) {
        fault.lookups++
        return store.lookup(keys)
      },
    },
    { clock, ...options },
  )
  opened.push(replica)
  return {
    fault,
    near: new TokenManager({ config, clock, store: replica }),
    far: new TokenManager({ config, clock, store }),
  }
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await clock.advance('1ms')
}

const ask = (tokens: TokenManager, token: string): Promise<string> =>
  tokens
    .accessTokenRequired(new Request('http://localhost/', { headers: { authorization: `Bearer ${token}` } }))
    .then(
      () => 'passed',
      (error: { code: string }) => error.code,
    )

test('checks of a fresh replica call the store for nothing', async () => {
  const { near, fault } = createShared()
  await near.ready()
  const token = near.createAccessToken({ uid: 'ada' })
  for (let count = 0; count < 5; count++) expect(await ask(near, token)).toBe('passed')
  expect(fault.lookups).toBe(0)
})

test('a logout elsewhere is refused here within the bound', async () => {
  const { near, far } = createShared({ bound: '100ms' })
  await near.ready()
  const { accessToken } = await far.sessions.open({ uid: 'ada' })
  expect(await ask(near, accessToken)).toBe('passed')
  await far.logout(await far.verify(accessToken))
  await clock.advance('100ms')
  expect(await ask(near, accessToken)).toBe('TOKEN_REVOKED')
})

test('a logout here is refused immediately', async () => {
  const { near } = createShared({ bound: '1m' })
  const { accessToken, refreshToken } = await near.sessions.open({ uid: 'ada' })
  await near.logout(await near.verify(accessToken))
  expect(await ask(near, accessToken)).toBe('TOKEN_REVOKED')
  await expect(near.sessions.refresh(refreshToken)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
})

test('a reuse that is found here ends the session here immediately', async () => {
  const { near } = createShared({ bound: '1m' }, 0)
  const first = await near.sessions.open({ uid: 'ada' })
  const second = toPair(await near.sessions.refresh(first.refreshToken))
  const third = await near.sessions.refresh(second.refreshToken)
  await expect(near.sessions.refresh(first.refreshToken)).rejects.toMatchObject({
    code: 'REFRESH_TOKEN_REUSED',
  })
  expect(await ask(near, third.accessToken)).toBe('TOKEN_REVOKED')
})

describe('a revocation elsewhere that has not arrived', () => {
  test('counts for a check that demands its position', async () => {
    const { near, far } = createShared({ bound: '1m' })
    await near.ready()
    const token = far.createAccessToken({ uid: 'ada' })
    const { position } = await far.revoke.user('ada')
    await expect(near.verify(token)).resolves.toMatchObject({ sub: 'ada' })
    await expect(near.verify(token, { atLeast: position })).rejects.toMatchObject({
      code: 'TOKEN_REVOKED',
    })
  })

  test.each<[string, (tokens: TokenManager, payload: TokenPayload) => Promise<{ position: string }>]>([
    ['revoke.token', (tokens, payload) => tokens.revoke.token(payload)],
    ['revoke.session', (tokens, payload) => tokens.revoke.session(payload)],
    ['logout', (tokens, payload) => tokens.logout(payload)],
  ])('%s returns its position', async (_name, end) => {
    const { near, far } = createShared({ bound: '1m' })
    await near.ready()
    const { accessToken } = await far.sessions.open({ uid: 'ada' })
    const { position } = await end(far, await far.verify(accessToken))
    await expect(near.verify(accessToken, { atLeast: position })).rejects.toMatchObject({
      code: 'TOKEN_REVOKED',
    })
  })

  test.each<[string, (tokens: TokenManager, refreshToken: string) => Promise<unknown>]>([
    ['a key', (tokens) => tokens.revoke.key(tokens.keys.current ?? '')],
    [
      'the token',
      async (tokens, token) => tokens.revoke.token(await tokens.verify(token, { type: 'refresh' })),
    ],
  ])(
    'of %s counts for a refresh, which would give tokens that it does not concern',
    async (_name, revoke) => {
      const { near, far } = createShared({ bound: '1m' })
      await near.ready()
      const { refreshToken } = await far.sessions.open({ uid: 'ada' })
      await revoke(far, refreshToken)
      await expect(near.sessions.refresh(refreshToken)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
    },
  )

  test.each([7, '', null])('an invalid position is refused: %s', async (atLeast) => {
    const { near } = createShared()
    const token = near.createAccessToken({ uid: 'ada' })
    await expect(near.verify(token, { atLeast: atLeast as string })).rejects.toThrow(TypeError)
  })
})

test('with `everywhere` no process accepts the token once it resolves', async () => {
  const store = createMemoryStore({ clock })
  const { watch: _, ...unwatched } = store
  const replicas = [0, 1, 2].map(() => replicate({ ...unwatched }, { bound: '80ms', clock }))
  opened.push(...replicas)
  const managers = replicas.map((revocation) => new TokenManager({ config, clock, store: revocation }))
  await Promise.all(managers.map((each) => each.ready()))
  const [first, ...others] = managers as [TokenManager, ...TokenManager[]]
  const { accessToken } = await first.sessions.open({ uid: 'ada' })
  await clock.runUntil(first.logout(await first.verify(accessToken), { everywhere: true }))
  for (const other of others) expect(await ask(other, accessToken)).toBe('TOKEN_REVOKED')
  await expect(first.revoke.all({ everywhere: 'yes' as never })).rejects.toThrow(TypeError)
})

test('`everywhere` without a replica is refused before anything is revoked', async () => {
  const { near, far } = createShared()
  const token = far.createAccessToken({ uid: 'ada' })
  await expect(far.revoke.user('ada', { everywhere: true })).rejects.toMatchObject({
    code: 'CONFIGURATION_INVALID',
  })
  expect(await ask(near, token)).toBe('passed')
})

test('a stale replica refuses with 503, says so in health and events, and recovers', async () => {
  const { near, fault } = createShared({ bound: '200ms' })
  const heard: string[] = []
  for (const name of ['replicaStale', 'replicaFresh', 'replicaReset'] as const) {
    near.on(name, (event) => heard.push(`${name} ${event.boundMs}`))
  }
  await near.ready()
  const token = near.createAccessToken({ uid: 'ada' })
  fault.fail = true
  await until(() => heard.at(-1) === 'replicaStale 200')
  expect(await ask(near, token)).toBe('REVOCATION_UNAVAILABLE')
  const health = await near.health()
  expect(health).toMatchObject({ status: 'down', replica: { isFresh: false, boundMs: 200, entries: 0 } })
  expect(health.replica?.lastError?.message).toBe('The store is down')
  fault.fail = false
  await until(() => heard.at(-1) === 'replicaFresh 200')
  expect(await ask(near, token)).toBe('passed')
  expect(await near.health()).toMatchObject({ status: 'up', error: null, replica: { isFresh: true } })
  expect(heard).toEqual(['replicaFresh 200', 'replicaStale 200', 'replicaFresh 200'])
})

test('a socket closes when the revocation arrives, and no other does', async () => {
  const { near, far } = createShared({ bound: '100ms' })
  await near.ready()
  const closed: number[] = []
  const open = async (at: number) => {
    const { accessToken } = await far.sessions.open({ uid: `user ${at}` })
    const request = new Request('http://localhost/', { headers: { authorization: `Bearer ${accessToken}` } })
    const upgrade = await near.sockets.authenticate(request)
    const socket = { close: () => void closed.push(at), addEventListener: () => undefined }
    near.sockets.closeWhenInvalid(socket, upgrade, { every: '1d' })
    return upgrade.payload
  }
  const [first] = [await open(1), await open(2)]
  await far.logout(first)
  await until(() => closed.length > 0)
  expect(closed).toEqual([1])
  await far.revoke.user('user 2')
  await until(() => closed.length > 1)
  expect(closed).toEqual([1, 2])
})

test('a socket whose token was revoked since its handshake closes immediately', async () => {
  const { near } = createShared({ bound: '1m' })
  await near.ready()
  const { accessToken } = await near.sessions.open({ uid: 'ada' })
  const request = new Request('http://localhost/', { headers: { authorization: `Bearer ${accessToken}` } })
  const upgrade = await near.sockets.authenticate(request)
  await near.logout(upgrade.payload)
  let isClosed = false
  const socket = { close: () => void (isClosed = true), addEventListener: () => undefined }
  near.sockets.closeWhenInvalid(socket, upgrade, { every: '1d' })
  await until(() => isClosed)
  expect(isClosed).toBe(true)
})

describe('while calls of the store are not answered', () => {
  /** A manager with a fresh replica of a store that has stopped answering, and many calls that wait for it. */
  async function createHung() {
    const store = createMemoryStore({ clock })
    const fault = { isHung: false }
    const hang = <Answer>(run: () => Promise<Answer>): Promise<Answer> =>
      fault.isHung ? new Promise(() => undefined) : run()
    const { watch: _, ...unwatched } = store
    const replica = replicate(
      {
        ...unwatched,
        feed: (...given) => hang(() => store.feed(...given)),
        lookup: (...given) => hang(() => store.lookup(...given)),
        revoke: (batch) => hang(() => store.revoke(batch)),
        restore: (batch) => hang(() => Promise.resolve(store.restore?.(batch))),
      },
      { bound: '30s', clock },
    )
    opened.push(replica)
    const near = new TokenManager({ config: impatient, clock, store: replica })
    await near.ready()
    const [good, bad] = ['good', 'bad'].map((uid) => near.createAccessToken({ uid })) as [string, string]
    await near.revoke.token(await near.verify(bad))
    fault.isHung = true
    // Now and then one is sent all the same; that is not to be the check that follows.
    for (const count of [300, 10]) {
      const waiting = Array.from({ length: count }, (_, at) => near.revoke.user(`user ${at}`))
      await clock.runUntil(Promise.allSettled(waiting))
    }
    return { near, store, replica, fault, good, bad }
  }

  const impatient = new TokenConfig({
    JWT_SECRET_KEY: 'a secret of 32 bytes or more: Kq7Zw0',
    JWT_REVOCATION_TIMEOUT: '50ms',
  })

  test('checks are answered from memory, and health says so', async () => {
    const { near, good, bad } = await createHung()
    expect([await ask(near, good), await ask(near, bad)]).toEqual(['passed', 'TOKEN_REVOKED'])
    expect(await clock.runUntil(near.health())).toMatchObject({
      status: 'degraded',
      canCheck: true,
      canWrite: false,
      error: expect.any(Error) as Error,
      replica: { isFresh: true },
    })
  })

  test('a revocation that is not even sent is refused here, and written later', async () => {
    const { near, store, fault, good } = await createHung()
    const { jti = '' } = await near.verify(good)
    await expect(clock.runUntil(near.revoke.token({ jti }))).rejects.toMatchObject({
      code: 'REVOCATION_UNAVAILABLE',
    })
    expect(await ask(near, good)).toBe('TOKEN_REVOKED')
    expect(await store.lookup([{ kind: 'token', id: jti }])).toEqual([undefined])
    fault.isHung = false
    while ((await store.lookup([{ kind: 'token', id: jti }]))[0] === undefined) await clock.advance('1s')
  })
})
