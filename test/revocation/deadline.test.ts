import { describe, expect, test, vi } from 'vitest'
import { isPromise } from '../../packages/tokenlib/src/runtime.js'
import { parseAnswers } from '../../packages/tokenlib/src/revocation/revocation.js'
import { createManager } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'

test.each([
  [Promise.resolve(), true],
  [{ then() {} }, true],
  [Object.assign(() => {}, { then() {} }), true],
  [{ then: true }, false],
  [{}, false],
  [() => {}, false],
  [null, false],
  [undefined, false],
  [false, false],
  ['then', false],
])('%o is a promise of some make: %s', (value, expected) => {
  expect(isPromise(value)).toBe(expected)
})

describe('what the callback did wrong is told as the cause', () => {
  const causeOf = async (answer: unknown) => {
    const { tokens } = createManager({ JWT_REVOCATION_TIMEOUT: '20ms' })
    tokens.setCallbackTokenBlocklist((() => answer) as never)
    const error: unknown = await tokens
      .verify(tokens.createAccessToken({ uid: 'ada' }))
      .catch((error: unknown) => error)
    return (error as Error).cause
  }

  test.each([
    [undefined, 'undefined'],
    [null, 'null'],
    [0, 'number'],
    ['no', 'string'],
    [{}, 'object'],
    [Promise.resolve(null), 'null'],
  ])('it answered %o', async (answer, type) => {
    expect(await causeOf(answer)).toEqual(
      new TypeError(`The revocation callback must return true or false, not ${type}`),
    )
  })

  test('it did not answer', async () => {
    expect(await causeOf(new Promise(() => {}))).toEqual(
      new Error('The revocation callback did not answer within 20 ms'),
    )
  })
})

describe('the time a callback may take', () => {
  test('includes its last moment', async () => {
    vi.useFakeTimers()
    try {
      const { tokens } = createManager({ JWT_REVOCATION_TIMEOUT: '100ms' })
      const token = tokens.createAccessToken({ uid: 'ada' })
      let takes = 100
      tokens.setCallbackTokenBlocklist(() => {
        vi.advanceTimersByTime(takes)
        return false
      })
      expect(await outcomeOf(tokens.verify(token))).toBe('ok')
      takes = 101
      expect(await outcomeOf(tokens.verify(token))).toBe('REVOCATION_UNAVAILABLE')
    } finally {
      vi.useRealTimers()
    }
  })

  test('is not measured where it answers immediately', async () => {
    const setTimer = vi.spyOn(globalThis, 'setTimeout')
    try {
      const { tokens } = createManager()
      tokens.setCallbackTokenBlocklist(() => false)
      await tokens.verify(tokens.createAccessToken({ uid: 'ada' }))
      expect(setTimer).not.toHaveBeenCalled()
    } finally {
      setTimer.mockRestore()
    }
  })
})

describe('registering what is no callback', () => {
  const { tokens } = createManager()
  const register = tokens.setCallbackTokenBlocklist as (...given: unknown[]) => unknown

  test('is told, also where it was a decorator', () => {
    const message = 'The token blocklist callback must be a function'
    expect(() => register('no')).toThrow(new TypeError(message))
    expect(() => register({}, 'name')).toThrow(new TypeError(message))
    expect(() => register({}, 'name', { value: 7 })).toThrow(new TypeError(message))
    expect(() => register(() => false, { kind: 'getter' })).toThrow(
      new TypeError('Only a method can be decorated as a token blocklist callback'),
    )
  })

  test.each([null, undefined, 0, {}, []])('%o in addition to a callback is nothing', (second) => {
    const callback = () => false
    expect(register(callback, second)).toBe(callback)
  })
})

describe('the answers of a look-up', () => {
  const keys = [
    { kind: 'all', id: '' },
    { kind: 'user', id: 'ada' },
  ] as const

  test.each([[[undefined, 7]], [[0, undefined]]])('%j are usable', (answers) => {
    expect(() => parseAnswers(answers, keys)).not.toThrow()
  })

  test.each<[unknown]>([
    [[undefined]],
    [[undefined, undefined, undefined]],
    [{ 0: undefined, 1: undefined, length: 2 }],
    [[undefined, '7']],
    [[7, null]],
    [[7, Number.POSITIVE_INFINITY]],
    [null],
  ])('%j are not', (answers) => {
    expect(() => parseAnswers(answers, keys)).toThrow(
      new TypeError('lookup() must return an array with a number or undefined for each key'),
    )
  })
})
