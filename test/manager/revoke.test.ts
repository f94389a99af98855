import { randomBytes } from 'node:crypto'
import { SignJWT } from 'jose'
import { describe, expect, onTestFinished, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { FOREVER } from '../../packages/tokenlib/src/kit.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { createClock, createManager, NOW, SECRET, withBearer } from '../helpers/manager.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const DAY = 86_400

test('revoke.token ends one token and leaves the other of its login', async () => {
  const { tokens } = createRevocable()
  const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  await tokens.revoke.token(await tokens.verify(accessToken))
  expect(await outcomeOf(tokens.verify(accessToken))).toBe('TOKEN_REVOKED')
  expect(await outcomeOf(tokens.verify(refreshToken, { type: 'refresh' }))).toBe('ok')
})

test('logout ends access and refresh token together, and no other login', async () => {
  const { tokens } = createRevocable()
  const [mine, other] = [
    await tokens.sessions.open({ uid: 'ada' }),
    await tokens.sessions.open({ uid: 'ada' }),
  ]
  await tokens.logout(await tokens.verify(mine.accessToken))
  expect(await outcomeOf(tokens.verify(mine.accessToken))).toBe('TOKEN_REVOKED')
  expect(await outcomeOf(tokens.verify(mine.refreshToken, { type: 'refresh' }))).toBe('TOKEN_REVOKED')
  expect(await outcomeOf(tokens.sessions.refresh(mine.refreshToken))).toBe('TOKEN_REVOKED')
  expect(await outcomeOf(tokens.verify(other.accessToken))).toBe('ok')
})

test('logout of a token that belongs to no session ends that token', async () => {
  const { tokens } = createRevocable()
  const [token, other] = [tokens.createAccessToken({ uid: 'ada' }), tokens.createAccessToken({ uid: 'ada' })]
  await tokens.logout(await tokens.verify(token))
  expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
  expect(await outcomeOf(tokens.verify(other))).toBe('ok')
})

test('a token without expiry stays revoked for ever', async () => {
  const { tokens, clock, store } = createRevocable()
  const token = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: false })
  await tokens.revoke.token(await tokens.verify(token))
  clock.seconds += 10_000 * DAY
  await store.prune(1000)
  expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
})

test('revoke.session takes a payload or a sid', async () => {
  const { tokens } = createRevocable()
  const [one, two] = [await tokens.sessions.open({ uid: 'a' }), await tokens.sessions.open({ uid: 'b' })]
  await tokens.revoke.session(await tokens.verify(one.accessToken))
  const { sid = '' } = await tokens.verify(two.accessToken)
  await tokens.revoke.session(sid)
  expect(await outcomeOf(tokens.verify(one.accessToken))).toBe('TOKEN_REVOKED')
  expect(await outcomeOf(tokens.verify(two.accessToken))).toBe('TOKEN_REVOKED')
})

describe('revoke.user', () => {
  test('ends every token of the user, also those of no session, and of nobody else', async () => {
    const { tokens } = createRevocable()
    const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    const single = tokens.createAccessToken({ uid: 'ada' })
    const other = tokens.createAccessToken({ uid: 'grace' })
    await tokens.revoke.user('ada')
    for (const token of [accessToken, refreshToken, single])
      expect(await outcomeOf(tokens.verify(token, { type: 'any' }))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.verify(other))).toBe('ok')
  })

  test('leaves what is issued after it, in the same millisecond too', async () => {
    const { tokens } = createRevocable()
    const before = tokens.createAccessToken({ uid: 'ada' })
    await tokens.revoke.user('ada')
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    const single = tokens.createAccessToken({ uid: 'ada' })
    expect(await outcomeOf(tokens.verify(before))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('ok')
    expect(await outcomeOf(tokens.verify(single))).toBe('ok')
  })

  test('twice in one millisecond ends what was issued in between', async () => {
    const { tokens } = createRevocable()
    await tokens.revoke.user('ada')
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    const single = tokens.createAccessToken({ uid: 'ada' })
    await tokens.revoke.user('ada')
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.verify(single))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.verify(tokens.createAccessToken({ uid: 'ada' })))).toBe('ok')
  })

  test('after a clock was set back ends what was issued before', async () => {
    const { tokens, clock } = createRevocable({ JWT_DECODE_LEEWAY: 120 })
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    const single = tokens.createAccessToken({ uid: 'ada' })
    clock.seconds -= 60
    await tokens.revoke.user('ada')
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.verify(single))).toBe('TOKEN_REVOKED')
    const next = await tokens.sessions.open({ uid: 'ada' })
    expect(await outcomeOf(tokens.verify(next.accessToken))).toBe('ok')
    expect(await outcomeOf(tokens.verify(tokens.createAccessToken({ uid: 'ada' })))).toBe('ok')
  })

  test('reaches tokens that are refreshed later: they are as old as their session', async () => {
    const { tokens, store, clock } = createRevocable()
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    clock.seconds += 60
    // Issued by a process that has not heard of it yet: the check comes first, the revocation in between.
    const refreshing = tokens.sessions.refresh(refreshToken)
    await store.revoke([{ kind: 'user', id: 'ada', notBefore: clock(), until: clock() + 1 }])
    const pair = await refreshing.catch(() => null)
    if (pair !== null) expect(await outcomeOf(tokens.verify(pair.accessToken))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('TOKEN_REVOKED')
  })

  test('is kept for as long as a token could live that was issued before it', async () => {
    const { tokens, clock, store } = createRevocable({ JWT_DECODE_LEEWAY: 30 })
    const long = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: '90d' })
    await tokens.revoke.user('ada')
    clock.seconds += 90 * DAY + 29
    await store.prune(1000)
    expect(await outcomeOf(tokens.verify(long))).toBe('TOKEN_REVOKED')
    clock.seconds += 1
    expect(await outcomeOf(tokens.verify(long))).toBe('TOKEN_EXPIRED')
    clock.seconds += 7200
    expect(await store.prune(1000)).toBe(1)
  })

  test('is kept for longer once a process has seen a token that lives longer', async () => {
    const clock = createClock()
    const store = createMemoryStore({ clock })
    const foreign = createManager({}, clock).tokens.createAccessToken({ uid: 'ada' }, { expiresIn: '90d' })
    const { tokens } = createRevocable({}, { clock, store })
    expect(await outcomeOf(tokens.verify(foreign))).toBe('ok')
    // Another process, which knows of twenty days only.
    await createRevocable({}, { clock, store }).tokens.revoke.user('ada')
    clock.seconds += 89 * DAY
    await store.prune(1000)
    expect(await outcomeOf(tokens.verify(foreign))).toBe('TOKEN_REVOKED')
  })

  test('takes any text for a uid', async () => {
    const { tokens } = createRevocable()
    const uids = ['jörg', 'a'.repeat(129), 'nul\0', '\ud800', '\ud801', 'sha256:x', ' ', '__proto__']
    const issued = uids.map((uid) => tokens.createAccessToken({ uid }))
    for (const [at, uid] of uids.entries()) {
      if (at % 2 === 0) await tokens.revoke.user(uid)
    }
    const outcomes = await Promise.all(issued.map((token) => outcomeOf(tokens.verify(token))))
    expect(outcomes).toEqual(uids.map((_, at) => (at % 2 === 0 ? 'TOKEN_REVOKED' : 'ok')))
  })
})

test('of several watermarks the latest counts, whichever it is', async () => {
  for (const [user, all] of [
    [10, 0],
    [0, 10],
    [10, 20],
    [20, 10],
  ] as const) {
    const { tokens, clock } = createRevocable()
    const steps = [
      { at: user, revoke: () => tokens.revoke.user('ada') },
      { at: all, revoke: () => tokens.revoke.all() },
    ].filter(({ at }) => at > 0)
    const token = tokens.createAccessToken({ uid: 'ada' })
    for (const { at, revoke } of steps.toSorted((one, other) => one.at - other.at)) {
      clock.seconds = NOW + at
      const later = tokens.createAccessToken({ uid: 'ada' })
      await revoke()
      expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
      expect(await outcomeOf(tokens.verify(later))).toBe('TOKEN_REVOKED')
    }
    expect(await outcomeOf(tokens.verify(tokens.createAccessToken({ uid: 'ada' })))).toBe('ok')
  }
})

test('revoke.all ends everything from before, for everybody', async () => {
  const { tokens } = createRevocable()
  const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
  const single = tokens.createAccessToken({ uid: 'grace' })
  await tokens.revoke.all()
  expect(await outcomeOf(tokens.verify(accessToken))).toBe('TOKEN_REVOKED')
  expect(await outcomeOf(tokens.verify(single))).toBe('TOKEN_REVOKED')
  expect(await outcomeOf(tokens.verify(tokens.createAccessToken({ uid: 'ada' })))).toBe('ok')
})

test('revoke.key ends what the key signs, before and after', async () => {
  const clock = createClock()
  const store = createMemoryStore({ clock })
  const old = createRevocable({ JWT_SECRET_KEY: `old ${SECRET}` }, { clock, store }).tokens
  const { tokens } = createRevocable({ JWT_PREVIOUS_SECRET_KEY: `old ${SECRET}` }, { clock, store })
  const token = old.createAccessToken({ uid: 'ada' })
  expect(await outcomeOf(tokens.verify(token))).toBe('ok')
  await tokens.revoke.key(old.keys.current ?? '')
  clock.seconds += 5
  expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
  expect(await outcomeOf(tokens.verify(old.createAccessToken({ uid: 'ada' })))).toBe('TOKEN_REVOKED')
  expect(await outcomeOf(tokens.verify(tokens.createAccessToken({ uid: 'ada' })))).toBe('ok')
  clock.seconds += 10_000 * DAY
  await store.prune(1000)
  expect(await store.lookup([{ kind: 'key', id: old.keys.current ?? '' }])).toEqual([FOREVER])
})

test('revoke.key revokes that key and nothing else', async () => {
  const { tokens, store } = createRevocable()
  await tokens.revoke.key('k')
  const { entries } = await store.feed(null, { waitMs: 0 })
  expect(entries.map(({ kind, id }) => [kind, id])).toEqual([['key', 'k']])
})

test('revoke.key ends tokens of the key whose header names no key', async () => {
  const { tokens, clock } = createRevocable()
  const token = await new SignJWT({ sub: 'ada', type: 'access' })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuedAt(clock.seconds)
    .setExpirationTime(clock.seconds + 60)
    .sign(Buffer.from(SECRET))
  expect(await outcomeOf(tokens.verify(token))).toBe('ok')
  await tokens.revoke.key(tokens.keys.current ?? '')
  expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
})

test('revoke.key ends tokens of the secret whatever their algorithm', async () => {
  const clock = createClock()
  const store = createMemoryStore({ clock })
  const leaked = `leaked ${SECRET}`
  const signWith = (algorithm: 'HS256' | 'HS512') =>
    createRevocable({ JWT_SECRET_KEY: leaked, JWT_ALGORITHM: algorithm }, { clock, store }).tokens
  const { tokens } = createRevocable(
    { JWT_PREVIOUS_SECRET_KEY: leaked, JWT_DECODE_ALGORITHMS: ['HS256', 'HS512'] },
    { clock, store },
  )
  const issued = [signWith('HS256'), signWith('HS512')].map((old) => old.createAccessToken({ uid: 'ada' }))
  for (const token of issued) expect(await outcomeOf(tokens.verify(token))).toBe('ok')
  await tokens.revoke.key(signWith('HS256').keys.current ?? '')
  for (const token of issued) expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
})

test('revoke.key reaches a key that is configured under another name elsewhere', async () => {
  const clock = createClock()
  const store = createMemoryStore({ clock })
  const k = Buffer.from(SECRET).toString('base64url')
  const named = createRevocable({ JWT_SECRET_KEY: { kty: 'oct', k, kid: 'main' } }, { clock, store }).tokens
  const { tokens } = createRevocable({}, { clock, store })
  const token = named.createAccessToken({ uid: 'ada' })
  await named.revoke.key(tokens.keys.current ?? '')
  expect(named.keys.current).toBe('main')
  expect(await outcomeOf(named.verify(token))).toBe('TOKEN_REVOKED')
})

test('managers that forgive different times drop nothing early', async () => {
  const clock = createClock()
  const store = createMemoryStore({ clock })
  const strict = createRevocable({}, { clock, store }).tokens
  const lenient = createRevocable({ JWT_DECODE_LEEWAY: '5m' }, { clock, store }).tokens
  const single = strict.createAccessToken({ uid: 'ada' })
  const pair = await strict.sessions.open({ uid: 'ada' }, { refresh: { expiresIn: '15m' } })
  await strict.revoke.token(await strict.verify(single))
  await strict.logout(await strict.verify(pair.accessToken))
  clock.seconds += 15 * 60 + 299
  await store.prune(1000)
  for (const token of [single, pair.accessToken, pair.refreshToken])
    expect(await outcomeOf(lenient.verify(token, { type: 'any' }))).toBe('TOKEN_REVOKED')
})

test('a token of another issuer that outlives everything stays revoked with its user', async () => {
  const { tokens, clock, store } = createRevocable()
  const foreign = await new SignJWT({ sub: 'ada', type: 'access', jti: 'x' })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuedAt(clock.seconds - 5)
    .setExpirationTime(clock.seconds + 365 * DAY)
    .sign(Buffer.from(SECRET))
  await tokens.revoke.user('ada')
  expect(await outcomeOf(tokens.verify(foreign))).toBe('TOKEN_REVOKED')
  clock.seconds += 364 * DAY
  await store.prune(1000)
  expect(await outcomeOf(tokens.verify(foreign))).toBe('TOKEN_REVOKED')
})

test('tokens without iat are older than every revocation, and announce their lifetime once', async () => {
  const { tokens, clock, store } = createRevocable()
  let prepared = 0
  const prepare = store.prepare.bind(store)
  store.prepare = (needs) => {
    prepared++
    return prepare(needs)
  }
  const issue = (seconds: number) =>
    new SignJWT({ sub: 'ada', type: 'access', sid: randomBytes(16).toString('base64url') })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime(clock.seconds + seconds)
      .sign(Buffer.from(SECRET))
  const issued = await Promise.all(Array.from({ length: 50 }, (_, at) => issue(60 + at)))
  for (const token of issued) expect(await outcomeOf(tokens.verify(token))).toBe('ok')
  expect(prepared).toBeLessThan(4)
  await tokens.revoke.user('ada')
  for (const token of issued) expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
})

test('revoke.token of a payload whose exp is no number is for ever', async () => {
  const { tokens, store, clock } = createRevocable()
  await tokens.revoke.token({ jti: 'j', exp: null as never })
  clock.seconds += 10_000 * DAY
  await store.prune(1000)
  expect(await store.lookup([{ kind: 'token', id: 'j' }])).toEqual([FOREVER])
})

test('the callback keeps working next to a store, after it', async () => {
  const { tokens } = createRevocable()
  const asked: string[] = []
  const blocked = tokens.createAccessToken({ uid: 'ada' })
  tokens.setCallbackTokenBlocklist((token) => asked.push(token) > 0 && token === blocked)
  const stored = tokens.createAccessToken({ uid: 'ada' })
  await tokens.revoke.token(internalsOf(tokens).verifyWithoutRevocation(stored))
  expect(await outcomeOf(tokens.verify(stored))).toBe('TOKEN_REVOKED')
  expect(asked).toEqual([])
  expect(await outcomeOf(tokens.verify(blocked))).toBe('TOKEN_REVOKED')
  expect(await outcomeOf(tokens.verify(tokens.createAccessToken({ uid: 'ada' })))).toBe('ok')
})

test('a token that was verified before is asked about again', async () => {
  const { tokens } = createRevocable()
  const token = tokens.createAccessToken({ uid: 'ada' })
  expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('ok')
  await tokens.revoke.token(internalsOf(tokens).verifyWithoutRevocation(token))
  expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('TOKEN_REVOKED')
  expect(await outcomeOf(tokens.tokenRequired(withBearer(token)))).toBe('TOKEN_REVOKED')
  expect(await outcomeOf(tokens.accessTokenOptional(withBearer(token)))).toBe('TOKEN_REVOKED')
})

test('a policy may leave the store out', async () => {
  const { tokens } = createRevocable()
  const token = tokens.createAccessToken({ uid: 'ada' })
  await tokens.revoke.all()
  expect(await outcomeOf(tokens.verify(token, { skipRevocation: true }))).toBe('ok')
})

describe('mistakes of the program', () => {
  const noPayload = undefined as never

  test.each([
    ['revoke.token', (tokens: TokenManager) => tokens.revoke.token({})],
    ['revoke.token', (tokens: TokenManager) => tokens.revoke.token(noPayload)],
    ['revoke.session', (tokens: TokenManager) => tokens.revoke.session({})],
    ['revoke.session', (tokens: TokenManager) => tokens.revoke.session('')],
    ['revoke.user', (tokens: TokenManager) => tokens.revoke.user('')],
    ['revoke.user', (tokens: TokenManager) => tokens.revoke.user(7 as never)],
    ['revoke.key', (tokens: TokenManager) => tokens.revoke.key('')],
    ['logout', (tokens: TokenManager) => tokens.logout({})],
    ['logout', (tokens: TokenManager) => tokens.logout(noPayload)],
    ['sessions.list', (tokens: TokenManager) => tokens.sessions.list('')],
    ['sessions.endOthers', (tokens: TokenManager) => tokens.sessions.endOthers({ sub: 'ada' })],
  ])('%s refuses what names nothing, and writes nothing', async (_name, call) => {
    const { tokens, store } = createRevocable()
    await expect(call(tokens)).rejects.toThrow(TypeError)
    expect((await store.feed(null, { waitMs: 0 })).entries).toEqual([])
  })

  test.each([
    ['revoke.token', (tokens: TokenManager) => tokens.revoke.token({ jti: 'x' })],
    ['revoke.session', (tokens: TokenManager) => tokens.revoke.session('x')],
    ['revoke.user', (tokens: TokenManager) => tokens.revoke.user('x')],
    ['revoke.key', (tokens: TokenManager) => tokens.revoke.key('x')],
    ['revoke.all', (tokens: TokenManager) => tokens.revoke.all()],
    ['logout', (tokens: TokenManager) => tokens.logout({ jti: 'x' })],
    ['logout', (tokens: TokenManager) => tokens.logout(withBearer('x'))],
    ['sessions.get', (tokens: TokenManager) => tokens.sessions.get('x')],
    ['sessions.end', (tokens: TokenManager) => tokens.sessions.end('x', 'y')],
    ['sessions.list', (tokens: TokenManager) => tokens.sessions.list('x')],
    ['sessions.endOthers', (tokens: TokenManager) => tokens.sessions.endOthers({ sub: 'x', sid: 'y' })],
    ['sessions.refresh', (tokens: TokenManager) => tokens.sessions.refresh('x')],
  ])('%s without a store says that it needs one', async (name, call) => {
    const { tokens } = createManager()
    await expect(call(tokens)).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' })
    await expect(call(tokens)).rejects.toThrow(new RegExp(`^${name} needs a store`))
  })

  test('deferUnless is not for what has to wait for the store', async () => {
    const clock = createClock()
    const store = replicate(createMemoryStore({ clock }))
    const { tokens } = createRevocable({}, { clock, store })
    onTestFinished(() => tokens.close())
    const deferUnless = [{ kind: 'token', id: 'x' }] as const
    await expect(tokens.revoke.user('ada', { deferUnless, everywhere: true })).rejects.toThrow(TypeError)
    const payload = { sub: 'ada', sid: 'x' }
    await expect(tokens.sessions.endOthers(payload, { deferUnless })).rejects.toThrow(TypeError)
    expect(await outcomeOf(tokens.revoke.user('ada', { deferUnless }))).toBe('ok')
  })

  test('what is no store is refused at construction', () => {
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
    for (const store of [{}, new Set(), 'redis://localhost'] as never[])
      expect(() => new TokenManager({ config, store })).toThrow(/option store/)
  })
})
