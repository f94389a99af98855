import { describe, expect, test } from 'vitest'
import { replicate } from 'tokenlib/replica'
import {
  FOREVER,
  type NewSession,
  type RevocationStore,
  type StoreNeeds,
} from '../../packages/tokenlib/src/kit.js'
import { createWorld, down, fixRandom, hang, HOUR, isRevokedNow, key } from './replica-fixture.js'

describe('a call that only the store can complete', () => {
  test('does not wait for a feed that has never answered, and nothing is accepted', async () => {
    const { faulty, start, watermark } = createWorld()
    faulty.onFeed = hang
    const replica = await start({ bound: '1m' })
    await replica.revoke([watermark()])
    expect(faulty.feeds).toBe(1)
    expect(() => isRevokedNow(replica, 'a')).toThrow(Error)
  })

  test('does not wait for a feed that fails, and nothing is accepted', async () => {
    fixRandom(0.9)
    const { clock, faulty, open, watermark } = createWorld()
    const replica = await open({ bound: '100ms' })
    faulty.onFeed = down
    await clock.advance('101ms')
    faulty.onFeed = hang
    await replica.revoke([watermark()])
    expect(() => isRevokedNow(replica, 'a')).toThrow(Error)
  })

  test('is followed by a read while the replica is fresh', async () => {
    const { inner, open, entry, watermark } = createWorld()
    const replica = await open({ bound: '1m' })
    await inner.revoke([entry('a')])
    await replica.revoke([watermark()])
    expect(isRevokedNow(replica, 'a')).toBe(true)
  })

  test('is followed by a read where the last one has failed, but the copy is recent enough', async () => {
    fixRandom(0.9)
    const { clock, inner, faulty, open, entry, watermark } = createWorld()
    const replica = await open({ bound: '1s' })
    faulty.onFeed = down
    await clock.advance('250ms')
    expect(replica.replica?.readState()).toMatchObject({
      isFresh: true,
      lastError: expect.any(Error) as Error,
    })
    faulty.onFeed = null
    await inner.revoke([entry('a')])
    await replica.revoke([watermark()])
    expect(isRevokedNow(replica, 'a')).toBe(true)
  })

  test('is followed by a read after the process was blocked for longer than the bound', async () => {
    const { clock, inner, open, entry, watermark } = createWorld()
    const replica = await open({ bound: '500ms' })
    await inner.revoke([entry('a')])
    clock.block('501ms')
    await replica.revoke([watermark()])
    expect(isRevokedNow(replica, 'a')).toBe(true)
  })
})

test('what is restored is refused, also where the feed lags behind', async () => {
  const { faulty, open, inner, entry } = createWorld()
  const old = await inner.feed(null, { waitMs: 0 })
  const replica = await open({ bound: '1m' }, { ...faulty.store, feed: async () => ({ ...old, ageMs: 10 }) })
  await replica.restore?.([entry('a')])
  expect(isRevokedNow(replica, 'a')).toBe(true)
})

describe('a revocation', () => {
  test('whose time the store does not tell is taken', async () => {
    const { clock, faulty, open, inner, watermark } = createWorld()
    const replica = await open(
      { bound: '1m' },
      { ...faulty.store, revoke: async (batch) => ({ ...(await inner.revoke(batch)), now: Number.NaN }) },
    )
    await replica.revoke([watermark()])
    expect(await replica.lookup([watermark()])).toEqual([clock()])
  })

  test('that the store did not take reaches no further than the clock of this process', async () => {
    const { clock, faulty, open, watermark } = createWorld()
    const replica = await open({ bound: '1m' }, { ...faulty.store, revoke: down })
    const [ada, bob] = [watermark('ada'), { ...watermark('bob'), notBefore: clock() + 60_000 }]
    await expect(replica.revoke([ada, bob])).rejects.toThrow('The store is down')
    expect(await replica.lookup([ada, bob])).toEqual([1, clock()])
  })
})

describe('what the store was asked for', () => {
  /** A replica that is asked for `a`, which only the store's `lookup` knows. */
  async function openAsked(notBefore = FOREVER) {
    const world = createWorld()
    const replica = await world.open(
      { bound: '1m' },
      { ...world.faulty.store, lookup: async (keys) => keys.map(() => notBefore) },
    )
    expect(await replica.lookup(key('a'), { atLeast: 'elsewhere' })).toEqual([notBefore])
    return { ...world, replica }
  }

  test('is refused for as long as a token can live, and forgotten a minute later', async () => {
    const { clock, replica } = await openAsked()
    await clock.advance('60m')
    expect(isRevokedNow(replica, 'a')).toBe(true)
    await clock.advance('90s')
    expect(replica.replica?.readState()).toMatchObject({ isFresh: true, entries: 0 })
  })

  test('counts, however early it is', async () => {
    await openAsked(0)
  })

  test('is not kept for longer where it was known', async () => {
    const { clock, open, entry } = createWorld()
    const replica = await open({ bound: '1m' })
    await replica.revoke([entry('a', { until: clock() + 1000 })])
    expect(await replica.lookup(key('a'), { atLeast: 'elsewhere' })).toEqual([FOREVER])
    await clock.advance('90s')
    expect(replica.replica?.readState().entries).toBe(0)
  })
})

describe('a process can restore what its store loses', () => {
  /** What the store is told when it asks, now and while it is prepared. */
  async function openAsking(change: Partial<RevocationStore>) {
    const world = createWorld()
    const { faulty, start } = world
    const told: (boolean | undefined)[] = []
    let needs: StoreNeeds | undefined
    const replica = await start(
      { bound: '1m' },
      {
        ...faulty.store,
        async prepare(given) {
          needs = given
          told.push(given.canRestore?.())
          await faulty.store.prepare(given)
        },
        ...change,
      },
    )
    return { ...world, replica, told, canRestore: () => needs?.canRestore?.() }
  }

  test('after a complete read, also where it has used the store', async () => {
    const { replica, canRestore, entry } = await openAsking({})
    await replica.replica?.ready()
    await replica.revoke([entry('a')])
    expect(canRestore()).toBe(true)
  })

  test('but not while it is prepared for the first time', async () => {
    const { replica, told } = await openAsking({ feed: down })
    await replica.prepare({ longestLifetime: 2 * HOUR })
    expect(told).toEqual([false, true])
  })

  test.each<[string, boolean, (replica: RevocationStore) => Promise<unknown>]>([
    ['has claimed a token', false, (replica) => replica.claim([revoked])],
    ['has revoked a token', false, (replica) => replica.revoke([revoked])],
    ['has asked whether it can write', true, (replica) => replica.revoke([])],
  ])('without a complete read, where it %s: %s', async (_, expected, use) => {
    const { replica, canRestore } = await openAsking({ feed: down })
    await use(replica)
    expect(canRestore()).toBe(expected)
  })

  const revoked = { kind: 'token', id: 'a', notBefore: FOREVER, until: FOREVER } as const
})

describe('ready', () => {
  test('waits for a store that cannot be read yet', async () => {
    const { clock, faulty, start } = createWorld()
    faulty.onFeed = down
    const replica = await start({ bound: '1m' })
    let isReady = false
    void replica.replica?.ready().then(() => (isReady = true))
    await clock.advance('3s')
    expect(isReady).toBe(false)
    faulty.onFeed = null
    await clock.advance('100ms')
    expect(isReady).toBe(true)
    expect(isRevokedNow(replica, 'a')).toBe(false)
  })

  test('rejects with the reason after five seconds', async () => {
    const { clock, faulty, start } = createWorld()
    faulty.onFeed = down
    const replica = await start({ bound: '1m' })
    let reason: unknown = null
    replica.replica?.ready().catch((error: unknown) => (reason = error))
    await clock.advance('4999ms')
    expect(reason).toBeNull()
    await clock.advance('1ms')
    expect(reason).toMatchObject({ message: 'The store is down' })
  })
})

describe('a replica that cannot answer', () => {
  test('says how old it is, and why', async () => {
    const { clock, faulty, open } = createWorld()
    const replica = await open({ bound: '500ms' })
    clock.block('501ms')
    expect(() => isRevokedNow(replica, 'a')).toThrow('501 ms ago')
    faulty.onFeed = down
    await expect(replica.lookup(key('a'))).rejects.toMatchObject({
      message: expect.stringContaining('at most 500 ms') as string,
      cause: expect.objectContaining({ message: 'The store is down' }) as Error,
    })
  })

  test('is not fresh once it is closed', async () => {
    const { open } = createWorld()
    const replica = await open({ bound: '1m' })
    expect(replica.replica?.readState().isFresh).toBe(true)
    await replica.close()
    expect(replica.replica?.readState().isFresh).toBe(false)
  })
})

describe('a replica has what its store has', () => {
  test('and no more', () => {
    const { faulty } = createWorld()
    const { system: _, restore: __, sessions: ___, ...least } = faulty.store
    const replica = replicate(least)
    expect(Object.keys(replica).filter((name) => /^(system|restore|sessions)$/.test(name))).toEqual([])
  })

  test('and no less', () => {
    const { faulty } = createWorld()
    const replica = replicate({ ...faulty.store, system: 'my-store' })
    expect(replica.system).toBe('my-store')
    expect(replica.restore).toBeTypeOf('function')
    expect(replica.sessions?.openLimited).toBeTypeOf('function')
  })

  test('also of its sessions', () => {
    const { faulty } = createWorld()
    const { openLimited: _, writeData: __, ...sessions } = faulty.store.sessions ?? {}
    const replica = replicate({ ...faulty.store, sessions: sessions as never })
    expect(Object.keys(replica.sessions ?? {})).toEqual(Object.keys(sessions))
  })
})

describe('a login with a limit', () => {
  const session = (nonce: string, clock: () => number): NewSession => ({
    user: 'ada',
    nonce: nonce.repeat(14),
    expiresAt: clock() + HOUR,
    until: clock() + HOUR,
    ip: null,
    userAgent: null,
  })
  const limit = { max: 1, whenFull: 'endOldest', idleMs: FOREVER } as const

  test('that ends no session does not wait for a read', async () => {
    const { clock, faulty, open } = createWorld()
    const replica = await open({ bound: '1m' })
    faulty.onFeed = hang
    const opened = await replica.sessions?.openLimited?.(session('x', clock), limit)
    expect(opened).toMatchObject({ outcome: 'opened', ended: [] })
  })

  test('that ends a session is answered when this process refuses it', async () => {
    const { clock, open } = createWorld()
    const replica = await open({ bound: '1m' })
    const { sid = '' } = (await replica.sessions?.open(session('x', clock))) ?? {}
    expect(replica.isRevokedNow?.([{ kind: 'session', id: sid }], 1)).toBe(false)
    await clock.advance('1s')
    await replica.sessions?.openLimited?.(session('y', clock), limit)
    expect(replica.isRevokedNow?.([{ kind: 'session', id: sid }], 1)).toBe(true)
  })
})

describe('spending an id', () => {
  test('asks the store once, also where the replica is stale', async () => {
    const { clock, inner, faulty, open } = createWorld()
    const replica = await open({ bound: '100ms' })
    let calls = 0
    const { spend } = faulty.store
    expect(spend).toBe(inner.spend)
    expect(await replica.spend?.('a', HOUR)).toBe(true)
    expect(await inner.spend?.('a', HOUR)).toBe(false)
    Object.assign(faulty.store, {
      spend: (...given: Parameters<NonNullable<typeof spend>>) => (calls++, inner.spend?.(...given)),
    })
    faulty.onFeed = down
    await clock.advance('1s')
    expect(replica.replica?.readState().isFresh).toBe(false)
    expect([await replica.spend?.('b', HOUR), await replica.spend?.('b', HOUR)]).toEqual([true, false])
    expect(calls).toBe(2)
  })

  test('rejects while the store is down, however fresh the replica is', async () => {
    const { faulty, open } = createWorld()
    const replica = await open({ bound: '1m' })
    Object.assign(faulty.store, { spend: down })
    await expect(replica.spend?.('a', HOUR)).rejects.toThrow('down')
  })

  test('is not possible where the store cannot', async () => {
    const { spend: _, ...store } = createWorld().inner
    expect('spend' in replicate(store)).toBe(false)
  })
})
