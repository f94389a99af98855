import { readFileSync } from 'node:fs'
import { context, type Meter, type MeterProvider, SpanKind, trace } from '@opentelemetry/api'
import fastify from 'fastify'
import { Hono } from 'hono'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import * as forFastify from '../../packages/tokenlib/src/frameworks/fastify.js'
import { enforce, handleErrors } from '../../packages/tokenlib/src/frameworks/hono.js'
import type { RevocationStore, TokenManager } from '../../packages/tokenlib/src/index.js'
import { instrument } from '../../packages/tokenlib/src/opentelemetry.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { createClock, createManager, openToken, withBearer } from '../helpers/manager.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'
import { endExercise, exercise, PERSONAL } from './exercise.js'
import { readPoints, startTelemetry, type Telemetry } from './telemetry.js'

const page = readFileSync(new URL('../../docs/opentelemetry.md', import.meta.url), 'utf8')

let telemetry: Telemetry
beforeEach(async () => {
  telemetry = await startTelemetry()
})
afterEach(async () => {
  await endExercise()
  await telemetry.close()
})
const providers = () => ({ meterProvider: telemetry.meterProvider, tracerProvider: telemetry.tracerProvider })

// The stores below have the clock of the machine.
const createNow = () => createClock(Date.now() / 1000)

/** A store that has to be waited for. */
function createAwaitedStore(): RevocationStore {
  const memory = createMemoryStore()
  return { ...memory, lookup: (keys) => memory.lookup(keys) }
}

/** The cells of the rows of the table below a heading. */
function readTable(heading: string): string[][] {
  const section = page.split(`\n${heading}\n`)[1]?.split(/\n#+ /)[0] ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('|'))
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

const codeOf = (cell = ''): string[] => Array.from(cell.matchAll(/`([^`]+)`/g), ([, name]) => name as string)

describe('what arrives at a collector', () => {
  test('is what the table of metrics says: names, kinds, units and attributes', async () => {
    await exercise(providers())
    const received = (await telemetry.flush()).map(({ name, kind, unit, points }) => ({
      name,
      kind,
      unit,
      attributes: [...new Set(points.flatMap(({ attributes }) => Object.keys(attributes)))].toSorted(),
    }))
    const documented = readTable('## Metrics').map(([name, kind, unit, attributes]) => ({
      name: codeOf(name)[0],
      kind,
      unit: codeOf(unit)[0],
      attributes: codeOf(attributes).toSorted(),
    }))
    const byName = (one: { name?: string | undefined }, other: { name?: string | undefined }): number =>
      String(one.name).localeCompare(String(other.name))
    expect(documented.length).toBeGreaterThan(10)
    expect(received.toSorted(byName)).toEqual(documented.toSorted(byName))
  })

  test('has the spans that the table of spans says', async () => {
    await exercise(providers())
    await telemetry.flush()
    const [row = []] = readTable('## Calls of the store')
    const { spans } = telemetry.collector
    expect(spans.length).toBeGreaterThan(5)
    for (const { name, attributes, kind } of spans) {
      expect(name).toBe(codeOf(row[0])[0]?.replace('<operation>', String(attributes['db.operation.name'])))
      expect(codeOf(row[2])).toEqual(expect.arrayContaining(Object.keys(attributes)))
      expect([kind, attributes['db.system.name']]).toEqual(['internal', 'memory'])
    }
    const failed = spans.filter(({ isError }) => isError)
    expect(failed.map(({ name, attributes }) => [name, attributes['error.type']])).toEqual([
      ['list tokenlib', 'ECONNREFUSED'],
    ])
  })

  test('has no value that the page does not list', async () => {
    await exercise(providers())
    const metrics = await telemetry.flush()
    const listed = new Set(codeOf(page.replaceAll(/^```[\s\S]*?^```/gm, '')))
    const values = metrics.flatMap(({ points }) =>
      points.flatMap(({ attributes }) =>
        Object.entries(attributes).filter(([key]) => key !== 'error.type' && key !== 'tokenlib.issuer'),
      ),
    )
    expect(values.filter(([, value]) => !listed.has(String(value)))).toEqual([])
  })

  test('has nothing of a token, a user or a client', async () => {
    const tokens = await exercise(providers())
    await telemetry.flush()
    const text = telemetry.collector.texts.join('\n')
    expect(text).toContain('tokenlib.checks')
    const claims = tokens.map((token) => openToken(token).claims)
    const ids = claims.flatMap(({ sub, jti, sid }) => [sub, jti, sid]).filter((id) => typeof id === 'string')
    const secrets = [
      ...tokens.flatMap((token) => token.split('.').slice(1)),
      ...ids,
      ...Object.values(PERSONAL),
    ]
    expect(secrets.length).toBeGreaterThan(20)
    expect(secrets.filter((secret) => text.includes(secret) && secret !== 'ada')).toEqual([])
  })
})

describe('checks', () => {
  const count = (kind: string, lane: string, outcome: string, code?: string): string =>
    [
      ...(code === undefined ? [] : [`error.type=${code}`]),
      `tokenlib.check.kind=${kind}`,
      `tokenlib.check.lane=${lane}`,
      `tokenlib.check.outcome=${outcome}`,
    ].join(' ')

  test.each(['hono', 'fastify'])('are counted exactly, by lane and outcome, in %s', async (framework) => {
    const { tokens } = createManager()
    instrument(tokens, providers())
    const token = tokens.createAccessToken({ uid: 'ada' })
    const send = framework === 'hono' ? createHono(tokens) : createFastify(tokens)
    for (let at = 0; at < 10; at++) await send(token)
    for (let at = 0; at < 3; at++) await send(null)
    const metrics = await telemetry.flush()
    expect(readPoints(metrics, 'tokenlib.checks')).toEqual({
      [count('request', 'fast', 'accepted')]: 10,
      [count('request', 'recipe', 'refused', 'TOKEN_MISSING')]: 3,
    })
    // Only what took the recipe is timed.
    expect(Object.values(readPoints(metrics, 'tokenlib.check.duration'))).toEqual([3])
  })

  test('of the fast lane that were not collected before it was stopped are counted', async () => {
    const { tokens } = createManager()
    const stop = instrument(tokens, providers())
    const token = tokens.createAccessToken({ uid: 'ada' })
    const send = createHono(tokens)
    for (let at = 0; at < 5; at++) await send(token)
    stop()
    await send(token)
    const points = readPoints(await telemetry.flush(), 'tokenlib.checks')
    expect(points[count('request', 'fast', 'accepted')]).toBe(5)
  })

  test('of several managers add up, or are told apart by a name', async () => {
    const managers = [createManager(), createManager(), createManager()].map(({ tokens }) => tokens)
    const names = [{}, {}, { name: 'admin' }]
    for (const [at, tokens] of managers.entries()) {
      instrument(tokens, { ...providers(), ...names[at] })
      await tokens.accessTokenRequired(withBearer(tokens.createAccessToken({ uid: 'ada' })))
    }
    expect(readPoints(await telemetry.flush(), 'tokenlib.checks')).toEqual({
      [count('request', 'fast', 'accepted')]: 2,
      [`${count('request', 'fast', 'accepted')} tokenlib.manager.name=admin`]: 1,
    })
  })
})

describe('replicas', () => {
  test('show their state whenever metrics are collected', async () => {
    const store = replicate(createMemoryStore(), { bound: '10s' })
    const { tokens } = createRevocable({}, { store, clock: createNow() })
    instrument(tokens, providers())
    expect(readPoints(await telemetry.flush(), 'tokenlib.replica.fresh')).toEqual({ '': 0 })
    await tokens.ready()
    await tokens.revoke.user('ada')
    const metrics = await telemetry.flush()
    expect(readPoints(metrics, 'tokenlib.replica.fresh')).toEqual({ '': 1 })
    expect(readPoints(metrics, 'tokenlib.replica.bound')).toEqual({ '': 10 })
    expect(readPoints(metrics, 'tokenlib.replica.entries')).toEqual({ '': 1 })
    expect(readPoints(metrics, 'tokenlib.replica.age')['']).toBeGreaterThanOrEqual(0)
    await store.close()
  })
})

describe('spans', () => {
  test('of calls of the store are children of the span of the request', async () => {
    const { tokens } = createRevocable({}, { store: createAwaitedStore(), clock: createNow() })
    await tokens.ready()
    instrument(tokens, providers())
    const token = tokens.createAccessToken({ uid: 'ada' })
    const tracer = telemetry.tracerProvider.getTracer('application')
    const app = new Hono()
      .use((_c, next) =>
        tracer.startActiveSpan('GET /', { kind: SpanKind.SERVER }, (span) =>
          next().finally(() => span.end()),
        ),
      )
      .get('/', enforce(tokens.accessTokenRequired), (c) => c.text('ok'))
    await app.request('/', { headers: { authorization: `Bearer ${token}` } })
    await telemetry.flush()
    const { spans } = telemetry.collector
    const request = spans.find(({ name }) => name === 'GET /')
    const lookup = spans.find(({ name }) => name === 'lookup tokenlib')
    expect([lookup?.parentSpanId, lookup?.traceId]).toEqual([request?.spanId, request?.traceId])
    expect(request?.attributes).toEqual({})
  })

  test('are parents of what the driver does, and end before whatever follows', async () => {
    const memory = createMemoryStore()
    const seen: unknown[] = []
    const active = (): string | undefined => trace.getSpan(context.active())?.spanContext().spanId
    const store: RevocationStore = {
      ...memory,
      async lookup(keys) {
        seen.push(active())
        return memory.lookup(keys)
      },
    }
    const { tokens } = createRevocable({}, { store, clock: createNow() })
    await tokens.ready()
    instrument(tokens, providers())
    await tokens.verify(tokens.createAccessToken({ uid: 'ada' }))
    seen.push(active())
    await telemetry.flush()
    const [lookup] = telemetry.collector.spans
    expect(seen).toEqual([lookup?.spanId, undefined])
  })

  test('of the request have the user only if that was asked for', async () => {
    const spans = []
    for (const includeSubject of [false, true]) {
      const { tokens } = createManager()
      const stop = instrument(tokens, { ...providers(), includeSubject })
      const token = tokens.createAccessToken({ uid: 'ada' })
      const tracer = telemetry.tracerProvider.getTracer('application')
      for (let at = 0; at < 3; at++) {
        await tracer.startActiveSpan(`request ${String(includeSubject)}`, async (span) => {
          await tokens.accessTokenRequired(withBearer(token))
          await outcomeOf(tokens.verify(tokens.createAccessToken({ uid: 'somebody-else' })))
          span.end()
        })
      }
      stop()
    }
    const metrics = await telemetry.flush()
    spans.push(...telemetry.collector.spans.map(({ name, attributes }) => [name, attributes['user.id']]))
    expect(spans).toEqual([
      ...Array.from({ length: 3 }, () => ['request false', undefined]),
      ...Array.from({ length: 3 }, () => ['request true', 'ada']),
    ])
    expect(JSON.stringify(metrics)).not.toMatch(/ada|somebody/)
  })
})

test('a meter or a tracer that throws has no effect on requests', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  let isBroken = false
  const fail = (): void => {
    if (isBroken) throw new Error('meter')
  }
  const broken: Meter = Object.assign(Object.create(telemetry.meterProvider.getMeter('broken')) as Meter, {
    createCounter: () => ({ add: fail }),
    createHistogram: () => ({ record: fail }),
  })
  const meterProvider: MeterProvider = { getMeter: () => broken }
  const tracer = { startSpan: fail, startActiveSpan: fail } as never
  const { tokens } = createRevocable({}, { store: createAwaitedStore(), clock: createNow() })
  instrument(tokens, { meterProvider, tracerProvider: { getTracer: () => tracer } })
  isBroken = true
  const pair = await tokens.sessions.open({ uid: 'ada' })
  for (let at = 0; at < 3; at++) await tokens.accessTokenRequired(withBearer(pair.accessToken))
  await tokens.sessions.refresh(pair.refreshToken)
  await tokens.revoke.user('ada')
  expect(await outcomeOf(tokens.verify(pair.accessToken))).toBe('TOKEN_REVOKED')
  expect(warn).toHaveBeenCalled()
  warn.mockRestore()
})

test('stop ends everything, once', async () => {
  const store = replicate(createMemoryStore())
  const { tokens } = createRevocable({}, { store, clock: createNow() })
  const stop = instrument(tokens, providers())
  await tokens.ready()
  const pair = await tokens.sessions.open({ uid: 'ada' })
  await tokens.verify(pair.accessToken)
  const before = JSON.stringify(await telemetry.flush())
  const spans = telemetry.collector.spans.length
  stop()
  stop()
  await tokens.verify(pair.accessToken)
  await tokens.sessions.refresh(pair.refreshToken)
  await tokens.revoke.user('ada')
  const after = await telemetry.flush()
  expect(JSON.stringify(after.filter(({ kind }) => kind !== 'gauge'))).toBe(
    JSON.stringify((JSON.parse(before) as typeof after).filter(({ kind }) => kind !== 'gauge')),
  )
  expect(readPoints(after, 'tokenlib.replica.entries')).toEqual({ '': 0 })
  expect(telemetry.collector.spans.length).toBe(spans)
  // It may begin again.
  instrument(tokens, providers())()
  await store.close()
})

describe('instrument', () => {
  test('refuses a manager that it instruments already, with the same meter provider', () => {
    const { tokens } = createManager()
    const stop = instrument(tokens, providers())
    expect(() => instrument(tokens, providers())).toThrow(TypeError)
    stop()
    instrument(tokens, providers())()
  })

  test.each([null, undefined, {}, 'tokens', { on: () => undefined }])('takes a manager, not %j', (given) => {
    expect(() => instrument(given as unknown as TokenManager)).toThrow(TypeError)
  })

  test.each([{ includeSubject: 'yes' }, { name: '' }, { name: 7 }, { includesubject: true }])(
    'refuses the option %j',
    (given) => {
      expect(() => instrument(createManager().tokens, given as object)).toThrow(TypeError)
    },
  )
})

type Send = (token: string | null) => Promise<number>

function createHono(tokens: TokenManager): Send {
  const app = new Hono()
  app.onError(handleErrors())
  app.get('/', enforce(tokens.accessTokenRequired), (c) => c.text('ok'))
  return async (token) => (await app.request('/', { headers: toHeaders(token) })).status
}

function createFastify(tokens: TokenManager): Send {
  const app = fastify()
  app.setErrorHandler(forFastify.handleErrors())
  app.get('/', { onRequest: forFastify.enforce(tokens.accessTokenRequired) }, () => 'ok')
  return async (token) => (await app.inject({ url: '/', headers: toHeaders(token) })).statusCode
}

function toHeaders(token: string | null): Record<string, string> {
  return token === null ? {} : { authorization: `Bearer ${token}` }
}
