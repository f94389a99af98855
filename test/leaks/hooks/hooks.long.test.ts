import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ConfigurationError, TokenError, TokenManager } from '../../../packages/tokenlib/src/index.js'
import { TokenSignatureError } from '../../../packages/tokenlib/src/errors.js'
import { createManager, withBearer } from '../../helpers/manager.js'
import { outcomeOf } from '../../helpers/revocable.js'
import { current } from '../current-record.js'

afterEach(() => vi.restoreAllMocks())

test('this file is watched, and what it does is counted', async () => {
  const record = current.record
  const count = () => (record?.settle(), record?.counts())
  const before = count()
  const { tokens } = createManager({ JWT_SECRET_KEY: 'a-secret-that-no-other-test-of-this-file-has' })
  const token = tokens.createAccessToken({ uid: 'ada' })
  expect(await outcomeOf(tokens.verify(token.slice(1)))).toBe('TOKEN_INVALID')
  expect(await tokens.getTokenFromRequest(withBearer(token))).toMatchObject({ token })
  const after = count()
  expect(after?.shown.errors).toBe((before?.shown.errors ?? 0) + 1)
  // issued and rejected
  expect(after?.shown.events).toBe((before?.shown.events ?? 0) + 2)
  // TokenConfig, TokenManager and RequestToken
  expect(after?.shown.objects).toBe((before?.shown.objects ?? 0) + 3)
  expect(after?.secrets).toBeGreaterThan((before?.secrets ?? 0) + 3)
})

test('no test file loads the library again: later files of its thread would not be watched', () => {
  const folder = fileURLToPath(new URL('../../', import.meta.url))
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !path.includes('node_modules'),
  )
  expect(files.length).toBeGreaterThan(200)
  const reset = /\bvi\.(?:resetModules|mock|doMock)\(/
  expect(files.filter((path) => reset.test(readFileSync(join(folder, path), 'utf8')))).toEqual([])
})

describe('errors are as they would be', () => {
  const makers: readonly [name: string, make: () => Error, parents: readonly (new () => Error)[]][] = [
    ['Error', () => new Error('text', { cause: 1 }), [Error]],
    ['TypeError', () => new TypeError('text', { cause: 1 }), [TypeError, Error]],
    ['RangeError', () => new RangeError('text', { cause: 1 }), [RangeError, Error]],
    ['TypeError', () => TypeError('text', { cause: 1 }), [TypeError, Error]],
  ]
  test.each(makers)('%s, number %#', (name, make, parents) => {
    const error = make()
    expect(error).toMatchObject({ name, message: 'text', cause: 1 })
    expect(Object.keys(error)).toEqual([])
    expect(String(error)).toBe(`${name}: text`)
    for (const parent of parents) expect(error).toBeInstanceOf(parent)
    expect(error).not.toBeInstanceOf(SyntaxError)
    expect(error.constructor.name).toBe(name)
    expect(structuredClone(error)).toBeInstanceOf(parents[0])
    expect(inspect(error)).toContain(`${name}: text`)
    // The frame of whoever made it comes first.
    expect(error.stack?.split('\n')[1]).toMatch(/hooks\.long\.test\.ts/)
  })

  test('those of the library', () => {
    const error = new TokenSignatureError()
    expect(error).toBeInstanceOf(TokenError)
    expect(error).toBeInstanceOf(Error)
    expect(Object.getPrototypeOf(TokenError.prototype)).toBe(Error.prototype)
    expect(Object.getPrototypeOf(TokenError)).toBe(Error)
    expect(Object.getPrototypeOf(ConfigurationError)).toBe(Error)
    expect(error.stack?.split('\n')[1]).toMatch(/hooks\.long\.test\.ts/)
  })

  test('the settings of Error are the same ones', () => {
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 1
    const { stack } = new RangeError('text')
    Error.stackTraceLimit = limit
    expect(stack?.match(/^ +at /gm)).toHaveLength(1)
    expect(Object.getPrototypeOf(TypeError)).toHaveProperty('stackTraceLimit', limit)
  })
})

test('methods are as they would be', async () => {
  const { tokens } = createManager()
  for (const [owner, name] of [
    [tokens, 'verify'],
    [tokens.sessions, 'open'],
    [tokens.sessions, 'refresh'],
  ] as const) {
    const method: unknown = Reflect.get(owner, name)
    expect(method).toHaveProperty('name', name)
    expect(method).toHaveLength(1)
  }
  expect(Object.keys(TokenManager.prototype)).toEqual([])
  expect(tokens).toBeInstanceOf(TokenManager)
  await expect(tokens.sessions.open({ uid: '' })).rejects.toThrow(TypeError)
  const frozen = [1]
  expect(Object.freeze(frozen)).toBe(frozen)
  expect(Object.isFrozen(frozen)).toBe(true)
  expect(Object.freeze(1 as never)).toBe(1)
  await expect(tokens.accessTokenRequired(withBearer('a.b.c'))).rejects.toBeInstanceOf(TokenError)
})

test('a rejection that nobody looks at is still one', async () => {
  const unhandled = new Promise((resolve) => {
    const listeners = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection')
    process.once('unhandledRejection', (reason) => {
      for (const listener of listeners) process.on('unhandledRejection', listener)
      resolve(reason)
    })
  })
  void createManager().tokens.sessions.open({ uid: '' })
  await expect(unhandled).resolves.toBeInstanceOf(TypeError)
})

test('a spy on the console is a spy, and hides nothing', () => {
  const spy = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const log = console.warn
  const { record } = current
  const before = (record?.settle(), record?.counts().shown['log lines']) ?? 0
  log('heard')
  record?.settle()
  expect(record?.counts().shown['log lines']).toBe(before + 1)
  expect(spy).toHaveBeenCalledExactlyOnceWith('heard')
  expect(vi.isMockFunction(console.warn)).toBe(true)
  expect(console.warn).toHaveBeenCalledTimes(1)
  spy.mockRestore()
  expect(vi.isMockFunction(console.warn)).toBe(false)
})
