import { afterEach, beforeEach, expect, test } from 'vitest'
import { instrument } from '../../packages/tokenlib/src/opentelemetry.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'
import { readPoints, startTelemetry, type Telemetry } from './telemetry.js'

let telemetry: Telemetry
beforeEach(async () => {
  telemetry = await startTelemetry()
})
afterEach(() => telemetry.close())
const providers = () => ({ meterProvider: telemetry.meterProvider, tracerProvider: telemetry.tracerProvider })

test('metrics have few attributes, whatever 1,000 clients send', async () => {
  const { tokens } = createRevocable()
  instrument(tokens, providers())
  const genuine = tokens.createAccessToken({ uid: 'ada' })
  const [header = '', claims = '', signature = ''] = genuine.split('.')
  const toHostile = (at: number): string => {
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const forms = [
      `Bearer ${at}-${'x'.repeat(at)}`,
      `Bearer ${header}.${encode({ sub: `user-${at}`, jti: `id-${at}`, iss: `https://${at}.example` })}.${signature}`,
      `Bearer ${encode({ alg: `HS${at}`, kid: `key-${at}` })}.${claims}.${signature}`,
      `Scheme${at} ${genuine}`,
      `Bearer ${genuine}${at}`,
    ]
    return forms[at % forms.length] ?? ''
  }
  for (let at = 0; at < 1000; at++) {
    const headers = { authorization: toHostile(at), 'user-agent': `agent-${at}` }
    const request = new Request(`http://localhost/${at}?token=${at}`, { headers })
    await outcomeOf(tokens.accessTokenRequired(request))
    await outcomeOf(tokens.verify(`${genuine.slice(0, -1)}${at}`))
  }
  const metrics = await telemetry.flush()
  const sum = Object.values(readPoints(metrics, 'tokenlib.checks')).reduce((total, value) => total + value)
  expect(sum).toBe(2000)
  for (const { name, points } of metrics) expect(points.length, name).toBeLessThan(12)
  const values = metrics.flatMap(({ points }) =>
    points.flatMap(({ attributes }) => Object.values(attributes)),
  )
  expect(values.filter((value) => !/^[A-Za-z_]+$/.test(String(value)))).toEqual([])
})

test('the codes of errors are bounded, and a text is none', async () => {
  const memory = createMemoryStore()
  let code: unknown
  const lookup = (): Promise<never> => Promise.reject(Object.assign(new Error('down'), { code }))
  const { tokens } = createRevocable({}, { store: { ...memory, lookup } })
  instrument(tokens, providers())
  const token = tokens.createAccessToken({ uid: 'ada' })
  const codes = ['ECONNRESET', '57P01', 'a text with spaces', 'x'.repeat(100), 42, undefined]
  for (code of [...codes, ...Array.from({ length: 300 }, (_, at) => `CODE_${at}`)]) {
    await outcomeOf(tokens.verify(token))
  }
  const metrics = await telemetry.flush()
  const types = metrics
    .find(({ name }) => name === 'tokenlib.store.call.duration')
    ?.points.map(({ attributes }) => attributes['error.type'])
  expect(types).toEqual(expect.arrayContaining(['ECONNRESET', '57P01', '_OTHER']))
  expect(types).not.toContain('a text with spaces')
  expect(types?.length).toBeLessThanOrEqual(102)
})
