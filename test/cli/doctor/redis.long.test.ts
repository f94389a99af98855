import { Redis } from 'ioredis'
import { createRedisStore } from 'tokenlib/redis'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { createServerClock } from '../../faults/replica/server-clock.js'
import { describeWithOwnServer } from '../../helpers/servers/describe-with-servers.js'
import type { RunningServer } from '../../helpers/servers/server-process.js'
import { startRedis } from '../../helpers/servers/start-redis.js'
import { type DoctorRun, runDoctor } from './run-doctor.js'

const PASSWORD = 'hunter2-of-redis'

describeWithOwnServer('redis', 'doctor and a Redis server', () => {
  let server: RunningServer
  let admin: Redis

  const check = (url = server.url, ...args: string[]): Promise<DoctorRun> =>
    runDoctor(['--json', '--store', url, ...args])

  beforeAll(async () => {
    server = await startRedis({
      requirepass: PASSWORD,
      appendfsync: 'always',
      'repl-diskless-sync-delay': '0',
    })
    admin = new Redis(server.url)
  })
  beforeEach(async () => {
    await admin.flushall()
    await createRedisStore(admin).prepare({ longestLifetime: 60_000 })
  })
  afterAll(async () => {
    admin.disconnect()
    await server.stop()
  })

  async function configure(settings: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, value] of Object.entries(settings)) {
      const [, before] = (await admin.config('GET', name)) as [string, string]
      await admin.config('SET', name, value)
      onTestFinished(async () => void (await admin.config('SET', name, before)))
    }
  }

  async function createUser(...rules: string[]): Promise<string> {
    await admin.call('ACL', ['SETUSER', 'app', 'reset', 'on', '>app-password', ...rules])
    return server.url.replace(`:${PASSWORD}@`, 'app:app-password@')
  }

  test('that is set up well has nothing to fix, and nothing is written', async () => {
    const before = await admin.call('DEBUG', ['DIGEST']).catch(() => null)
    const { exitCode, document, levels, output } = await check()
    expect(document.findings.filter(({ level }) => level === 'error')).toEqual([])
    expect(exitCode).toBe(0)
    expect(levels).toMatchObject({
      'redis-persistence': 'ok',
      'redis-fsync': 'ok',
      'redis-eviction': 'ok',
      'redis-memory': 'ok',
      'redis-disk': 'ok',
      'redis-role': 'ok',
      'redis-version': 'ok',
      'redis-password': 'ok',
      'redis-channel': 'ok',
      'store-accepted': 'ok',
      'store-writable': 'ok',
      'store-history': 'ok',
      'store-latency': 'ok',
      'store-clock': 'ok',
      'store-tls': 'ok',
    })
    expect(levels['store-missing']).toBeUndefined()
    expect(document.store).toMatchObject({ kind: 'redis', latency: { samples: 20 } })
    expect(output).not.toContain(PASSWORD)
    expect(await admin.call('DEBUG', ['DIGEST']).catch(() => null)).toEqual(before)
  })

  test.each([
    ['redis-persistence', 'error', { appendonly: 'no' }],
    ['redis-fsync', 'note', { appendfsync: 'everysec' }],
    ['redis-fsync', 'warning', { appendfsync: 'no' }],
    ['redis-eviction', 'error', { maxmemory: '100mb', 'maxmemory-policy': 'volatile-ttl' }],
    ['redis-eviction', 'warning', { 'maxmemory-policy': 'allkeys-lru' }],
    ['redis-memory', 'error', { maxmemory: '1' }],
  ])('%s is found as %s with %o', async (id, level, settings) => {
    await configure(settings)
    const { levels, exitCode } = await check()
    expect(levels[id]).toBe(level)
    expect(exitCode).toBe(level === 'error' ? 1 : 0)
  })

  test('a setting that the store rejects is reported once', async () => {
    await configure({ appendonly: 'no' })
    const { document } = await check()
    expect(document.findings.filter(({ level }) => level === 'error').map(({ id }) => id)).toEqual([
      'redis-persistence',
    ])
  })

  test('data of a newer release is an error, as it is for the store', async () => {
    const [meta = ''] = await admin.keys('*:meta')
    await admin.hset(meta, { version: 2 })
    const { exitCode, levels } = await check()
    expect(levels).toMatchObject({ 'store-accepted': 'error' })
    expect(exitCode).toBe(1)
  })

  test('a namespace that nobody has used is a note, and stays empty; one in parts is an error', async () => {
    expect((await check(server.url, '--namespace', 'other')).levels['store-history']).toBe('note')
    expect(await admin.keys('{tokenlib:other}*')).toEqual([])
    await admin.del('{tokenlib:tokenlib}:log')
    expect((await check()).levels['store-history']).toBe('error')
    expect(await admin.exists('{tokenlib:tokenlib}:r:a:')).toBe(0)
  })

  test('a user with the documented rights has nothing to fix', async () => {
    const url = await createUser('~{tokenlib:*', '&{tokenlib:*', '+@all', '-@dangerous', '+info')
    const { levels, exitCode } = await check(url)
    expect(levels).toMatchObject({ 'store-writable': 'ok', 'redis-channel': 'ok', 'store-latency': 'ok' })
    // What it could not look at is said, and is not taken for fine.
    expect(levels['redis-fsync']).toBe('note')
    expect(exitCode).toBe(0)
  })

  test('a user without INFO and CONFIG gets notes instead of a crash', async () => {
    const { levels, exitCode } = await check(
      await createUser('~{tokenlib:*', '&*', '+@all', '-info', '-config'),
    )
    expect(levels).toMatchObject({
      'redis-version': 'note',
      'redis-persistence': 'note',
      'redis-fsync': 'note',
      'redis-eviction': 'note',
    })
    expect(exitCode).toBe(0)
  })

  test.each([
    ['store-writable', ['~{tokenlib:*', '&*', '+@all', '-zadd', '-rpush'], /ZADD and RPUSH|RPUSH and ZADD/],
    ['store-writable', ['~{tokenlib:*', '&*', '+@read', '+@connection', '+info'], /may not|refuses/],
    ['store-writable', ['~other:*', '&*', '+@all'], /may not|refuses/],
    ['redis-channel', ['~{tokenlib:*', 'resetchannels', '+@all'], /publish/],
  ])('%s is found for a user with %o', async (id, rules, title) => {
    const { find, levels } = await check(await createUser(...rules))
    expect(levels[id]).toBe(id === 'store-writable' ? 'error' : 'warning')
    expect(find(id)?.title).toMatch(title)
  })

  test('a replica is an error that names the primary, and its primary has a note', async () => {
    const replica = await startRedis({
      replicaof: `127.0.0.1 ${server.port}`,
      masterauth: PASSWORD,
      requirepass: PASSWORD,
    })
    onTestFinished(() => replica.stop())
    const client = new Redis(replica.url)
    while (!(await client.info('replication')).includes('master_link_status:up')) await client.ping()
    client.disconnect()
    const { find, exitCode } = await check(replica.url)
    expect(find('redis-role')).toMatchObject({ level: 'error' })
    expect(find('redis-role')?.fix).toContain(`127.0.0.1:${server.port}`)
    expect(exitCode).toBe(1)
    expect((await check()).levels['redis-failover']).toBe('note')
  })

  test('a server without a password is a note on this machine', async () => {
    const open = await startRedis()
    onTestFinished(() => open.stop())
    expect((await check(open.url)).levels['redis-password']).toBe('note')
  })

  test('a clock that is ahead or behind is found', async ({ skip }) => {
    const clock = createServerClock()
    if (clock === null) return skip('there is no C compiler')
    onTestFinished(() => clock.remove())
    const wrong = await startRedis({}, clock.environment)
    onTestFinished(() => wrong.stop())
    expect((await check(wrong.url)).levels['store-clock']).toBe('ok')
    clock.set(20)
    expect((await check(wrong.url)).find('store-clock')).toMatchObject({ level: 'warning' })
    clock.set(-3600)
    const { find, document } = await check(wrong.url)
    expect(find('store-clock')).toMatchObject({ level: 'error' })
    expect(find('store-clock')?.title).toContain('behind')
    expect(document.store?.clock?.differenceMs).toBeLessThan(-3_590_000)
  })

  test('a replica of a process becomes fresh and is woken, without a change of the data', async () => {
    const store = createRedisStore(admin)
    await store.prepare({ longestLifetime: 60_000 })
    await store.revoke([
      { kind: 'token', id: 'a', notBefore: Number.MAX_SAFE_INTEGER, until: 4_102_444_800_000 },
    ])
    const before = (await admin.keys('*')).toSorted()
    const { levels, document, errors } = await check(server.url, '--replica')
    expect(levels).toMatchObject({ 'replica-fresh': 'ok', 'replica-wakeups': 'ok', 'replica-memory': 'ok' })
    expect(document.replica).toMatchObject({ entries: 1, isWoken: true })
    expect(errors).toContain('replica')
    expect((await admin.keys('*')).toSorted()).toEqual(before)
  })

  test('a replica of an empty namespace is not opened, which would create it', async () => {
    const { levels } = await check(server.url, '--replica', '--namespace', 'other')
    expect(levels['replica-fresh']).toBe('note')
    expect(await admin.keys('{tokenlib:other}*')).toEqual([])
  })

  test('a user who may not subscribe is told that nothing wakes a replica', async () => {
    const url = await createUser('~{tokenlib:*', 'resetchannels', '+@all')
    expect((await check(url, '--replica')).levels['replica-wakeups']).toBe('warning')
  })

  test('a server that is gone is an error, in addition to what is wrong with the configuration', async () => {
    const gone = await startRedis({ requirepass: PASSWORD })
    await gone.stop()
    const { exitCode, find, levels, output } = await runDoctor(['--json', '--store', gone.url], {
      JWT_SECRET_KEY: 'secret',
    })
    expect(exitCode).toBe(3)
    expect(find('store-reachable')).toMatchObject({ level: 'error' })
    expect(levels['secret-strength']).toBe('error')
    expect(output).not.toContain(PASSWORD)
  })

  test('a wrong password is an error without the password in it', async () => {
    const { exitCode, output } = await check(server.url.replace(PASSWORD, 'not-the-password'))
    expect(exitCode).toBe(3)
    expect(output).not.toContain('not-the-password')
  })
})
