import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../helpers/manager.js'
import { assertNoLeaks } from './assert-no-leaks.js'
import { createLeakRecord, type Leak } from './leak-record.js'
import { summarize } from './leak-summary.js'

function search(secret: string, ...texts: readonly string[]): Leak[] {
  const record = createLeakRecord()
  record.addSecret({ kind: 'a secret', text: secret })
  for (const text of texts) record.show('log lines', () => [{ origin: 'a log line', text }])
  return record.search()
}

const secret = randomBytes(32).toString('base64url')

test('a leak says what was shown where, and how much of it', () => {
  expect(search(secret, 'nothing', `it is ${secret.slice(3, 20)}!`)).toEqual([
    { secret: 'a secret', at: 3, origin: 'a log line', offset: 6, length: 17 },
  ])
  expect(search(secret, secret.slice(0, 8), secret.slice(-8)).map(({ at, length }) => [at, length])).toEqual([
    [0, 8],
    [secret.length - 8, 8],
  ])
})

test('the report has every leak and no secret', () => {
  const leaks = search(secret, `it is ${secret}`)
  expect(() => assertNoLeaks(leaks)).toThrow(
    '- 43 characters of a secret, from its character 1 on, are in a log line at character 7',
  )
  expect(() => assertNoLeaks(Array<Leak>(25).fill(leaks[0] as Leak))).toThrow('and 5 more')
  expect(() => assertNoLeaks([])).not.toThrow()
  expect(JSON.stringify(leaks)).not.toContain(secret.slice(0, 4))
})

describe('what proves nothing is no leak', () => {
  test('an id that has eight characters of a secret by chance, unless all of it is one', () => {
    const id = secret.slice(0, 22)
    expect(search(secret, `jti: ${id}`)).toHaveLength(1)
    expect(search(secret, `jti: ${secret.slice(0, 8)}${'x'.repeat(14)}`)).toEqual([])
    expect(search(secret, `jti: ${'x'.repeat(14)}${secret.slice(0, 8)}`)).toEqual([])
    expect(search(secret, `jti: ${secret.slice(0, 8)}${'x'.repeat(13)}`)).toHaveLength(1)
    expect(search(secret, `jti: ${secret.slice(0, 8)}${'x'.repeat(15)}`)).toHaveLength(1)
  })

  test('a word of the library in the secret of the tests', () => {
    expect(SECRET).toContain('algorithm')
    expect(search(SECRET, 'Token algorithm is not allowed')).toEqual([])
    expect(search(SECRET, 'Token algorithm-there is not allowed')).toHaveLength(1)
  })

  test('a text that is no token, handed in as one', () => {
    const record = createLeakRecord()
    const [header, claims] = ['eyJhbGciOiJIUzI1NiJ9', 'eyJzdWIiOiJhZGEifQ']
    const words = [
      'hasOwnProperty',
      'a.hasOwnProperty.b',
      `${header}.hasOwnProperty.`,
      `${header}.${claims}.not-a-signature`,
    ]
    record.show('log lines', () => words.map((text) => ({ origin: 'a log line', text })))
    for (const word of words) record.addToken('a token', word)
    expect(record.search()).toEqual([])
    record.addToken('a token', `${header}.${claims}.${secret}`)
    expect(record.search()).not.toEqual([])
  })
})

test('a CSRF value is one that nobody could guess', () => {
  const record = createLeakRecord()
  const random = randomBytes(16).toString('base64url')
  for (const value of [
    'csrf',
    'constructor',
    'x'.repeat(40),
    random.repeat(9),
    `${random} ${random}`,
    random,
  ])
    record.addCsrf('a CSRF value', value)
  record.show('log lines', () => [{ origin: 'a log line', text: `it is ${random}` }])
  expect(record.search()).toHaveLength(1)
  expect(record.counts().secrets).toBe(1)
})

test('of very many things one in a hundred is compared, and all of the first', () => {
  const record = createLeakRecord()
  const shown: number[] = []
  for (let at = 1; at <= 10_300; at++) {
    record.show('events', () => [{ origin: 'an event', text: `event ${shown.push(at)}` }])
    record.addToken('a token', `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.${secret}${at}`)
  }
  record.settle()
  expect(shown).toHaveLength(10_003)
  expect(shown.slice(-4)).toEqual([10_000, 10_100, 10_200, 10_300])
  expect(record.counts()).toMatchObject({ shown: { events: 10_003, errors: 0 }, secrets: 10_003 })
})

test('what is shown is read once it is finished, and not kept', () => {
  const record = createLeakRecord()
  record.addSecret({ kind: 'a secret', text: secret })
  const unfinished = { text: '' }
  record.show('objects', () => [{ origin: 'an object', ...unfinished }])
  unfinished.text = secret
  expect(record.search()).toHaveLength(1)
  expect(record.counts()).toMatchObject({ shown: { objects: 1 }, texts: 1, secrets: 1 })
})

test('a record knows the secrets of the files before it in the same thread', () => {
  const first = createLeakRecord()
  first.addSecret({ kind: 'a secret', text: secret })
  first.addToken('a token', `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.${secret}`)
  first.addSecret({ kind: 'a secret of one letter', text: 'x'.repeat(64) })
  const next = createLeakRecord(first.secrets())
  expect(next.counts()).toMatchObject({ texts: 0, secrets: 2 })
  next.show('log lines', () => [{ origin: 'a log line', text: secret.slice(0, 12) }])
  expect(next.search()).not.toEqual([])
})

test('the summary adds the test files up', () => {
  const shown = { errors: 1, 'plain errors': 2, events: 1000, 'log lines': 4, objects: 5 }
  const file = { shown, texts: 700, secrets: 800, leaks: 1 }
  expect(summarize([file, file])).toBe(
    'leak search: 1,400 texts (of 6 different errors, 2,000 events, 8 log lines, 10 objects) against 1,600 secrets ' +
      'in 2 test files, 2 found',
  )
})
