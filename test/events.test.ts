import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, expect, test } from 'vitest'
import type { TokenEvents } from '../packages/tokenlib/src/index.js'
import type { TokenEventName } from '../packages/tokenlib/src/kit.js'
import { createManager, NOW, withBearer } from './helpers/manager.js'
import { advance, createRevocable, outcomeOf } from './helpers/revocable.js'
import { internalsOf } from '../packages/tokenlib/src/sessions/internals.js'

function record(tokens: ReturnType<typeof createManager>['tokens']) {
  const heard: [TokenEventName, TokenEvents[TokenEventName]][] = []
  const names = [
    'issued',
    'rejected',
    'revoked',
    'refreshed',
    'refreshRepeated',
    'reuseDetected',
    'storeUnavailable',
  ] as const
  for (const name of names) tokens.on(name, (event) => heard.push([name, event]))
  return heard
}

test('issued tells of every token that is made', async () => {
  const { tokens } = createRevocable()
  const heard = record(tokens)
  const single = internalsOf(tokens).verifyWithoutRevocation(
    tokens.createAccessToken({ uid: 'ada' }, { expiresIn: '1m' }),
  )
  const pair = await tokens.sessions.open({ uid: 'ada' })
  const refresh = internalsOf(tokens).verifyWithoutRevocation(pair.refreshToken, { type: 'refresh' })
  expect(heard).toEqual([
    ['issued', { type: 'access', sub: 'ada', jti: single.jti, sid: null, expiresAt: NOW + 60 }],
    [
      'issued',
      {
        type: 'access',
        sub: 'ada',
        jti: expect.any(String) as string,
        sid: refresh.sid,
        expiresAt: NOW + 900,
      },
    ],
    ['issued', { type: 'refresh', sub: 'ada', jti: refresh.jti, sid: refresh.sid, expiresAt: refresh.exp }],
  ])
})

describe('rejected has the reason, and who it was if that is certain', () => {
  test('for a request without a token', async () => {
    const { tokens } = createManager()
    const heard = record(tokens)
    await outcomeOf(tokens.accessTokenRequired(new Request('http://localhost')))
    expect(await tokens.accessTokenOptional(new Request('http://localhost'))).toBeNull()
    expect(heard).toMatchObject([['rejected', { code: 'TOKEN_MISSING', sub: null, jti: null, sid: null }]])
  })

  test('for a forged, an expired, a misused and a revoked token', async () => {
    const { tokens, clock } = createRevocable()
    const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    const { sid, jti } = internalsOf(tokens).verifyWithoutRevocation(accessToken)
    const heard = record(tokens)
    await outcomeOf(tokens.verify(`${accessToken.slice(0, -8)}AAAAAAAA`))
    await outcomeOf(tokens.verify(refreshToken))
    await tokens.logout({ sid: sid ?? '' })
    await outcomeOf(tokens.accessTokenRequired(withBearer(accessToken)))
    clock.seconds += 900
    await outcomeOf(tokens.verify(accessToken))
    expect(heard.filter(([name]) => name === 'rejected')).toMatchObject([
      ['rejected', { code: 'TOKEN_SIGNATURE_INVALID', sub: null, jti: null, sid: null }],
      ['rejected', { code: 'ACCESS_TOKEN_REQUIRED', sub: 'ada', sid }],
      ['rejected', { code: 'TOKEN_REVOKED', sub: 'ada', jti, sid }],
      ['rejected', { code: 'TOKEN_EXPIRED', sub: null }],
    ])
  })

  test('once per refusal, and not for faults of the program', async () => {
    const { tokens } = createManager()
    const heard = record(tokens)
    const request = withBearer('a.b.c')
    await Promise.all([1, 2, 3].map(() => outcomeOf(tokens.accessTokenRequired(request))))
    await outcomeOf(tokens.accessTokenRequired({} as never))
    expect(heard).toHaveLength(1)
  })
})

test('a listener that throws or rejects changes nothing, and leaves a warning', async () => {
  const { tokens } = createRevocable()
  const warnings: Error[] = []
  const onWarning = (warning: Error): void => void warnings.push(warning)
  process.on('warning', onWarning)
  const heard: string[] = []
  tokens.on('issued', () => {
    throw new Error('listener')
  })
  tokens.on('issued', async () => {
    throw new Error('async listener')
  })
  tokens.on('issued', ({ jti }) => heard.push(jti))
  const { jti } = await tokens.verify(tokens.createAccessToken({ uid: 'ada' }))
  expect(heard).toEqual([jti])
  await new Promise(setImmediate)
  process.off('warning', onWarning)
  expect(warnings.map(({ name }) => name)).toEqual(['TokenListenerWarning', 'TokenListenerWarning'])
})

test('a listener hears until it stops, as often as it was added, and cannot change the event', () => {
  const { tokens } = createManager()
  let heard = 0
  const listener = (event: TokenEvents['issued']): void => {
    heard++
    expect(Object.isFrozen(event)).toBe(true)
  }
  const [stop] = [tokens.on('issued', listener), tokens.on('issued', listener)]
  tokens.createAccessToken({ uid: 'ada' })
  expect(heard).toBe(2)
  stop()
  stop()
  tokens.createAccessToken({ uid: 'ada' })
  expect(heard).toBe(3)
})

test('a listener that adds itself again is not called without end', () => {
  const { tokens } = createManager()
  let heard = 0
  const listener = (): void => {
    heard++
    tokens.on('issued', listener)
  }
  tokens.on('issued', listener)
  tokens.createAccessToken({ uid: 'ada' })
  expect(heard).toBe(1)
})

test('a listener whose error cannot be read changes nothing either', () => {
  const { tokens } = createManager()
  tokens.on('issued', () => {
    throw {
      toString() {
        throw new Error('from the text')
      },
    }
  })
  expect(() => tokens.createAccessToken({ uid: 'ada' })).not.toThrow()
})

test('an event that does not exist, or an invalid listener, is a TypeError', () => {
  const { tokens } = createManager()
  expect(() => tokens.on('revokd' as never, () => {})).toThrow(TypeError)
  expect(() => tokens.on('toString' as never, () => {})).toThrow(TypeError)
  expect(() => tokens.on('issued', 'x' as never)).toThrow(TypeError)
})

test('every event is on its diagnostics channel too', async () => {
  const { tokens, clock } = createRevocable()
  const heard: string[] = []
  const listen = (_message: unknown, name: string | symbol): void => void heard.push(String(name))
  const names = ['issued', 'rejected', 'revoked', 'refreshed', 'refreshRepeated'].map(
    (name) => `tokenlib:${name}`,
  )
  for (const name of names) subscribe(name, listen)
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  await advance({ tokens, clock }, refreshToken)
  clock.seconds += 61
  await tokens.sessions.refresh(refreshToken)
  await tokens.revoke.user('ada')
  await outcomeOf(tokens.sessions.refresh(refreshToken))
  for (const name of names) unsubscribe(name, listen)
  tokens.createAccessToken({ uid: 'ada' })
  expect(heard).toEqual([
    'tokenlib:issued',
    'tokenlib:issued',
    'tokenlib:issued',
    'tokenlib:issued',
    'tokenlib:refreshed',
    'tokenlib:issued',
    'tokenlib:issued',
    'tokenlib:refreshed',
    'tokenlib:refreshRepeated',
    'tokenlib:revoked',
    'tokenlib:rejected',
  ])
})

test('no event carries a token, or any piece of one', async () => {
  const { tokens, clock } = createRevocable({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] })
  const heard = record(tokens)
  const first = await tokens.sessions.open({ uid: 'ada' })
  const second = await advance({ tokens, clock }, first.refreshToken)
  clock.seconds += 60
  await tokens.sessions.refresh(first.refreshToken, { ip: '192.0.2.1' })
  await tokens.sessions.refresh(second.refreshToken)
  await outcomeOf(tokens.sessions.refresh(first.refreshToken))
  clock.seconds += 60
  await outcomeOf(tokens.sessions.refresh(first.refreshToken))
  await outcomeOf(tokens.verify(second.accessToken))
  await outcomeOf(tokens.verify(`${second.accessToken}x`))
  const text = JSON.stringify(heard, (_key, value: unknown) =>
    value instanceof Error
      ? { ...value, message: value.message, stack: value.stack, cause: value.cause }
      : value,
  )
  expect(heard.length).toBeGreaterThan(8)
  for (const token of [...Object.values(first), ...Object.values(second)].filter(
    (value) => value.length > 20,
  )) {
    for (const segment of token.split('.').slice(1)) {
      for (let at = 0; at + 12 <= segment.length; at += 4)
        expect(text).not.toContain(segment.slice(at, at + 12))
    }
  }
})
