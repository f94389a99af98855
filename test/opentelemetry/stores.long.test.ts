import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type RevocationStore, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { instrument } from '../../packages/tokenlib/src/opentelemetry.js'
import { createPostgresStore } from '../../packages/tokenlib/src/stores/postgres.js'
import { createRedisStore } from '../../packages/tokenlib/src/stores/redis.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { PATIENT, SECRET, withBearer } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { describeWithPostgres, describeWithRedis } from '../helpers/servers/describe-with-servers.js'
import { readPoints, startTelemetry, type Telemetry } from './telemetry.js'

let telemetry: Telemetry
beforeEach(async () => {
  telemetry = await startTelemetry()
})
afterEach(() => telemetry.close())

function createTokens(store: RevocationStore): TokenManager {
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT }),
    store,
  })
  const { meterProvider, tracerProvider } = telemetry
  instrument(tokens, { meterProvider, tracerProvider })
  return tokens
}

async function showsCalls(store: RevocationStore, system: string): Promise<void> {
  const tokens = createTokens(store)
  await tokens.ready()
  const tracer = telemetry.tracerProvider.getTracer('application')
  await tracer.startActiveSpan('request', async (span) => {
    const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    await tokens.accessTokenRequired(withBearer(accessToken))
    await tokens.sessions.refresh(refreshToken)
    await tokens.sessions.list('ada')
    await tokens.revoke.user('ada')
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('TOKEN_REVOKED')
    span.end()
  })
  const metrics = await telemetry.flush()
  const call = (operation: string): string => `db.operation.name=${operation} db.system.name=${system}`
  expect(readPoints(metrics, 'tokenlib.store.call.duration')).toEqual({
    [call('prepare')]: 1,
    [call('open')]: 1,
    [call('lookup')]: 4,
    [call('rotate')]: 1,
    [call('list')]: 1,
    [call('revoke')]: 1,
  })
  const { spans } = telemetry.collector
  const request = spans.find(({ name }) => name === 'request')
  const calls = spans.filter(({ name }) => name !== 'request')
  expect(calls).toHaveLength(9)
  for (const { name, kind, isError, parentSpanId, attributes } of calls) {
    expect([kind, isError, attributes['db.system.name']], name).toEqual(['client', false, system])
    if (name !== 'prepare tokenlib') expect(parentSpanId, name).toBe(request?.spanId)
  }
}

async function showsReplica(store: RevocationStore): Promise<void> {
  const replicated = replicate(store)
  const tokens = createTokens(replicated)
  await tokens.ready()
  const { accessToken } = await tokens.sessions.open({ uid: 'grace' })
  for (let at = 0; at < 5; at++) await tokens.accessTokenRequired(withBearer(accessToken))
  const metrics = await telemetry.flush()
  expect(readPoints(metrics, 'tokenlib.replica.fresh')).toEqual({ '': 1 })
  const lookups = Object.keys(readPoints(metrics, 'tokenlib.store.call.duration')).filter((key) =>
    key.includes('lookup'),
  )
  expect(lookups).toEqual([])
  await replicated.close()
}

describeWithRedis('Redis', (url) => {
  const client = new Redis(url)
  afterAll(() => client.quit())
  const create = (): RevocationStore => createRedisStore(client, { namespace: `otel-${process.pid}` })

  test('calls have the names of the conventions', () => showsCalls(create(), 'redis'))
  test('a replica answers without calls', () => showsReplica(create()))

  test('a server that is not there is an error with the code of the network', async () => {
    const gone = new Redis({
      host: '127.0.0.1',
      port: 1,
      lazyConnect: true,
      retryStrategy: () => null,
      maxRetriesPerRequest: 0,
    })
    gone.on('error', () => undefined)
    const tokens = createTokens(createRedisStore(gone))
    const token = tokens.createAccessToken({ uid: 'ada' })
    expect(await outcomeOf(tokens.verify(token))).toBe('REVOCATION_UNAVAILABLE')
    const checks = readPoints(await telemetry.flush(), 'tokenlib.checks')
    expect(Object.keys(checks)).toEqual([
      'error.type=REVOCATION_UNAVAILABLE tokenlib.check.kind=token tokenlib.check.lane=recipe tokenlib.check.outcome=unavailable',
    ])
    const [lookup] = telemetry.collector.spans.filter(({ name }) => name === 'lookup tokenlib')
    expect([lookup?.isError, lookup?.attributes['db.system.name']]).toEqual([true, 'redis'])
    expect(telemetry.collector.texts.join()).not.toContain('127.0.0.1')
    gone.disconnect()
  })

  test('a store that was emptied is counted as a loss of data', async () => {
    const namespace = `otel-lost-${process.pid}`
    const tokens = createTokens(createRedisStore(client, { namespace }))
    await tokens.sessions.open({ uid: 'ada' })
    expect(readPoints(await telemetry.flush(), 'tokenlib.store.data_losses')).toEqual({ '': 0 })
    await client.del(await client.keys(`*${namespace}*`))
    await outcomeOf(tokens.verify(tokens.createAccessToken({ uid: 'ada' })))
    expect(readPoints(await telemetry.flush(), 'tokenlib.store.data_losses')).toEqual({ '': 1 })
  })
})

describeWithPostgres('PostgreSQL', (url) => {
  const pool = new pg.Pool({ connectionString: url })
  beforeAll(() => createPostgresStore(pool).migrate())
  afterAll(() => pool.end())

  test('calls have the names of the conventions', () => showsCalls(createPostgresStore(pool), 'postgresql'))
  test('a replica answers without calls', () => showsReplica(createPostgresStore(pool)))
})
