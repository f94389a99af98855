import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { ConfigurationError, type RevocationStore } from '../../packages/tokenlib/src/index.js'
import { createObservers } from '../../packages/tokenlib/src/observer.js'
import { FOREVER, type StoreNeeds } from '../../packages/tokenlib/src/kit.js'
import { createStoreClient } from '../../packages/tokenlib/src/revocation/store-client.js'
import { systemScheduler } from '../../packages/tokenlib/src/time.js'
import { outcomeOf } from '../helpers/revocable.js'

const TIMEOUT = 50
const HOUR = 3_600_000
const never = new Promise<never>(() => {})

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A client of a store whose `prepare` is given; `told` has the lifetimes that the store heard of. */
function createClient(prepare: () => Promise<void> = async () => {}, longestLifetime = 0) {
  const told: number[] = []
  const unavailable: { operation: string; cause: unknown }[] = []
  const store = {
    prepare(needs: { longestLifetime: number }) {
      told.push(needs.longestLifetime)
      return prepare()
    },
  } as unknown as RevocationStore
  const client = createStoreClient(store, {
    timeoutMs: TIMEOUT,
    longestLifetime,
    observers: createObservers(systemScheduler),
    scheduler: systemScheduler,
    emit: (_name, create) => void unavailable.push(create() as never),
  })
  /** How a question ends that the store answers in this way. */
  const ask = (answer: () => unknown, lifetime?: number) =>
    outcomeOf(client.call('lookup', answer as () => Promise<unknown>, lifetime))
  return { client, told, unavailable, ask }
}

test('an announcement that is under way is not begun again, and its failure is told once', async () => {
  let fail: (error: Error) => void = () => {}
  let isFirst = true
  const { client, told, unavailable } = createClient(async () => {
    if (isFirst) return void (isFirst = false)
    await new Promise((_, reject) => (fail = reject))
  })
  await client.ready()
  for (let count = 0; count < 3; count++) client.expect(HOUR)
  await vi.advanceTimersByTimeAsync(0)
  expect(told).toEqual([0, HOUR])
  const cause = new Error('ECONNREFUSED')
  fail(cause)
  await vi.advanceTimersByTimeAsync(0)
  expect(unavailable).toEqual([{ operation: 'prepare', cause }])
})

test('a shorter lifetime that is acknowledged late does not hide that a longer one was not', async () => {
  const attempts: { resolve: () => void; reject: (error: Error) => void }[] = []
  const { client, told, ask } = createClient(() => {
    if (told.length === 1) return Promise.resolve()
    return new Promise((resolve, reject) => void attempts.push({ resolve, reject }))
  })
  await client.ready()
  client.expect(HOUR)
  client.expect(2 * HOUR)
  attempts[0]?.resolve()
  await vi.advanceTimersByTimeAsync(0)
  attempts[1]?.reject(new Error('ECONNREFUSED'))
  await vi.advanceTimersByTimeAsync(1)
  expect(told).toEqual([0, HOUR, 2 * HOUR])
  expect(await ask(() => true)).toBe('ok')
  expect(told).toEqual([0, HOUR, 2 * HOUR, 2 * HOUR])
})

test('a store that stopped answering is not asked for a token, nor while it was not prepared', async () => {
  let asked = 0
  const unavailable: string[] = []
  const store = {
    prepare: async () => {},
    lookup() {
      asked++
      return never
    },
  } as unknown as RevocationStore
  const client = createStoreClient(store, {
    timeoutMs: TIMEOUT,
    longestLifetime: 0,
    observers: createObservers(systemScheduler),
    scheduler: systemScheduler,
    emit: (_name, create) => void unavailable.push((create() as { operation: string }).operation),
  })
  const lookUp = () => outcomeOf((async () => client.lookup([], 0))())
  const first = lookUp()
  await vi.advanceTimersByTimeAsync(TIMEOUT)
  expect([await first, unavailable]).toEqual(['REVOCATION_UNAVAILABLE', ['lookup']])
  await vi.advanceTimersByTimeAsync(1000)
  const late = lookUp()
  await vi.advanceTimersByTimeAsync(TIMEOUT)
  expect(await late).toBe('REVOCATION_UNAVAILABLE')
  const outcomes = Array.from({ length: 300 }, lookUp)
  await vi.advanceTimersByTimeAsync(TIMEOUT)
  expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['REVOCATION_UNAVAILABLE']))
  // One more than the limit: the first one beyond is the first probe.
  expect(asked).toBe(201)
})

describe('questions that nobody answers', () => {
  /** A client with so many questions under way, the first of which is late already. */
  async function createSilent(questions: number) {
    const made = createClient()
    await made.client.ready()
    await vi.advanceTimersByTimeAsync(1000)
    let asked = 0
    const hang = (): Promise<never> => {
      asked++
      return never
    }
    const outcomes = Array.from({ length: questions }, () => made.ask(hang))
    vi.advanceTimersByTime(TIMEOUT)
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['REVOCATION_UNAVAILABLE']))
    const askMore = async (): Promise<boolean> => {
      const before = asked
      const outcome = made.ask(hang)
      await vi.advanceTimersByTimeAsync(0)
      void outcome
      return asked > before
    }
    return { ...made, askMore }
  }

  test('say how long they waited', async () => {
    const { unavailable } = await createSilent(1)
    expect(unavailable).toEqual([
      { operation: 'lookup', cause: expect.objectContaining({ code: 'STORE_TIMEOUT' }) },
    ])
  })

  test('are 200 at most; after that one is let through now and then, more and more rarely', async () => {
    const { askMore, unavailable } = await createSilent(199)
    expect(await askMore()).toBe(true)
    // The first one beyond is the first probe.
    expect(await askMore()).toBe(true)
    expect(await askMore()).toBe(false)
    expect(unavailable.at(-1)).toEqual({
      operation: 'lookup',
      cause: expect.objectContaining({ code: 'STORE_OVERLOADED' }),
    })
    for (const interval of [200, 400, 800, 1000, 1000]) {
      await vi.advanceTimersByTimeAsync(interval - 1)
      expect(await askMore(), `${interval - 1} ms`).toBe(false)
      await vi.advanceTimersByTimeAsync(1)
      expect(await askMore(), `${interval} ms`).toBe(true)
    }
  })

  test('are forgotten after a minute, and then there is room again', async () => {
    const { askMore } = await createSilent(200)
    await askMore()
    expect(await askMore()).toBe(false)
    vi.advanceTimersByTime(60_000)
    for (let count = 0; count < 5; count++) expect(await askMore()).toBe(true)
  })

  test('are no bound any more once one is answered, at once or later', async () => {
    for (const answer of [() => 1, async () => 1, () => Promise.reject(new Error('no'))]) {
      const { ask, askMore } = await createSilent(200)
      await askMore()
      expect(await askMore()).toBe(false)
      await vi.advanceTimersByTimeAsync(200)
      await ask(answer)
      for (let count = 0; count < 5; count++) expect(await askMore()).toBe(true)
    }
  })

  test('are no sign of silence while others are answered', async () => {
    const { client, ask } = createClient()
    await client.ready()
    let asked = 0
    const hang = (): Promise<never> => {
      asked++
      return never
    }
    await vi.advanceTimersByTimeAsync(1000)
    for (let count = 0; count < 201; count++) void ask(hang)
    expect(await ask(async () => 1)).toBe('ok')
    vi.advanceTimersByTime(TIMEOUT)
    for (let count = 0; count < 3; count++) void ask(hang)
    expect(asked).toBe(204)
  })

  test('may be ten thousand while the store has not been late', async () => {
    const { client, ask } = createClient()
    await client.ready()
    // Answered ones do not count, nor does one that is answered after it was given up.
    for (let count = 0; count < 3; count++) expect(await ask(async () => 1)).toBe('ok')
    let answerLost: () => void = () => {}
    void ask(() => new Promise<void>((resolve) => (answerLost = resolve)))
    await vi.advanceTimersByTimeAsync(TIMEOUT + 60_000)
    answerLost()
    await vi.advanceTimersByTimeAsync(1000)
    let asked = 0
    const hang = (): Promise<never> => {
      asked++
      return never
    }
    for (let count = 0; count < 10_002; count++) void ask(hang)
    // The last one is refused, the one before is let through to see whether the store is there.
    expect(asked).toBe(10_001)
  })
})

describe('what the store is told of lifetimes', () => {
  test('only ever longer ones, in whole hours', async () => {
    const { client, told, ask } = createClient(undefined, HOUR)
    await client.ready()
    expect(await ask(() => 1, HOUR)).toBe('ok')
    expect(await ask(() => 1, HOUR + 1)).toBe('ok')
    expect(await ask(() => 1, 2 * HOUR)).toBe('ok')
    client.expect(2 * HOUR)
    client.expect(2 * HOUR + 1)
    client.expect(FOREVER)
    await vi.advanceTimersByTimeAsync(0)
    expect(told).toEqual([HOUR, 2 * HOUR, 3 * HOUR, FOREVER])
    expect(client.lifetimes.longest).toBe(FOREVER)
  })

  test('once, where its start covers them', async () => {
    const { client, told, ask } = createClient(undefined, HOUR / 2)
    client.expect(HOUR / 2)
    expect(told).toEqual([HOUR / 2])
    expect(await ask(() => 1, HOUR / 2)).toBe('ok')
    client.expect(HOUR / 2)
    expect(told).toEqual([HOUR / 2])
    expect(client.lifetimes.prepared).toBe(HOUR / 2)
  })

  test('before the first question, also where no token is concerned', async () => {
    const { told, ask } = createClient(undefined, HOUR)
    expect(await ask(() => [...told])).toBe('ok')
    expect(told).toEqual([HOUR])
  })

  test('a longer one while a shorter one is under way, and each once', async () => {
    const finish: (() => void)[] = []
    const { told, ask } = createClient(() => new Promise((resolve) => finish.push(resolve)), HOUR)
    const short = ask(() => 1)
    const long = ask(() => 1, 2 * HOUR)
    expect(told).toEqual([HOUR, 2 * HOUR])
    finish[0]?.()
    expect(await short).toBe('ok')
    const another = ask(() => 1, 2 * HOUR)
    expect(told).toEqual([HOUR, 2 * HOUR])
    finish[1]?.()
    expect(await Promise.all([long, another])).toEqual(['ok', 'ok'])
  })

  test('one that it does not take is told to anyone who listens', async () => {
    const { client, unavailable } = createClient(() => Promise.reject(new Error('gone')))
    client.expect(HOUR)
    await vi.advanceTimersByTimeAsync(0)
    expect(unavailable).toEqual([{ operation: 'prepare', cause: new Error('gone') }])
  })

  describe('one that it did not take', () => {
    /** A client whose store was prepared once, and takes no longer lifetime until `mend` is called. */
    async function createDeaf(fail: () => Promise<void> = () => Promise.reject(new Error('gone'))) {
      let isBroken = false
      const made = createClient(() => (isBroken ? fail() : Promise.resolve()), HOUR)
      await made.client.ready()
      isBroken = true
      made.client.expect(2 * HOUR)
      await vi.advanceTimersByTimeAsync(TIMEOUT)
      expect(made.told).toEqual([HOUR, 2 * HOUR])
      await vi.advanceTimersByTimeAsync(1000)
      return { ...made, mend: () => void (isBroken = false) }
    }

    test('is told again when a token that lives as long is made', async () => {
      const { client, told, mend } = await createDeaf()
      mend()
      client.expect(2 * HOUR)
      await vi.advanceTimersByTimeAsync(0)
      client.expect(2 * HOUR)
      expect(told).toEqual([HOUR, 2 * HOUR, 2 * HOUR])
    })

    test('is told again by itself, in a process that asks nothing and makes no such token any more', async () => {
      const { told, mend } = await createDeaf()
      mend()
      await vi.advanceTimersByTimeAsync(10_000)
      expect(told).toEqual([HOUR, 2 * HOUR, 2 * HOUR])
      await vi.advanceTimersByTimeAsync(100_000)
      expect(told).toHaveLength(3)
    })

    test.each([
      ['at once', () => 1],
      ['later', async () => 1],
    ])('is told again after the next question that is answered %s', async (_when, answer) => {
      const { told, mend, ask } = await createDeaf()
      mend()
      expect(await ask(answer)).toBe('ok')
      await vi.advanceTimersByTimeAsync(0)
      expect(told).toEqual([HOUR, 2 * HOUR, 2 * HOUR])
      expect(await ask(answer)).toBe('ok')
      await vi.advanceTimersByTimeAsync(10_000)
      expect(told).toHaveLength(3)
    })

    test('is not told again after a question that fails', async () => {
      const { told, ask } = await createDeaf()
      expect(await ask(() => Promise.reject(new Error('gone')))).toBe('REVOCATION_UNAVAILABLE')
      expect(told).toHaveLength(2)
    })

    test.each([
      ['fails', undefined],
      ['hangs', () => never],
    ])('is not told with every token and answer while it %s', async (_how, fail) => {
      const { client, told, ask } = await createDeaf(fail)
      const before = told.length
      for (let second = 0; second < 60; second++) {
        for (let count = 0; count < 20; count++) {
          client.expect(2 * HOUR)
          await ask(() => 1)
        }
        await vi.advanceTimersByTimeAsync(1000)
      }
      expect(told.length - before).toBeGreaterThan(5)
      expect(told.length - before).toBeLessThan(20)
    })
  })

  test('also whom to tell of lost data, the same listener each time', async () => {
    const given: StoreNeeds[] = []
    const events: unknown[] = []
    const store = {
      prepare: async (needs: StoreNeeds) => void given.push(needs),
    } as unknown as RevocationStore
    const client = createStoreClient(store, {
      timeoutMs: TIMEOUT,
      longestLifetime: HOUR,
      observers: createObservers(systemScheduler),
      scheduler: systemScheduler,
      emit: (name, create) => void events.push([name, create()]),
    })
    await client.ready()
    client.expect(2 * HOUR)
    expect(given.map(({ longestLifetime }) => longestLifetime)).toEqual([HOUR, 2 * HOUR])
    expect(given[1]?.onLostData).toBe(given[0]?.onLostData)
    given[0]?.onLostData?.({ revokedBefore: 7 })
    expect(events).toEqual([['storeLostData', { revokedBefore: 7 }]])
  })

  test('once, however many wait for it', async () => {
    let finish: () => void = () => {}
    const { told, ask } = createClient(() => new Promise((resolve) => (finish = resolve)), HOUR)
    const outcomes = [ask(() => 1), ask(() => 1)]
    expect(told).toEqual([HOUR])
    finish()
    expect(await Promise.all(outcomes)).toEqual(['ok', 'ok'])
  })

  test('a preparation that comes too late for its question counts for the next', async () => {
    let finish: () => void = () => {}
    const { told, ask } = createClient(() => new Promise((resolve) => (finish = resolve)), HOUR)
    const outcome = ask(() => 1)
    await vi.advanceTimersByTimeAsync(TIMEOUT)
    expect(await outcome).toBe('REVOCATION_UNAVAILABLE')
    finish()
    await vi.advanceTimersByTimeAsync(0)
    expect(await ask(() => 1)).toBe('ok')
    expect(told).toEqual([HOUR])
  })

  test('preparation and answer share one deadline', async () => {
    const slowly = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, TIMEOUT - 10))
    const { ask, unavailable } = createClient(slowly)
    const outcome = ask(slowly)
    await vi.advanceTimersByTimeAsync(TIMEOUT)
    expect(await outcome).toBe('REVOCATION_UNAVAILABLE')
    expect(unavailable).toEqual([
      { operation: 'lookup', cause: expect.objectContaining({ code: 'STORE_TIMEOUT' }) },
    ])
  })
})

test('a mistake of the operator is a warning, once; an outage is none', async () => {
  const warnings: unknown[] = []
  vi.spyOn(process, 'emitWarning').mockImplementation((...given) => void warnings.push(given))
  onTestFinished(() => void vi.restoreAllMocks())
  const outage = createClient(() => Promise.reject(new Error('ECONNREFUSED')))
  expect(await outage.ask(() => [])).toBe('REVOCATION_UNAVAILABLE')
  expect(warnings).toEqual([])
  const mistake = createClient(() => Promise.reject(new ConfigurationError('appendonly is off')))
  for (let count = 0; count < 2; count++) expect(await mistake.ask(() => [])).toBe('REVOCATION_UNAVAILABLE')
  expect(warnings).toEqual([['The revocation store cannot be used: appendonly is off', 'TokenStoreWarning']])
})

describe('ready()', () => {
  test('tries again for five seconds, and then says why', async () => {
    let attempts = 0
    const { client, unavailable } = createClient(() => {
      attempts++
      return Promise.reject(new Error('ECONNREFUSED'))
    })
    const outcome = outcomeOf(client.ready())
    await vi.advanceTimersByTimeAsync(4999)
    expect(attempts).toBe(50)
    expect(unavailable).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(await outcome).toBe('REVOCATION_UNAVAILABLE')
    expect(unavailable).toEqual([{ operation: 'prepare', cause: new Error('ECONNREFUSED') }])
    expect(attempts).toBe(51)
  })

  test('names the whole time that it has waited for a store that never answers', async () => {
    const { client, unavailable } = createClient(() => new Promise<never>(() => undefined))
    const outcome = outcomeOf(client.ready())
    await vi.advanceTimersByTimeAsync(6000)
    expect(await outcome).toBe('REVOCATION_UNAVAILABLE')
    expect(unavailable.map(({ cause }) => String(cause))).toEqual([
      'Error: The store did not answer within 5000 ms. Is its server running, and does its client have the right address?',
    ])
  })

  test('does not wait for a store that says it is not fit', async () => {
    const { client, told } = createClient(() => Promise.reject(new ConfigurationError('appendonly is off')))
    await expect(client.ready()).rejects.toThrow(new ConfigurationError('appendonly is off'))
    expect(told).toHaveLength(1)
  })
})
