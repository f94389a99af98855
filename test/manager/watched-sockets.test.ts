import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import { createManager, withBearer } from '../helpers/manager.js'

describe('a socket that is watched', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  /** A socket, what it was closed with, and how often its token was asked about. */
  async function watch(
    options: TokenConfigOptions,
    create: 'createAccessToken' | 'createRefreshToken',
    expiresIn: number | false,
  ) {
    const { tokens, clock } = createManager(options)
    let answer: () => boolean | Promise<boolean> = () => false
    let asked = -1
    tokens.setCallbackTokenBlocklist(() => {
      asked++
      return answer()
    })
    const type = create === 'createAccessToken' ? 'access' : 'refresh'
    const request = withBearer(tokens[create]({ uid: 'u' }, { expiresIn }))
    const upgrade = await tokens.sockets.authenticate(request, { type })
    const closed: unknown[] = []
    const socket = {
      readyState: 1,
      close: (...given: unknown[]) => void closed.push(given),
      addEventListener() {},
    }
    const stop = tokens.sockets.closeWhenInvalid(socket, upgrade, { every: '1h' })
    const pass = async (seconds: number) => {
      clock.seconds += seconds
      await vi.advanceTimersByTimeAsync(seconds * 1000)
    }
    return {
      socket,
      closed,
      stop,
      pass,
      asked: () => asked,
      answerWith: (how: typeof answer) => (answer = how),
    }
  }

  test('is asked about in its intervals, and not before its leeway is over', async () => {
    const endless = await watch({}, 'createAccessToken', false)
    await endless.pass(3599)
    expect(endless.asked()).toBe(0)
    await endless.pass(1)
    expect(endless.asked()).toBe(1)
    const short = await watch({ JWT_DECODE_LEEWAY: 60 }, 'createAccessToken', 10)
    await short.pass(69)
    expect([short.asked(), short.closed]).toEqual([0, []])
    await short.pass(1)
    expect(short.closed).toEqual([[4401, 'Token has expired']])
  })

  test('is closed when its token reaches the highest age', async () => {
    const old = await watch({ JWT_MAX_TOKEN_AGE: 100, JWT_DECODE_LEEWAY: 20 }, 'createAccessToken', false)
    await old.pass(119)
    expect([old.asked(), old.closed]).toEqual([0, []])
    await old.pass(1)
    expect(old.closed).toEqual([[4401, 'Token has expired']])
  })

  test('stays open with a good refresh token', async () => {
    const { closed, pass, asked } = await watch({}, 'createRefreshToken', false)
    await pass(3600)
    expect([asked(), closed]).toEqual([1, []])
  })

  test('is not closed once more when it is closing, or when nobody watches any longer', async () => {
    const closing = await watch({}, 'createAccessToken', false)
    closing.socket.readyState = 2
    closing.answerWith(() => true)
    await closing.pass(3600)
    expect([closing.asked(), closing.closed]).toEqual([0, []])
    const left = await watch({ JWT_REVOCATION_TIMEOUT: '1h' }, 'createAccessToken', false)
    let answer: (isRevoked: boolean) => void = () => {}
    left.answerWith(() => new Promise((resolve) => (answer = resolve)))
    await left.pass(3600)
    left.stop()
    answer(true)
    await vi.advanceTimersByTimeAsync(0)
    expect([left.asked(), left.closed]).toEqual([1, []])
  })

  test('is told to try again later when nobody could say', async () => {
    const { closed, pass, answerWith } = await watch({}, 'createAccessToken', false)
    answerWith(() => Promise.reject(new Error('ECONNREFUSED')))
    await pass(3600)
    expect(closed).toEqual([[1013, 'The token could not be checked']])
  })
})
