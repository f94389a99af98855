import { describe, expect, test } from 'vitest'
import type { RevocationStore, TokenEvents } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock, openToken } from '../helpers/manager.js'
import { advance, createRevocable, outcomeOf, toPair } from '../helpers/revocable.js'

const claimsOf = (token: string) => openToken(token).claims

/** What a refresh answers: `repeated`, `kept`, `advanced`, or the code of the error. */
function watchOutcomes({ tokens }: ReturnType<typeof createRevocable>) {
  let last = ''
  tokens.on('refreshed', ({ outcome }) => (last = outcome))
  return async (token: string): Promise<string> => {
    const outcome = await outcomeOf(tokens.sessions.refresh(token))
    return outcome === 'ok' ? last : outcome
  }
}

describe('a refresh token is used up when its successor is used', () => {
  test('until then it can be repeated, as often and as late as it comes', async () => {
    const revocable = createRevocable()
    const { tokens, clock } = revocable
    const refresh = watchOutcomes(revocable)
    const { refreshToken: first } = await tokens.sessions.open({ uid: 'ada' })
    await advance(revocable, first)
    for (const seconds of [0, 59, 60, 86_400]) {
      clock.seconds += seconds
      expect(await refresh(first)).toBe('repeated')
    }
    // All of them are good: whichever of the answers arrived.
    const retry = toPair(await tokens.sessions.refresh(first))
    expect(claimsOf(retry.refreshToken)).toMatchObject({ gen: 2, par: claimsOf(first)['jti'] })
    clock.seconds += 60
    expect(await refresh(retry.refreshToken)).toBe('advanced')
  })

  test('within the grace it stays as it is, and there is only a new access token', async () => {
    const revocable = createRevocable()
    const { tokens, clock } = revocable
    const login = await tokens.sessions.open({ uid: 'ada' })
    const { refreshToken, accessToken } = await advance(revocable, login.refreshToken)
    clock.seconds += 59
    const kept = await tokens.sessions.refresh(refreshToken)
    expect(kept).toEqual({ accessToken: expect.any(String), refreshToken: null, tokenType: 'bearer' })
    const [before, after] = [claimsOf(accessToken), claimsOf(kept.accessToken)]
    expect(after).toMatchObject({ sid: before['sid'], sub: 'ada', iat: clock.seconds })
    expect(after['jti']).not.toBe(before['jti'])
    clock.seconds += 1
    expect(await tokens.sessions.refresh(refreshToken)).toHaveProperty('refreshToken', expect.any(String))
  })

  test('a sibling of the one that was used is superseded for the length of the grace, and then a reuse', async () => {
    const revocable = createRevocable()
    const { tokens, clock } = revocable
    const refresh = watchOutcomes(revocable)
    const { refreshToken: first } = await tokens.sessions.open({ uid: 'ada' })
    const used = await advance(revocable, first)
    const sibling = toPair(await tokens.sessions.refresh(first))
    const next = await advance(revocable, used.refreshToken)
    clock.seconds += 59
    for (const token of [first, sibling.refreshToken]) expect(await refresh(token)).toBe('REFRESH_SUPERSEDED')
    expect(await outcomeOf(tokens.verify(next.accessToken))).toBe('ok')
    clock.seconds += 1
    expect(await refresh(sibling.refreshToken)).toBe('REFRESH_TOKEN_REUSED')
    expect(await outcomeOf(tokens.verify(next.accessToken))).toBe('TOKEN_REVOKED')
  })

  test('an older one is a reuse immediately', async () => {
    const revocable = createRevocable()
    const { refreshToken: first } = await revocable.tokens.sessions.open({ uid: 'ada' })
    const second = await advance(revocable, first)
    const third = await advance(revocable, second.refreshToken)
    await advance(revocable, third.refreshToken)
    expect(await watchOutcomes(revocable)(first)).toBe('REFRESH_TOKEN_REUSED')
  })

  test('a reuse ends the session, and says so with both sides', async () => {
    const revocable = createRevocable()
    const { tokens, clock } = revocable
    const events: unknown[] = []
    for (const name of ['reuseDetected', 'revoked'] as const)
      tokens.on(name, (event) => events.push([name, event]))
    const rejected: TokenEvents['rejected'][] = []
    tokens.on('rejected', (event) => rejected.push(event))
    const first = await tokens.sessions.open({ uid: 'ada' })
    const second = await advance(revocable, first.refreshToken)
    clock.seconds += 60
    const browser = { ip: '192.0.2.7', userAgent: 'Browser/1.0' }
    const third = toPair(await tokens.sessions.refresh(second.refreshToken, browser))
    clock.seconds += 60
    const thief = new Request('http://localhost/', {
      headers: { authorization: `Bearer ${first.refreshToken}`, 'user-agent': 'Thief/1.0' },
    })
    expect(await outcomeOf(tokens.sessions.refresh(thief, { ip: '192.0.2.1' }))).toBe('REFRESH_TOKEN_REUSED')
    const sid = claimsOf(first.refreshToken)['sid']
    const from = { ip: '192.0.2.1', userAgent: 'Thief/1.0' }
    expect(events).toEqual([
      [
        'revoked',
        {
          kind: 'session',
          id: sid,
          sub: 'ada',
          reason: 'reuse',
          issuer: null,
          actor: null,
          note: null,
          ...from,
        },
      ],
      ['reuseDetected', { sid, sub: 'ada', presented: 1, current: 2, previous: browser, ...from }],
    ])
    expect(rejected.map(({ code }) => code)).toEqual(['REFRESH_TOKEN_REUSED'])
    for (const token of [first.accessToken, third.accessToken])
      expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
    for (const token of [first.refreshToken, third.refreshToken])
      expect(await outcomeOf(tokens.sessions.refresh(token))).toBe('TOKEN_REVOKED')
  })

  test('JWT_REFRESH_GRACE 0 moves the session on every time, and forgives nothing but a lost answer', async () => {
    const revocable = createRevocable({ JWT_REFRESH_GRACE: 0 })
    const { tokens } = revocable
    const refresh = watchOutcomes(revocable)
    const { refreshToken: first } = await tokens.sessions.open({ uid: 'ada' })
    expect(await refresh(first)).toBe('advanced')
    const { refreshToken: second } = toPair(await tokens.sessions.refresh(first))
    expect(await refresh(second)).toBe('advanced')
    expect(await refresh(first)).toBe('REFRESH_TOKEN_REUSED')
  })

  test('a longer grace than five minutes is refused', () => {
    expect(() => createRevocable({ JWT_REFRESH_GRACE: '5m' })).not.toThrow()
    expect(() => createRevocable({ JWT_REFRESH_GRACE: '301s' })).toThrow(/JWT_REFRESH_GRACE/)
  })

  test.each([
    ['the lifetime of access tokens', { JWT_ACCESS_TOKEN_EXPIRES: '20s' }],
    ['half of what a session may go unused', { JWT_REFRESH_IDLE_EXPIRES: '40s' }],
  ])('the grace is at most %s', async (_what, options) => {
    const revocable = createRevocable(options)
    const { tokens, clock } = revocable
    const refresh = watchOutcomes(revocable)
    const login = await tokens.sessions.open({ uid: 'ada' })
    clock.seconds += 20
    const { refreshToken } = toPair(await tokens.sessions.refresh(login.refreshToken))
    clock.seconds += 19
    expect(await refresh(refreshToken)).toBe('kept')
    clock.seconds += 1
    expect(await refresh(refreshToken)).toBe('advanced')
  })

  test('of many at the same time all get a successor of the same generation', async () => {
    const { tokens, clock } = createRevocable()
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    clock.seconds += 60
    const pairs = await Promise.all(Array.from({ length: 50 }, () => tokens.sessions.refresh(refreshToken)))
    expect(new Set(pairs.map((pair) => claimsOf(toPair(pair).refreshToken)['gen']))).toEqual(new Set([2]))
  })
})

describe('a refresh whose answer is lost costs nothing', () => {
  /** A store that rotates and then fails, as one that is killed before it has answered. */
  function openFailing() {
    const clock = createClock()
    const memory = createMemoryStore({ clock })
    const fault = { isOn: false }
    const sessions: NonNullable<RevocationStore['sessions']> = {
      ...memory.sessions!,
      async rotate(sid, token, rules) {
        const rotation = await memory.sessions!.rotate(sid, token, rules)
        if (fault.isOn) throw new Error('connection reset')
        return rotation
      },
    }
    return { ...createRevocable({}, { clock, store: { ...memory, sessions } }), fault }
  }

  test('at any process, as late as it comes', async () => {
    const revocable = openFailing()
    const { tokens, clock, fault, store } = revocable
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    clock.seconds += 60
    fault.isOn = true
    expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('REVOCATION_UNAVAILABLE')
    fault.isOn = false
    clock.seconds += 3600
    const other = createRevocable({}, { clock, store })
    const next = await advance(other, refreshToken)
    expect(await outcomeOf(advance(revocable, next.refreshToken))).toBe('ok')
    // From now on it is an old token like any other.
    clock.seconds += 60
    expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('REFRESH_TOKEN_REUSED')
  })
})

describe('events', () => {
  const watch = ({ tokens }: ReturnType<typeof createRevocable>) => {
    const refreshed: TokenEvents['refreshed'][] = []
    const repeated: TokenEvents['refreshRepeated'][] = []
    tokens.on('refreshed', (event) => refreshed.push(event))
    tokens.on('refreshRepeated', (event) => repeated.push(event))
    return { refreshed, repeated }
  }
  const HOME = { ip: '192.0.2.7', userAgent: 'Browser/1.0' }
  const ELSEWHERE = { ip: '198.51.100.9', userAgent: 'Browser/1.0' }

  test('refreshed has the outcome, the generation, and where the session was used from before', async () => {
    const revocable = createRevocable()
    const { tokens, clock } = revocable
    const { refreshed } = watch(revocable)
    const login = await tokens.sessions.open({ uid: 'ada' }, HOME)
    clock.seconds += 60
    const { refreshToken } = toPair(await tokens.sessions.refresh(login.refreshToken, ELSEWHERE))
    await tokens.sessions.refresh(login.refreshToken, HOME)
    await tokens.sessions.refresh(refreshToken, HOME)
    const facts = { sid: claimsOf(refreshToken)['sid'], sub: 'ada', generation: 1 }
    expect(refreshed).toEqual([
      { ...facts, outcome: 'advanced', previous: HOME, ...ELSEWHERE },
      { ...facts, outcome: 'repeated', previous: ELSEWHERE, ...HOME },
      { ...facts, outcome: 'kept', previous: ELSEWHERE, ...HOME },
    ])
  })

  test('a repeat from elsewhere is reported, and one long after the session moved on', async () => {
    const revocable = createRevocable()
    const { tokens, clock } = revocable
    const { repeated } = watch(revocable)
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' }, HOME)
    clock.seconds += 60
    const movedAt = clock()
    await tokens.sessions.refresh(refreshToken, HOME)
    // Another tab, or an answer that was lost.
    clock.seconds += 60
    await tokens.sessions.refresh(refreshToken, HOME)
    // What is not known is not another one.
    await tokens.sessions.refresh(refreshToken, { ip: HOME.ip })
    expect(repeated).toEqual([])
    await tokens.sessions.refresh(refreshToken, ELSEWHERE)
    clock.seconds += 1
    await tokens.sessions.refresh(refreshToken, HOME)
    const facts = { sid: claimsOf(refreshToken)['sid'], sub: 'ada', generation: 1, movedAt, previous: HOME }
    expect(repeated).toEqual([
      { ...facts, isElsewhere: true, ...ELSEWHERE },
      { ...facts, isElsewhere: false, ...HOME },
    ])
  })
})

describe('claims do not roll back when an old token is repeated', () => {
  test('with describeUser, both tokens say what the user is now', async () => {
    let role = 'admin'
    const revocable = createRevocable({}, { describeUser: () => ({ claims: { role }, scopes: [role] }) })
    const { tokens, clock } = revocable
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    await advance(revocable, refreshToken)
    role = 'reader'
    clock.seconds += 3600
    expect(claimsOf(refreshToken)).toMatchObject({ role: 'admin', scopes: ['admin'] })
    const repeated = toPair(await tokens.sessions.refresh(refreshToken))
    for (const token of [repeated.accessToken, repeated.refreshToken])
      expect(claimsOf(token)).toMatchObject({ role: 'reader', scopes: ['reader'] })
  })

  test('a refresh token that stays as it is gets the new role with the access token at once', async () => {
    let role = 'admin'
    const revocable = createRevocable({}, { describeUser: () => ({ claims: { role } }) })
    const login = await revocable.tokens.sessions.open({ uid: 'ada' })
    const { refreshToken } = await advance(revocable, login.refreshToken)
    role = 'reader'
    const kept = await revocable.tokens.sessions.refresh(refreshToken)
    expect(claimsOf(kept.accessToken)['role']).toBe('reader')
    expect(claimsOf((await advance(revocable, refreshToken)).refreshToken)['role']).toBe('reader')
  })

  test('without it, they are those of the token that was sent', async () => {
    const revocable = createRevocable()
    const { refreshToken } = await revocable.tokens.sessions.open({ uid: 'ada', role: 'admin' })
    const next = await advance(revocable, refreshToken)
    expect(claimsOf(next.accessToken)['role']).toBe('admin')
  })
})
