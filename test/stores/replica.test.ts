import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createMemoryStore } from 'tokenlib/memory'
import { replicate, type ReplicaOptions } from 'tokenlib/replica'
import { storeContract } from '@tokenlib/contracts'
import {
  FOREVER,
  type ReplicaChange,
  type Revocation,
  type RevocationStore,
} from '../../packages/tokenlib/src/kit.js'
import { sleep } from '../../packages/tokenlib/src/runtime.js'
import { createVirtualClock, type VirtualClock } from '../../packages/tokenlib/src/testing/clocks.js'
import {
  createFaulty as createFaultyStore,
  down,
  type Faulty,
  HOUR,
  key,
  lose as loseHistory,
} from './replica-fixture.js'
import { childOf, firstToken, NO_GRACE } from '../../packages/contracts/src/store-fixture.js'

storeContract(
  'replica of a memory store',
  {
    async open(_place, clock) {
      const store = replicate(createMemoryStore({ clock }))
      await store.prepare({ longestLifetime: HOUR })
      await store.replica?.ready()
      return store
    },
    isShared: false,
    checksSynchronously: true,
    limitsSessions: true,
    keepsData: true,
    spends: true,
    isReplicable: true,
  },
  { afterAll, beforeAll, describe, test },
)

const createFaulty = (inner: RevocationStore = createMemoryStore({ clock })): Faulty =>
  createFaultyStore(inner)

let clock: VirtualClock
beforeEach(() => void (clock = createVirtualClock()))

const opened: RevocationStore[] = []
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close()
})

async function open(
  store: RevocationStore,
  options: ReplicaOptions = {},
  onReplicaChange: (change: ReplicaChange) => void = () => undefined,
): Promise<RevocationStore> {
  const replica = replicate(store, { clock, ...options })
  opened.push(replica)
  await replica.prepare({ longestLifetime: HOUR, onReplicaChange })
  await replica.replica?.ready()
  return replica
}

const entry = (id: string, given: Partial<Revocation> = {}): Revocation => ({
  kind: 'token',
  id,
  notBefore: FOREVER,
  until: clock() + HOUR,
  ...given,
})
async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await clock.advance('1ms')
}

describe('while it is fresh', () => {
  test('it answers from memory, synchronously', async () => {
    const faulty = createFaulty()
    await faulty.store.revoke([entry('a')])
    const replica = await open(faulty.store)
    expect(await replica.lookup([...key('a'), ...key('b')])).toEqual([FOREVER, undefined])
    expect(replica.isRevokedNow?.(key('a'), 1)).toBe(true)
    expect(replica.isRevokedNow?.(key('b'), 1)).toBe(false)
    expect(faulty.lookups).toBe(0)
  })

  test('what another process revokes arrives within the bound', async () => {
    const shared = createMemoryStore({ clock })
    const replica = await open(createFaulty(shared).store, { bound: '100ms' })
    await shared.revoke([entry('a')])
    await clock.advance('100ms')
    expect(await replica.lookup(key('a'))).toEqual([FOREVER])
  })

  test('a store that calls its watchers is read immediately', async () => {
    const shared = createMemoryStore({ clock })
    const replica = await open(shared, { bound: '1m' })
    await shared.revoke([entry('a')])
    await until(async () => (await replica.lookup(key('a')))[0] === FOREVER)
    // Without the call, it would be read after several seconds.
    expect(clock.scheduler.monotonicNow()).toBeLessThan(100)
  })

  test('with atLeast it asks the store unless it has come that far', async () => {
    const faulty = createFaulty()
    const replica = await open(faulty.store, { bound: '1m' })
    const { position } = await faulty.store.revoke([entry('a')])
    expect(await replica.lookup(key('a'))).toEqual([undefined])
    expect(await replica.lookup(key('a'), { atLeast: position })).toEqual([FOREVER])
    expect(faulty.lookups).toBe(1)
  })

  test('what the store was asked for and has refused is refused from memory too', async () => {
    const faulty = createFaulty()
    const replica = await open(faulty.store, { bound: '1m' })
    const isRevokedNow = () => replica.isRevokedNow?.(key('a'), 1)
    const { position } = await faulty.store.revoke([entry('a')])
    expect(isRevokedNow()).toBe(false)
    expect(await replica.lookup(key('a'), { atLeast: position })).toEqual([FOREVER])
    expect(isRevokedNow()).toBe(true)
  })

  test('a position that was reached half-way through a read is not one that it has', async () => {
    const faulty = createFaulty()
    const replica = await open(faulty.store, { bound: '1m' })
    let isHeld = false
    faulty.onFeed = async (read) => {
      if (isHeld) return new Promise(() => undefined)
      isHeld = true
      return { ...(await read()), next: 'half-way', more: true }
    }
    void replica.revoke([{ kind: 'user', id: 'ada', notBefore: 1, until: clock() + HOUR }])
    await until(() => isHeld)
    await clock.advance('10ms')
    await replica.lookup(key('a'), { atLeast: 'half-way' })
    expect(faulty.lookups).toBe(1)
  })
})

test('the next page is asked for before the entries of a page are read', async () => {
  const faulty = createFaulty()
  const order: string[] = []
  faulty.onFeed = async (read) => {
    const number = faulty.feeds
    order.push(`page ${number} asked for`)
    const page = await read()
    const toEntries = (): Revocation[] => {
      order.push(`page ${number} read`)
      return [{ kind: 'token', id: 'a', notBefore: FOREVER, until: FOREVER }]
    }
    return Object.defineProperty({ ...page, more: number === 1 }, 'entries', { get: toEntries })
  }
  const replica = await open(faulty.store, { bound: '1m' })
  expect(order.slice(0, 3)).toEqual(['page 1 asked for', 'page 2 asked for', 'page 1 read'])
  expect(await replica.lookup(key('a'))).toEqual([FOREVER])
})

test('a page whose entries cannot be read is asked for again', async () => {
  const inner = createMemoryStore({ clock })
  const faulty = createFaulty(inner)
  const replica = await open(faulty.store)
  let hasFailed = false
  faulty.onFeed = async (read) => {
    const page = await read()
    if (hasFailed || page.entries.length === 0) return page
    const fail = (): never => {
      hasFailed = true
      throw new Error('unreadable')
    }
    return Object.defineProperty({ ...page }, 'entries', { get: fail })
  }
  await inner.revoke([{ kind: 'token', id: 'a', notBefore: FOREVER, until: clock() + HOUR }])
  await until(async () => (await replica.lookup(key('a')))[0] === FOREVER)
  expect(hasFailed).toBe(true)
})

test('a page without entries fails the read, and nothing is accepted', async () => {
  const faulty = createFaulty()
  faulty.onFeed = async (read) => ({ ...(await read()), entries: null as never })
  const replica = replicate(faulty.store, { clock })
  opened.push(replica)
  await replica.prepare({ longestLifetime: HOUR })
  await expect(replica.lookup(key('a'))).rejects.toThrow('never read its store completely')
  expect(replica.replica?.readState().lastError).toBeInstanceOf(TypeError)
})

describe('when it is stale', () => {
  test('before the first complete read it refuses', async () => {
    const faulty = createFaulty()
    faulty.onFeed = down
    const replica = replicate(faulty.store, { clock })
    opened.push(replica)
    await replica.prepare({ longestLifetime: HOUR })
    await expect(replica.lookup(key('a'))).rejects.toThrow('never read its store completely')
    expect(() => replica.isRevokedNow?.(key('a'), 1)).toThrow('never read its store completely')
    expect(faulty.lookups).toBe(0)
  })

  test('a page that is not the last one does not count as complete', async () => {
    const faulty = createFaulty()
    faulty.onFeed = async (read) => ({ ...(await read()), more: true })
    const replica = replicate(faulty.store, { clock })
    opened.push(replica)
    await replica.prepare({ longestLifetime: HOUR })
    await clock.advance('20ms')
    expect(replica.replica?.readState()).toMatchObject({ isFresh: false, ageMs: null })
  })

  test('it refuses once the bound has passed since the last complete read was sent', async () => {
    const faulty = createFaulty()
    const replica = await open(faulty.store, { bound: '60ms' })
    const isRevokedNow = () => replica.isRevokedNow?.(key('b'), 1)
    faulty.onFeed = down
    await until(() => replica.replica?.readState().isFresh === false)
    expect(replica.replica?.readState().lastError?.message).toBe('The store is down')
    await expect(replica.lookup(key('b'))).rejects.toThrow('may be at most 60 ms old')
    expect(isRevokedNow).toThrow('may be at most 60 ms old')
    faulty.onFeed = null
    await until(() => replica.replica?.readState().isFresh === true)
    expect(await replica.lookup(key('b'))).toEqual([undefined])
    expect(isRevokedNow()).toBe(false)
  })

  test('an answer that took longer than the bound is too old when it arrives', async () => {
    const faulty = createFaulty()
    const replica = await open(faulty.store, { bound: '40ms' })
    faulty.onFeed = async (read) => {
      const page = await read()
      await sleep(clock.scheduler, 60)
      return page
    }
    await until(() => replica.replica?.readState().isFresh === false)
    const { feeds } = faulty
    await until(() => faulty.feeds > feeds + 2)
    expect(replica.replica?.readState().isFresh).toBe(false)
    await expect(clock.runUntil(replica.lookup(key('b')))).rejects.toThrow('may be at most 40 ms old')
  })

  test('the age that a store reports counts', async () => {
    const faulty = createFaulty()
    faulty.onFeed = async (read) => ({ ...(await read()), ageMs: 5000 })
    const replica = await open(faulty.store)
    expect(replica.replica?.readState().isFresh).toBe(false)
    await expect(replica.lookup(key('b'))).rejects.toThrow('may be at most 1000 ms old')
  })

  test('a stalled event loop is noticed by the first check after it', async () => {
    const faulty = createFaulty()
    const replica = await open(faulty.store, { bound: '500ms' })
    const isRevokedNow = () => replica.isRevokedNow?.(key('b'), 1)
    await until(() => replica.replica?.readState().isFresh === true)
    expect(isRevokedNow()).toBe(false)
    clock.block('501ms')
    expect(isRevokedNow).toThrow('may be at most 500 ms old')
    expect(await replica.lookup(key('b'))).toEqual([undefined])
  })

  test('with `ask` the store answers instead', async () => {
    const faulty = createFaulty()
    await faulty.store.revoke([entry('a')])
    faulty.onFeed = down
    const replica = replicate(faulty.store, { clock, whenStale: 'ask' })
    opened.push(replica)
    await replica.prepare({ longestLifetime: HOUR })
    expect(await replica.lookup([...key('a'), ...key('b')])).toEqual([FOREVER, undefined])
    expect(faulty.lookups).toBe(1)
  })

  test('changes are reported, each once', async () => {
    const changes: string[] = []
    const faulty = createFaulty()
    const replica = await open(faulty.store, { bound: '200ms' }, ({ kind }) => void changes.push(kind))
    faulty.onFeed = down
    await until(() => changes.at(-1) === 'stale')
    faulty.onFeed = null
    await until(() => changes.at(-1) === 'fresh')
    expect(changes).toEqual(['fresh', 'stale', 'fresh'])
    expect(replica.replica?.readState()).toMatchObject({ boundMs: 200, lastError: null })
  })
})

describe('own revocations', () => {
  test('are refused immediately, also while the store does not answer', async () => {
    const faulty = createFaulty()
    let release: () => void = () => undefined
    const inner = faulty.store
    const held: RevocationStore = {
      ...inner,
      revoke: (batch) =>
        new Promise((resolve, reject) => {
          release = () => void inner.revoke(batch).then(resolve, reject)
        }),
    }
    const replica = await open(held, { bound: '1m' })
    const revoking = replica.revoke([entry('a')])
    expect(replica.isRevokedNow?.(key('a'), 1)).toBe(true)
    release()
    await revoking
    expect(await replica.lookup(key('a'))).toEqual([FOREVER])
  })

  test('what only the store knows is there when the call resolves', async () => {
    const store = createMemoryStore({ clock })
    const replica = await open(createFaulty(store).store, { bound: '1m' })
    const before = clock()
    await replica.revoke([{ kind: 'user', id: 'ada', notBefore: 1, until: before + HOUR }])
    const [notBefore = 0] = await replica.lookup([{ kind: 'user', id: 'ada' }])
    expect(notBefore).toBeGreaterThanOrEqual(before)
  })

  test('where the read after it fails, nothing is accepted', async () => {
    const faulty = createFaulty()
    const replica = await open(faulty.store, { bound: '1m' })
    faulty.onFeed = down
    await replica.revoke([{ kind: 'user', id: 'ada', notBefore: 1, until: clock() + HOUR }])
    expect(() => replica.isRevokedNow?.(key('b'), 1)).toThrow('The replica')
  })

  test('of tokens do not wait for a read, which they do not need', async () => {
    const faulty = createFaulty()
    const replica = await open(faulty.store, { bound: '1m' })
    faulty.onFeed = () => new Promise(() => undefined)
    await replica.revoke([entry('a')])
    expect(await replica.lookup(key('a'))).toEqual([FOREVER])
  })

  test('of a process whose clock is ahead refuse no session that starts after them', async () => {
    const right = createVirtualClock()
    clock.set(new Date(right() + 300_000))
    const clocked = await open(createFaulty(createMemoryStore({ clock: right })).store, { bound: '1m' })
    await clocked.revoke([{ kind: 'user', id: 'ada', notBefore: clock(), until: clock() + HOUR }])
    const [notBefore = 0] = await clocked.lookup([{ kind: 'user', id: 'ada' }])
    expect(notBefore).toBeLessThan(clock() - 200_000)
  })

  test('that were not written are written in parts', async () => {
    const faulty = createFaulty()
    let isDown = true
    const sizes: number[] = []
    const replica = await open(
      {
        ...faulty.store,
        revoke: down,
        restore: async (batch) => {
          if (isDown) return down()
          sizes.push(batch.length)
        },
      },
      { bound: '40ms' },
    )
    for (let at = 0; at < 12; at++) {
      const batch = Array.from({ length: 100 }, (_, index) => entry(`${at}-${index}`))
      await expect(replica.revoke(batch)).rejects.toThrow('The store is down')
    }
    await expect(replica.revoke([entry('ended', { until: clock() - HOUR })])).rejects.toThrow('down')
    isDown = false
    await until(() => sizes.reduce((sum, size) => sum + size, 0) >= 1200)
    expect(sizes).toEqual([500, 500, 200])
  })

  test('a process that revokes all the time becomes fresh again', async () => {
    const faulty = createFaulty()
    const replica = await open(faulty.store, { bound: '200ms' })
    faulty.onFeed = down
    await until(() => replica.replica?.readState().isFresh === false)
    // A read takes longer than it is to the next revocation.
    faulty.onFeed = (read) => sleep(clock.scheduler, 30).then(read)
    let revoked = 0
    await until(() => {
      void replica.revoke([entry(`busy-${revoked++}`)])
      return replica.replica?.readState().isFresh === true
    })
    expect(revoked).toBeGreaterThan(30)
  })

  test('one that the store refused stays refused here, and is written later', async () => {
    const faulty = createFaulty()
    let isDown = true
    const inner = faulty.store
    const replica = await open(
      { ...inner, revoke: (batch) => (isDown ? down() : inner.revoke(batch)) },
      { bound: '40ms' },
    )
    await expect(replica.revoke([entry('a')])).rejects.toThrow('The store is down')
    expect(await replica.lookup(key('a'))).toEqual([FOREVER])
    isDown = false
    await until(() => faulty.restored.length > 0)
    expect(await inner.lookup(key('a'))).toEqual([FOREVER])
  })
})

test('what this process knows counts, also where the store is asked and does not know it', async () => {
  const faulty = createFaulty()
  const replica = await open({ ...faulty.store, revoke: down, restore: down }, { whenStale: 'ask' })
  await expect(replica.revoke([entry('a')])).rejects.toThrow('The store is down')
  expect(await replica.lookup(key('a'), { atLeast: 'elsewhere' })).toEqual([FOREVER])
  faulty.onFeed = down
  await until(() => replica.replica?.readState().isFresh === false)
  expect(await replica.lookup([...key('a'), ...key('b')])).toEqual([FOREVER, undefined])
})

test('what a stale replica was told by its store stays refused, also where the store loses it', async () => {
  const faulty = createFaulty()
  const replica = await open(faulty.store, { bound: '100ms', whenStale: 'ask' })
  faulty.onFeed = down
  await faulty.store.revoke([entry('a')])
  await until(() => replica.replica?.readState().isFresh === false)
  expect(await replica.lookup(key('a'))).toEqual([FOREVER])
  const next = createMemoryStore({ clock })
  await next.prepare({ longestLifetime: HOUR })
  Object.assign(faulty.store, { lookup: next.lookup, feed: next.feed, restore: down })
  await until(() => replica.replica?.readState().isFresh === true)
  expect(await replica.lookup(key('a'))).toEqual([FOREVER])
})

test('a reuse that the store has found stays refused, also where the store loses it', async () => {
  const faulty = createFaulty()
  const replica = await open(faulty.store, { bound: '400ms' })
  faulty.onFeed = down
  const { sid = '' } =
    (await replica.sessions?.open({
      user: 'ada',
      nonce: 'x'.repeat(14),
      expiresAt: clock() + HOUR,
      until: clock() + HOUR,
      ip: null,
      userAgent: null,
    })) ?? {}
  const first = firstToken(sid)
  await replica.sessions?.rotate(sid, first, NO_GRACE)
  await replica.sessions?.rotate(sid, childOf(first, clock()), NO_GRACE)
  expect(await replica.sessions?.rotate(sid, first, NO_GRACE)).toMatchObject({ outcome: 'reused' })
  // The read after it has failed.
  const next = createMemoryStore({ clock })
  await next.prepare({ longestLifetime: HOUR })
  Object.assign(faulty.store, { lookup: next.lookup, feed: next.feed, restore: down })
  await until(() => replica.replica?.readState().isFresh === true)
  expect(await replica.lookup([{ kind: 'session', id: sid }])).toEqual([FOREVER])
})

test('a stale replica that asks does not wait for a feed that does not answer', async () => {
  const faulty = createFaulty()
  faulty.onFeed = () => new Promise(() => undefined)
  const replica = replicate(faulty.store, { clock, whenStale: 'ask' })
  opened.push(replica)
  await replica.prepare({ longestLifetime: HOUR })
  expect(await replica.lookup(key('a'))).toEqual([undefined])
})

describe('after a reset', () => {
  const lose = (faulty: Faulty): Promise<RevocationStore> => loseHistory(faulty, clock)

  test('it goes on refusing what it knows, and restores it', async () => {
    const faulty = createFaulty()
    const [ended, user] = [
      entry('ended', { until: clock() - 61_000 }),
      { kind: 'user' as const, id: 'ada', notBefore: 5, until: clock() + HOUR },
    ]
    const changes: string[] = []
    const replica = await open(faulty.store, { bound: '200ms' }, ({ kind }) => void changes.push(kind))
    await replica.revoke([entry('a'), entry('short'), ended])
    const [marked] = await replica.lookup([user])
    expect(marked).toBeUndefined()
    await faulty.store.restore?.([user])
    await until(async () => (await replica.lookup([user]))[0] === 5)
    faulty.restored.length = 0
    const isRevokedNow = () => replica.isRevokedNow?.(key('a'), 1)
    const next = await lose(faulty)
    let wasAccepted = false
    await until(async () => {
      try {
        wasAccepted ||= isRevokedNow() !== true
      } catch {
        // Stale for a moment, which is no acceptance.
      }
      return (await next.lookup(key('a')))[0] === FOREVER
    })
    expect(wasAccepted).toBe(false)
    // The watermark is the one that it was, or sessions that began after it would end.
    expect(await next.lookup([...key('short'), ...key('ended'), user])).toEqual([FOREVER, undefined, 5])
    expect(changes).toContain('reset')
  })

  test.each([
    ['it asks for a position', 'refuse', { atLeast: 'another' }],
    ['it is stale and asks', 'ask', {}],
  ] as const)('it goes on refusing what it knows where %s', async (_, whenStale, lookup) => {
    const faulty = createFaulty()
    const replica = await open(faulty.store, { bound: '1m', whenStale })
    await replica.revoke([entry('a')])
    await lose(faulty)
    Object.assign(faulty.store, { feed: down })
    // The read after it fails, so the replica is stale.
    await replica.revoke([entry('b')])
    expect(await replica.lookup([...key('a'), ...key('c')], lookup)).toEqual([FOREVER, undefined])
  })

  test('what others have restored is not restored again', async () => {
    const faulty = createFaulty()
    const replica = await open(faulty.store, { bound: '200ms' })
    await replica.revoke([entry('a'), entry('b')])
    const next = await lose(faulty)
    await next.revoke([entry('a')])
    await until(() => faulty.restored.length > 0)
    expect(faulty.restored.map(({ id }) => id)).toEqual(['b'])
  })

  test('what was revoked last is restored first', async () => {
    const faulty = createFaulty()
    const old = Array.from({ length: 2000 }, (_, at) => entry(`old-${at}`))
    await faulty.store.prepare({ longestLifetime: HOUR })
    await faulty.store.revoke(old)
    const replica = await open(faulty.store, { bound: '1s' })
    await replica.revoke([entry('new')])
    faulty.restored.length = 0
    await lose(faulty)
    await until(() => faulty.restored.length > old.length)
    expect(faulty.restored[0]?.id).toBe('new')
    expect(new Set(faulty.restored.map(({ id }) => id))).toEqual(new Set(['new', ...old.map(({ id }) => id)]))
    expect(faulty.restored).toHaveLength(old.length + 1)
  })

  test('what the store has for a shorter time is restored', async () => {
    const faulty = createFaulty()
    const replica = await open(faulty.store, { bound: '200ms' })
    const short = entry('a', { until: clock() + HOUR / 2 })
    await replica.revoke([entry('a')])
    const next = await lose(faulty)
    await next.revoke([short])
    await until(() => faulty.restored.length > 0)
    expect(faulty.restored.map(({ id, until: end }) => [id, end > short.until])).toEqual([['a', true]])
  })

  test('a loss is found where the clock was set back as well', async () => {
    const faulty = createFaulty()
    const replica = await open(faulty.store, { bound: '100ms' })
    await replica.revoke([entry('a', { until: FOREVER })])
    await until(() => replica.replica?.readState().entries === 1)
    await lose(faulty)
    clock.set(new Date(clock() - 5000))
    await until(() => faulty.restored.length > 0)
    expect(faulty.restored.map(({ id }) => id)).toEqual(['a'])
  })

  test('a second one while it restores does not make it read all the time', async () => {
    const faulty = createFaulty()
    const replica = await open(faulty.store, { bound: '400ms' })
    await replica.revoke([entry('a')])
    await lose(faulty)
    const restoring = new Promise<void>((resolve) => {
      Object.assign(faulty.store, { restore: () => new Promise(() => resolve()) })
    })
    await clock.runUntil(restoring)
    await lose(faulty)
    const { feed } = faulty.store
    let asked = 0
    Object.assign(faulty.store, { feed: (...given: Parameters<typeof feed>) => (asked++, feed(...given)) })
    await until(() => asked > 3)
    const before = asked
    await clock.advance('300ms')
    expect(asked - before).toBeLessThan(20)
  })

  test('it stays fresh while it restores', async () => {
    const faulty = createFaulty()
    const replica = await open(faulty.store, { bound: '100ms' })
    await replica.revoke([entry('a')])
    await lose(faulty)
    let asked = 0
    const restoring = new Promise<void>((resolve) => {
      Object.assign(faulty.store, { restore: () => new Promise(() => resolve()) })
    })
    await clock.runUntil(restoring)
    const feeds = faulty.store.feed
    Object.assign(faulty.store, { feed: (...given: Parameters<typeof feeds>) => (asked++, feeds(...given)) })
    await until(() => asked > 50)
    expect(await replica.lookup(key('a'))).toEqual([FOREVER])
  })

  test('a process that has not used its store yet leaves a loss to those who know what was there', async () => {
    const { store } = createFaulty()
    let canRestore = (): boolean | undefined => undefined
    const open = async (): Promise<RevocationStore> => {
      const replica = replicate(
        {
          ...store,
          feed: down,
          async prepare(needs) {
            canRestore = () => needs.canRestore?.()
            await store.prepare(needs)
          },
        },
        { clock, whenStale: 'ask' },
      )
      opened.push(replica)
      await replica.prepare({ longestLifetime: HOUR })
      return replica
    }
    const asking = await open()
    expect(canRestore()).toBe(true)
    await asking.lookup(key('a'))
    expect(canRestore()).toBe(false)
    const revoking = await open()
    await revoking.revoke([entry('a')])
    expect(canRestore()).toBe(false)
  })

  test('a store that cannot be restored is told so', async () => {
    const needs: (boolean | undefined)[] = []
    const { restore: _, ...inner } = createMemoryStore({ clock })
    const store = { ...inner, prepare: inner.prepare }
    store.prepare = async (given) => {
      needs.push(given.canRestore?.())
      await inner.prepare(given)
    }
    const replica = await open(store)
    await replica.prepare({ longestLifetime: 2 * HOUR })
    expect(needs).toEqual([false, false])
  })
})

describe('options', () => {
  test.each([
    ['an unknown one', { bounds: '1s' }],
    ['no bound', { bound: 0 }],
    ['a bound of an hour', { bound: '1h' }],
    ['a bound of more than a minute', { bound: '60001ms' }],
    ['a bound of less than 20 ms', { bound: '19ms' }],
    ['a text that is no duration', { bound: 'soon' }],
    ['accepting while stale', { whenStale: 'accept' }],
    ['a clock without a scheduler', { clock: () => 0 }],
    ['a clock whose scheduler lacks something', { clock: Object.assign(() => 0, { scheduler: {} }) }],
  ])('%s is refused', (_, options) => {
    expect(() => replicate(createMemoryStore({ clock }), options as ReplicaOptions)).toThrow()
  })

  test('what is no store is refused', () => {
    expect(() => replicate({} as RevocationStore)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION_INVALID' }),
    )
  })
})

test('a replica that is closed while it is prepared reads nothing', async () => {
  const faulty = createFaulty()
  let release: () => void = () => undefined
  const held = new Promise<void>((resolve) => (release = resolve))
  const replica = replicate({ ...faulty.store, prepare: () => held }, { clock })
  const preparing = replica.prepare({ longestLifetime: HOUR })
  await replica.close()
  release()
  await expect(preparing).rejects.toThrow('closed')
  await clock.advance('20ms')
  expect(faulty.feeds).toBe(0)
})

test('a replica of a replica is refused', async () => {
  const replica = await open(createMemoryStore({ clock }))
  expect(() => replicate(replica)).toThrow(TypeError)
})

test('a watcher of a store that throws does not make a revocation fail', async () => {
  const warnings: string[] = []
  const onWarning = ({ name }: Error): void => void warnings.push(name)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const store = createMemoryStore({ clock })
  await store.prepare({ longestLifetime: HOUR })
  store.watch?.(() => {
    throw new Error('A watcher fails')
  })
  await store.revoke([entry('a')])
  expect(await store.lookup(key('a'))).toEqual([FOREVER])
  await until(() => warnings.includes('TokenListenerWarning'))
})

test('a closed replica answers nothing and reads nothing', async () => {
  const faulty = createFaulty()
  const replica = await open(faulty.store, { bound: '20ms' })
  const isRevokedNow = () => replica.isRevokedNow?.(key('a'), 1)
  await replica.close()
  const { feeds } = faulty
  await clock.advance('40ms')
  expect(faulty.feeds).toBe(feeds)
  expect(isRevokedNow).toThrow('closed')
  await expect(replica.lookup(key('a'))).rejects.toThrow('closed')
})
