import { deepEqual, equal, ok } from 'node:assert/strict'
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { storeContract } from '@tokenlib/contracts'
import { openToken } from '../helpers/manager.js'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { startWorkerd, type WorkerProgram } from '../helpers/servers/start-workerd.js'
import { WORKERS } from './durable-objects/workers.js'

interface Failure {
  readonly code: string
  readonly message: string
  readonly stack: string
}

interface Answer {
  readonly value?: unknown
  readonly error?: Failure
}

interface Pair {
  readonly accessToken: string
  readonly refreshToken: string
}

describeWithOwnServer('workerd', 'Durable Objects', () => {
  let server: RunningServer
  beforeAll(async () => void (server = await startWorkerd(WORKERS)), 60_000)
  afterAll(() => server.stop())

  const send = async (path: string, body = '', headers = {}): Promise<Answer> => {
    const response = await fetch(`${server.url}/${path}`, { method: 'POST', body, headers })
    return (await response.json()) as Answer
  }
  const run = async <Value>(path: string, body = '', headers = {}): Promise<Value> => {
    const { value, error } = await send(path, body, headers)
    if (error !== undefined) throw new Error(`${error.message}\n${error.stack}`)
    return value as Value
  }
  const codeOf = async (path: string, body = '', headers = {}): Promise<string | undefined> =>
    (await send(path, body, headers)).error?.code

  describe('the contract, in workerd', () => {
    // The titles here and the tests there come from the same function, in the same order.
    const titles: string[] = []
    storeContract(
      'Durable Objects',
      {
        open: () => Promise.reject(new Error('Opened in workerd')),
        isShared: true,
        limitsSessions: true,
        keepsData: true,
        spends: true,
        wipe: async () => {},
        count: async () => 0,
      },
      {
        describe: (_name, declare) => declare(),
        test: (title) => titles.push(title),
        beforeAll: () => {},
        afterAll: () => {},
      },
    )
    test('has the tests that are expected', async () => {
      deepEqual(await run('titles'), titles)
      ok(titles.length > 90)
    })
    test.each(titles.map((title, at) => [title, at] as const))('%s', async (_title, at) => {
      deepEqual((await send('contract', String(at))).error, undefined)
    })
  })

  test('a manager at module level logs in, checks and logs out', async () => {
    const { accessToken } = await run<Pair>('login', 'ada')
    equal(await run('check', accessToken), 'ada')
    await run('logout', accessToken)
    equal(await codeOf('check', accessToken), 'TOKEN_REVOKED')
  })

  test('a logout in one isolate is known in the next one, both ways', async () => {
    const other = { 'x-other': '1' }
    for (const [here, there] of [
      [{}, other],
      [other, {}],
    ]) {
      const { accessToken } = await run<Pair>('login', 'ada', here)
      equal(await run('check', accessToken, there), 'ada')
      await run('logout', accessToken, here)
      equal(await codeOf('check', accessToken, there), 'TOKEN_REVOKED')
    }
  })

  test('a manager that was created for one request knows the same', async () => {
    const { accessToken } = await run<Pair>('login/own', 'ada')
    equal(await run('check/own', accessToken), 'ada')
    await run('logout', accessToken)
    equal(await codeOf('check/own', accessToken), 'TOKEN_REVOKED')
  })

  test('a refresh token that is used many times at once moves its session on once', async () => {
    const { refreshToken } = await run<Pair>('login', 'ada')
    const together = await Promise.all([
      run<string[]>('refresh-together/eager', refreshToken),
      run<string[]>('refresh-together/eager', refreshToken, { 'x-other': '1' }),
    ])
    deepEqual(new Set(together.flat()), new Set(['fulfilled']))
    const second = await run<Pair>('refresh/eager', refreshToken)
    const third = await run<Pair>('refresh/eager', second.refreshToken)
    deepEqual(
      [second, third].map((pair) => openToken(pair.refreshToken).claims['gen']),
      [2, 3],
    )
    equal(await codeOf('refresh/eager', refreshToken), 'REFRESH_TOKEN_REUSED')
  })

  test('what was revoked is refused after workerd was killed', async () => {
    const kept = await run<Pair>('login', 'ada')
    const revoked = await run<Pair>('login', 'ada')
    await run('logout', revoked.accessToken)
    await server.kill()
    await server.restart()
    // The first requests of a new isolate, together: one of them prepares the store for all.
    const together = Array.from({ length: 10 }, () => run('check', kept.accessToken))
    deepEqual(new Set(await Promise.all(together)), new Set(['ada']))
    equal(await codeOf('check', revoked.accessToken), 'TOKEN_REVOKED')
    equal(await run('check', kept.accessToken), 'ada')
    ok(await run('refresh', kept.refreshToken))
  })

  test('a token that is created before the first call leaves nothing behind that others wait for', async () => {
    await server.kill()
    await server.restart()
    const token = await run<string>('issue', 'ada')
    equal(await run('check', token), 'ada')
  })

  test('data of an earlier moment revokes everything from before, once for all isolates', async () => {
    const other = { 'x-other': '1' }
    const { accessToken } = await run<Pair>('login/test', 'ada')
    equal(await run('check/test', accessToken, other), 'ada')
    await run('accident', '/save')
    const later = await run<Pair>('login/test', 'ada')
    await run('logout/test', later.accessToken)
    equal(await codeOf('check/test', later.accessToken, other), 'TOKEN_REVOKED')
    // The other isolate has seen one revocation more than the one that finds out first.
    const last = await run<Pair>('login/test', 'ada', other)
    await run('logout/test', last.accessToken, other)
    await run('accident', '/put-back')
    equal(await codeOf('check/test', accessToken), 'TOKEN_REVOKED')
    const [found] = await run<number[]>('losses')
    ok(found !== undefined)
    // Logged in between the two isolates' finding out.
    const next = await run<Pair>('login/test', 'ada')
    equal(await codeOf('check/test', later.accessToken, other), 'TOKEN_REVOKED')
    deepEqual(await run('losses', '', other), [found])
    equal(await run('check/test', next.accessToken, other), 'ada')
    equal(await run('check/test', next.accessToken), 'ada')
  })

  test('a check and a refresh survive a restart of the object, as every deployment causes', async () => {
    const { accessToken, refreshToken } = await run<Pair>('login/test', 'ada')
    await run('accident', '/reset?by=lookup')
    equal(await run('check/test', accessToken), 'ada')
    await run('accident', '/reset?by=rotate')
    ok(await run('refresh/test', refreshToken))
  })

  test.each([
    ['no binding', 'MISSING'],
    ['a text', 'SECRET'],
    ['a Worker', 'OTHER'],
    ['another class', 'OTHER_CLASS'],
    ['a class without SQLite storage', 'WITHOUT_SQLITE'],
  ])('%s instead of the namespace is refused', async (_, binding) => {
    equal(await codeOf('prepare', binding), 'CONFIGURATION_INVALID')
  })

  test('a request that the application passes on is not a call, no matter who has made it', async () => {
    const { accessToken } = await run<Pair>('login', 'passed-on')
    // A client chooses its host, but no `cf`.
    const status = await new Promise((resolve, reject) => {
      const headers = { host: 'tokenlib.invalid', cf: '{"tokenlib":"call"}' }
      request(`${server.url}/store`, { method: 'POST', headers }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
        .on('error', reject)
        .end('{}')
    })
    equal(status, 404)
    for (const mark of [{}, { tokenlib: 'call' }, { tokenlib: 'call', object: 'tokenlib' }]) {
      equal(await run('forge', JSON.stringify(mark)), 404)
    }
    await run('check', accessToken)
  })

  test('a replica is refused, because nothing runs between requests', async () => {
    expect(await codeOf('replicate')).toBe('CONFIGURATION_INVALID')
  })
})

describeWithOwnServer('workerd', 'Durable Objects with timers that are numbers', () => {
  let server: RunningServer
  beforeAll(async () => {
    const compatibilityDate = '2024-11-01'
    const [main, other] = [WORKERS['main'], WORKERS['other']] as [WorkerProgram, WorkerProgram]
    server = await startWorkerd({
      main: { ...main, compatibilityDate },
      other: { ...other, compatibilityDate },
    })
  }, 60_000)
  afterAll(() => server.stop())

  test('a manager logs in, checks and logs out', async () => {
    const send = async (path: string, body: string): Promise<Answer> => {
      const response = await fetch(`${server.url}/${path}`, { method: 'POST', body })
      return (await response.json()) as Answer
    }
    const { accessToken } = (await send('login', 'ada')).value as Pair
    equal((await send('check', accessToken)).value, 'ada')
    await send('logout', accessToken)
    equal((await send('check', accessToken)).error?.code, 'TOKEN_REVOKED')
  })
})
