import type { Redis } from 'ioredis'
import { createRedisStore } from 'tokenlib/redis'
import { expect, test } from 'vitest'
import { FOREVER } from '../../packages/tokenlib/src/revocation/revocation.js'
import type { RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import { SWEEP } from '../../packages/tokenlib/src/stores/redis/revocation-scripts.js'
import { firstToken } from '../../packages/contracts/src/store-fixture.js'
import { systemClock } from '../../packages/tokenlib/src/time.js'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import { ALL, HOUR, LIST, RULES, session, start, token } from './redis-fixture.js'

const EVERYTHING = { ...ALL, notBefore: 0, until: 0 }
/** More than one script looks at. */
const MANY = 3000

/** A store whose clock can be ahead, and whose scripts can be counted, held up and cut off. */
async function open(client: Redis) {
  let ahead = 0
  let sweeps = 0
  let beforeSweep = async (_count: number): Promise<void> => undefined
  const watched = {
    async call(command: string, args: string[]) {
      if (args[0] === SWEEP.digest) await beforeSweep(++sweeps)
      return client.call(command, ...args)
    },
  }
  const store = createRedisStore(watched, {
    clock: () => systemClock() + ahead,
    onWarning: () => undefined,
  })
  await store.prepare({ longestLifetime: HOUR })
  return {
    store: store as Required<RevocationStore>,
    setAhead: (milliseconds: number) => void (ahead = milliseconds),
    onSweep: (run: typeof beforeSweep) => void (beforeSweep = run),
    countSweeps: async (run: () => Promise<unknown>): Promise<number> => {
      const before = sweeps
      await run()
      return sweeps - before
    },
  }
}

type Opened = Awaited<ReturnType<typeof open>>

async function openAhead({ store, setAhead }: Opened, count: number): Promise<string[]> {
  setAhead(5 * HOUR)
  const opened = await Promise.all(
    Array.from({ length: count }, (_, at) => store.sessions.open(session(`user${at % 7}`))),
  )
  setAhead(0)
  return opened.map(({ sid }) => sid)
}

async function rotate({ sessions }: Required<RevocationStore>, sid: string): Promise<string> {
  return (await sessions.rotate(sid, firstToken(sid), RULES)).outcome
}

async function countRevoked(
  { store }: { readonly store: Pick<RevocationStore, 'lookup'> },
  sids: readonly string[],
): Promise<number> {
  const found = await store.lookup(sids.map((id) => ({ kind: 'session', id })))
  return found.filter((notBefore) => notBefore === FOREVER).length
}

describeWithOwnServer('redis', 'Sessions that a Redis store opened by a clock that was far ahead', () => {
  test('are revoked by a walk through the keys, and only once', async () => {
    const { client } = await start()
    const opened = await open(client)
    const { store, countSweeps } = opened
    expect(await countSweeps(() => store.revoke([EVERYTHING]))).toBe(0)
    const sids = await openAhead(opened, MANY)
    expect(await countSweeps(() => store.revoke([EVERYTHING]))).toBeGreaterThan(1)
    expect(await countRevoked(opened, sids)).toBe(MANY)
    expect(await countSweeps(() => store.revoke([EVERYTHING]))).toBe(0)
    expect(await client.keys('{tokenlib:tokenlib}:[su]:*')).toEqual([])
  })

  test('of a user are revoked without that walk', async () => {
    const { client } = await start()
    const opened = await open(client)
    const sids = await openAhead(opened, 70)
    const revoke = () => opened.store.revoke([{ kind: 'user', id: 'user3', notBefore: 0, until: 0 }])
    expect(await opened.countSweeps(revoke)).toBe(0)
    expect(await countRevoked(opened, sids)).toBe(10)
    expect(await opened.store.sessions.list('user3', LIST)).toEqual([])
    expect(await opened.store.sessions.list('user4', LIST)).toHaveLength(10)
  })

  test('of a user are revoked even if the newest start is not known', async () => {
    const { client } = await start()
    const opened = await open(client)
    const sids = await openAhead(opened, 7)
    await client.hdel('{tokenlib:tokenlib}:meta', 'newest')
    await opened.store.revoke([{ kind: 'user', id: 'user3', notBefore: 0, until: 0 }])
    expect(await countRevoked(opened, sids)).toBe(1)
  })

  for (const kind of ['user', 'all'] as const) {
    test(`and that had ended by that clock are kept, and revoked by ${kind}`, async () => {
      const { client } = await start()
      const opened = await open(client)
      const { store } = opened
      opened.setAhead(3 * HOUR)
      const until = systemClock() + HOUR
      const { sid } = await store.sessions.open({ ...session(), expiresAt: until, until })
      for (const name of [`s:${sid}`, 'u:ada']) {
        expect(await client.pttl(`{tokenlib:tokenlib}:${name}`)).toBeGreaterThan(HOUR / 2)
      }
      opened.setAhead(0)
      await store.revoke([{ kind, id: kind === 'user' ? 'ada' : '', notBefore: 0, until: 0 }])
      expect(await countRevoked(opened, [sid])).toBe(1)
    })
  }

  test('and that had ended by that clock stay revoked when it is set back', async () => {
    const { client } = await start()
    const { store, setAhead } = await open(client)
    setAhead(3 * HOUR)
    const until = systemClock() + HOUR
    const { sid } = await store.sessions.open({ ...session(), expiresAt: until, until })
    await store.revoke([{ kind: 'session', id: sid, notBefore: FOREVER, until }])
    expect(await client.pttl(`{tokenlib:tokenlib}:r:s:${sid}`)).toBeGreaterThan(HOUR / 2)
  })

  test('are told from logins that come during the walk', async () => {
    const { client } = await start()
    const opened = await open(client)
    const { store, onSweep } = opened
    const sids = await openAhead(opened, MANY)
    const later: string[] = []
    onSweep(async () => void later.push((await store.sessions.open(session('grace'))).sid))
    await store.revoke([EVERYTHING])
    expect(await countRevoked(opened, sids)).toBe(MANY)
    expect(later.length).toBeGreaterThan(1)
    expect(await countRevoked(opened, later)).toBe(0)
    for (const sid of later) expect(await rotate(store, sid)).toBe('advanced')
    // Those logins started later than the watermark, so the next one reaches them.
    await store.revoke([EVERYTHING])
    for (const sid of later) expect(await rotate(store, sid)).toBe('ended')
  })

  test('are revoked by a repeat, when the walk was cut short', async () => {
    const { client } = await start()
    const opened = await open(client)
    const { store, onSweep, countSweeps } = opened
    const sids = await openAhead(opened, MANY)
    onSweep(async (count) => {
      if (count === 2) throw new Error('connection lost')
    })
    await expect(store.revoke([EVERYTHING])).rejects.toThrow('connection lost')
    expect(await countRevoked(opened, sids)).toBeLessThan(MANY)
    // Another user's watermark in between changes nothing about that.
    await store.revoke([{ kind: 'user', id: 'grace', notBefore: 0, until: 0 }])
    expect(await countSweeps(() => store.revoke([EVERYTHING]))).toBeGreaterThan(1)
    expect(await countRevoked(opened, sids)).toBe(MANY)
    expect(await countSweeps(() => store.revoke([EVERYTHING]))).toBe(0)
  })

  test('are revoked by one walk, however often it is repeated', async () => {
    const { client } = await start()
    const [opened, other] = [await open(client), await open(client)]
    const { store, setAhead, onSweep, countSweeps } = opened
    const sids = await openAhead(opened, MANY)
    const repeats: Promise<unknown>[] = []
    const later: string[] = []
    onSweep(async () => {
      // A repeat in the same millisecond as a login does not reach it, and begins a walk of its own.
      setAhead(repeats.length + 1)
      repeats.push(store.revoke([EVERYTHING]))
      later.push((await store.sessions.open(session('grace'))).sid)
    })
    const sweeps = await countSweeps(() => store.revoke([EVERYTHING]))
    onSweep(async () => undefined)
    expect(await countSweeps(() => Promise.all(repeats))).toBe(0)
    expect(sweeps).toBeLessThan(MANY / 100)
    expect(await countRevoked(opened, sids)).toBe(MANY)
    expect(await countRevoked(opened, later)).toBe(0)
    // What was opened after the last repeat is still good.
    expect(await rotate(store, String(later.at(-1)))).toBe('advanced')
    expect(await other.countSweeps(() => other.store.revoke([EVERYTHING]))).toBe(0)
  })

  test('are revoked by another walk, when more of them were opened since then', async () => {
    const { client } = await start()
    const opened = await open(client)
    const { store, onSweep, countSweeps } = opened
    const sids = await openAhead(opened, MANY)
    const more: string[] = []
    let repeat: Promise<unknown> | undefined
    onSweep(async (count) => {
      if (count !== 2) return
      more.push(...(await openAhead(opened, 5)))
      repeat = store.revoke([EVERYTHING])
    })
    await store.revoke([EVERYTHING])
    await repeat
    expect(await countRevoked(opened, [...sids, ...more])).toBe(MANY + 5)
    expect(await countSweeps(() => store.revoke([EVERYTHING]))).toBe(0)
  })

  test('are revoked by two processes at once', async () => {
    const { client } = await start()
    const [one, two] = [await open(client), await open(client)]
    const sids = await openAhead(one, MANY)
    await Promise.all([one.store.revoke([EVERYTHING]), two.store.revoke([EVERYTHING])])
    expect(await countRevoked(one, sids)).toBe(MANY)
    expect(await one.countSweeps(() => one.store.revoke([EVERYTHING]))).toBe(0)
    expect((await one.store.sessions.open(session())).startedAt).toBeLessThan(systemClock() + 2 * HOUR)
  })

  test('are revoked from the start again, when the server restarted during the walk', async () => {
    const { server, client } = await start({ appendonly: 'yes', appendfsync: 'always' })
    const opened = await open(client)
    const { store, onSweep, countSweeps } = opened
    const sids = await openAhead(opened, MANY)
    const keys = await client.dbsize()
    onSweep(async (count) => {
      if (count !== 3) return
      // From then on the keys are elsewhere in the tables of the server.
      await server.kill('SIGKILL')
      await server.restart()
    })
    const walk = await countSweeps(() => store.revoke([EVERYTHING]))
    expect(walk).toBeGreaterThan(Math.ceil(keys / 1024))
    expect(await countRevoked(opened, sids)).toBe(MANY)
  })

  test('are revoked with everything else after a loss that left them', async () => {
    const { client } = await start()
    const opened = await open(client)
    const sids = await openAhead(opened, MANY)
    await client.del('{tokenlib:tokenlib}:log')
    await opened.store.feed(null, { waitMs: 0 })
    expect(await countRevoked(opened, sids)).toBe(MANY)
    const next = await opened.store.sessions.open(session())
    expect(await rotate(opened.store, next.sid)).toBe('advanced')
  })

  for (const lost of [['meta'], ['meta', 'log']]) {
    for (const kind of ['user', 'all'] as const) {
      test(`are revoked with everything else by ${kind}, after a loss of ${lost.join(' and ')}`, async () => {
        const { client } = await start()
        const opened = await open(client)
        await opened.store.revoke([token('a')])
        const sids = await openAhead(opened, 5)
        await client.del(...lost.map((name) => `{tokenlib:tokenlib}:${name}`))
        await opened.store.revoke([{ kind, id: kind === 'user' ? 'user3' : '', notBefore: 0, until: 0 }])
        expect(await countRevoked(opened, sids)).toBe(5)
        const next = await opened.store.sessions.open(session())
        expect(next.startedAt).toBeLessThan(systemClock() + HOUR / 2)
        expect(await rotate(opened.store, next.sid)).toBe('advanced')
        expect(await opened.countSweeps(() => opened.store.revoke([EVERYTHING]))).toBe(0)
      })
    }
  }

  for (const lost of ['log', 'meta']) {
    for (const by of ['the same process', 'the next process']) {
      test(`are revoked by ${by}, when the walk after a loss of ${lost} was cut short at the start`, async () => {
        const { client } = await start()
        const sids = await openAhead(await open(client), MANY)
        await client.del(`{tokenlib:tokenlib}:${lost}`)
        const warnings: string[] = []
        let sweeps = 0
        const create = () => {
          const call = async (command: string, args: string[]) => {
            if (args[0] === SWEEP.digest && ++sweeps === 2) throw new Error('connection lost')
            return client.call(command, ...args)
          }
          return createRedisStore({ call }, { onWarning: (message) => void warnings.push(message) })
        }
        const first = create()
        await expect(first.prepare({ longestLifetime: HOUR })).rejects.toThrow('connection lost')
        expect(warnings).toHaveLength(0)
        const store = by === 'the same process' ? first : create()
        await store.prepare({ longestLifetime: HOUR })
        expect(warnings).toHaveLength(1)
        expect(await countRevoked({ store }, sids)).toBe(MANY)
        await store.prepare({ longestLifetime: HOUR })
        await create().prepare({ longestLifetime: HOUR })
        expect(warnings).toHaveLength(1)
      })
    }
  }

  test('are revoked and reported, when the last answer of the walk was lost', async () => {
    const { client } = await start()
    const sids = await openAhead(await open(client), 5)
    await client.del('{tokenlib:tokenlib}:log')
    const warnings: string[] = []
    let isCut = false
    const call = async (command: string, args: string[]) => {
      const reply = (await client.call(command, ...args)) as string[]
      // The server does not know the script yet.
      if (args[0] === SWEEP.source && !isCut) {
        isCut = true
        throw new Error('connection lost')
      }
      return reply
    }
    const store = createRedisStore({ call }, { onWarning: (message) => void warnings.push(message) })
    await expect(store.prepare({ longestLifetime: HOUR })).rejects.toThrow('connection lost')
    await store.prepare({ longestLifetime: HOUR })
    expect(await countRevoked({ store }, sids)).toBe(5)
    expect(warnings).toHaveLength(1)
  })

  test('are revoked by the next call, when that was cut short', async () => {
    const { client } = await start()
    const opened = await open(client)
    const sids = await openAhead(opened, MANY)
    await client.del('{tokenlib:tokenlib}:log')
    opened.onSweep(async (count) => {
      if (count === 2) throw new Error('connection lost')
    })
    await expect(opened.store.feed(null, { waitMs: 0 })).rejects.toThrow('connection lost')
    await opened.store.lookup([ALL])
    expect(await countRevoked(opened, sids)).toBe(MANY)
  })
})
