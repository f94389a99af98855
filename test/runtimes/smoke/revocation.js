import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { defineStore } from 'tokenlib/kit'
import { createMemoryStore } from 'tokenlib/memory'
import { replicate } from 'tokenlib/replica'
import { NOW } from '../fixtures.js'
import { ALGORITHMS, createManager, keyFields, refuses } from './managers.js'

// Made when this module is loaded, as applications do. Workers allow neither timers nor random bytes then.
const atModuleLevel = {
  store: attempt(() => createMemoryStore()),
  replica: attempt(() => replicate(createMemoryStore(), { bound: '1s' })),
  managers: new Map(
    Object.keys(ALGORITHMS).map((algorithm) => [
      algorithm,
      attempt(() => createManager({ JWT_ALGORITHM: algorithm, ...keyFields(algorithm) })),
    ]),
  ),
  manager: attempt(() => createManager({}, { store: createMemoryStore({ clock: () => NOW * 1000 }) })),
}

/** What the second of two steps needs of the first: in Workers each step is a request of its own. */
const kept = { accessToken: '', refreshToken: '' }

/** Time, revocation, sessions and deadlines. */
export const steps = [
  ['a store that was created at module level works', () => tryStore(read(atModuleLevel.store))],
  ['a replica that was created at module level works', () => tryStore(read(atModuleLevel.replica))],
  ['managers of every algorithm that were created at module level work', tryManagers],
  ['a manager of module level logs in', logIn],
  ['a manager of module level accepts the token in another request, and logs out', logOut],
  ['a manager of module level refuses the token in a third request', refuseLoggedOut],
  ['an expired token is refused', tryExpired],
  ['a token that is not valid yet is refused', tryNotYetValid],
  ['a token of the wrong type, issuer, audience or scope is refused', tryPolicies],
  ['a revocation callback decides', tryCallback],
  ['a revocation callback that never answers is refused by the deadline', tryDeadline],
  ['a store that never answers is refused by the deadline', trySilentStore],
  ['many checks of a store that never answers are all refused', tryManySilent],
  ['a token, a user, a key and everything can be revoked', tryRevocations],
  ['a refresh rotates, and a reused refresh token ends its session', tryRotation],
  ['ten refreshes at the same time pass', tryRace],
  ['sessions are listed and revoked one by one', trySessions],
  ['a replica follows its store', tryReplica],
  ['health reports the store', tryHealth],
]

function attempt(create) {
  try {
    return { value: create() }
  } catch (error) {
    return { error }
  }
}

function read({ value, error }) {
  if (error !== undefined) throw error
  return value
}

async function tryStore(revocation) {
  const tokens = createManager({}, { store: revocation, clock: () => Date.now() })
  await tokens.ready()
  const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
  await tokens.logout(await tokens.verify(accessToken))
  await refuses(tokens.verify(accessToken), 'TOKEN_REVOKED')
}

async function tryManagers() {
  for (const [algorithm, attempted] of atModuleLevel.managers) {
    try {
      const tokens = read(attempted)
      strictEqual((await tokens.verify(tokens.createAccessToken({ uid: 'ada' }))).sub, 'ada')
    } catch (cause) {
      throw new Error(algorithm, { cause })
    }
  }
}

async function logIn() {
  Object.assign(kept, await read(atModuleLevel.manager).sessions.open({ uid: 'ada' }))
}

async function logOut() {
  const tokens = read(atModuleLevel.manager)
  await tokens.logout(await tokens.verify(kept.accessToken))
}

async function refuseLoggedOut() {
  const tokens = read(atModuleLevel.manager)
  await refuses(tokens.verify(kept.accessToken), 'TOKEN_REVOKED')
  await refuses(tokens.sessions.refresh(kept.refreshToken), 'TOKEN_REVOKED')
}

function createClocked(fields = {}, options = {}) {
  const clock = Object.assign(() => clock.milliseconds, { milliseconds: NOW * 1000 })
  return { clock, tokens: createManager(fields, { ...options, clock }) }
}

async function tryExpired() {
  const { tokens, clock } = createClocked()
  const token = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: '15m' })
  clock.milliseconds += 14 * 60_000
  strictEqual((await tokens.verify(token)).sub, 'ada')
  clock.milliseconds += 2 * 60_000
  await refuses(tokens.verify(token), 'TOKEN_EXPIRED')
}

async function tryNotYetValid() {
  const { tokens, clock } = createClocked()
  const token = tokens.createAccessToken({ uid: 'ada' })
  clock.milliseconds -= 60 * 60_000
  await refuses(tokens.verify(token), 'TOKEN_NOT_YET_VALID')
}

async function tryPolicies() {
  const request = (token) =>
    new Request('https://api.example/', { headers: { authorization: `Bearer ${token}` } })
  const tokens = createManager({ JWT_ENCODE_ISSUER: 'one', JWT_ENCODE_AUDIENCE: 'one' })
  const token = tokens.createAccessToken({ uid: 'ada' }, { scopes: ['read'] })
  await refuses(tokens.refreshTokenRequired(request(token)), 'REFRESH_TOKEN_REQUIRED')
  await refuses(
    tokens.accessTokenRequired(request(tokens.createRefreshToken({ uid: 'ada' }))),
    'ACCESS_TOKEN_REQUIRED',
  )
  await refuses(tokens.require({ scopes: ['write'] })(request(token)), 'INSUFFICIENT_SCOPE')
  strictEqual((await tokens.require({ scopes: ['read'] })(request(token))).sub, 'ada')
  await refuses(createManager({ JWT_DECODE_ISSUER: 'two' }).verify(token), 'TOKEN_ISSUER_INVALID')
  await refuses(createManager({ JWT_DECODE_AUDIENCE: 'two' }).verify(token), 'TOKEN_AUDIENCE_INVALID')
}

async function tryCallback() {
  const tokens = createManager()
  const [good, bad] = [tokens.createAccessToken({ uid: 'ada' }), tokens.createAccessToken({ uid: 'ada' })]
  tokens.setCallbackTokenBlocklist(async (token) => token === bad)
  strictEqual((await tokens.verify(good)).sub, 'ada')
  await refuses(tokens.verify(bad), 'TOKEN_REVOKED')
  tokens.setCallbackTokenBlocklist(async () => {
    throw new Error('no connection')
  })
  await refuses(tokens.verify(good), 'REVOCATION_UNAVAILABLE')
}

const never = () => new Promise(() => {})

async function tryDeadline() {
  const tokens = createManager({ JWT_REVOCATION_TIMEOUT: '50ms' })
  const token = tokens.createAccessToken({ uid: 'ada' })
  let signal
  tokens.setCallbackTokenBlocklist((_, context) => {
    signal = context.signal
    return never()
  })
  await refuses(tokens.verify(token), 'REVOCATION_UNAVAILABLE')
  ok(signal.aborted, 'the callback is told')
}

function createSilent() {
  const { isRevokedNow: _, ...store } = createMemoryStore()
  return createManager(
    { JWT_REVOCATION_TIMEOUT: '50ms' },
    { store: defineStore({ ...store, lookup: never }), clock: () => Date.now() },
  )
}

async function trySilentStore() {
  const tokens = createSilent()
  await refuses(tokens.verify(tokens.createAccessToken({ uid: 'ada' })), 'REVOCATION_UNAVAILABLE')
  // A check of a store that has answered before takes another path.
  await tokens.ready()
  await refuses(tokens.verify(tokens.createAccessToken({ uid: 'ada' })), 'REVOCATION_UNAVAILABLE')
}

async function tryManySilent() {
  const tokens = createSilent()
  await tokens.ready()
  const checks = Array.from({ length: 200 }, () => tokens.verify(tokens.createAccessToken({ uid: 'ada' })))
  for (const check of checks) check.catch(() => undefined)
  for (const check of checks) await refuses(check, 'REVOCATION_UNAVAILABLE')
}

async function tryRevocations() {
  for (const revoke of [
    (tokens, payload) => tokens.revoke.token(payload),
    (tokens) => tokens.revoke.user('ada'),
    (tokens) => tokens.revoke.key(tokens.keys.current),
    (tokens) => tokens.revoke.all(),
  ]) {
    const tokens = createManager({}, { store: createMemoryStore(), clock: () => Date.now() })
    const token = tokens.createAccessToken({ uid: 'ada' })
    await revoke(tokens, await tokens.verify(token))
    await refuses(tokens.verify(token), 'TOKEN_REVOKED')
  }
}

function createSessions() {
  const clock = Object.assign(() => clock.milliseconds, { milliseconds: NOW * 1000 })
  return { clock, tokens: createManager({}, { clock, store: createMemoryStore({ clock }) }) }
}

async function tryRotation() {
  const { tokens, clock } = createSessions()
  const first = await tokens.sessions.open({ uid: 'ada' })
  const second = await tokens.sessions.refresh(first.refreshToken)
  strictEqual((await tokens.verify(second.accessToken)).sub, 'ada')
  // The first token is used up when the second is used, and not before.
  clock.milliseconds += 60_000
  await tokens.sessions.refresh(first.refreshToken)
  await tokens.sessions.refresh(second.refreshToken)
  await refuses(tokens.sessions.refresh(first.refreshToken), 'REFRESH_SUPERSEDED')
  clock.milliseconds += 60_000
  await refuses(tokens.sessions.refresh(first.refreshToken), 'REFRESH_TOKEN_REUSED')
  await refuses(tokens.sessions.refresh(second.refreshToken), 'TOKEN_REVOKED')
  await refuses(tokens.verify(second.accessToken), 'TOKEN_REVOKED')
}

async function tryRace() {
  const { tokens } = createSessions()
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  const pairs = await Promise.all(Array.from({ length: 10 }, () => tokens.sessions.refresh(refreshToken)))
  for (const { accessToken } of pairs) strictEqual((await tokens.verify(accessToken)).sub, 'ada')
}

async function trySessions() {
  const { tokens } = createSessions()
  const first = await tokens.sessions.open({ uid: 'ada' }, { userAgent: 'one' })
  const second = await tokens.sessions.open({ uid: 'ada' }, { userAgent: 'two' })
  const listed = await tokens.sessions.list('ada')
  deepStrictEqual(listed.map(({ userAgent }) => userAgent).toSorted(), ['one', 'two'])
  await tokens.revoke.session((await tokens.verify(first.accessToken)).sid)
  await refuses(tokens.verify(first.accessToken), 'TOKEN_REVOKED')
  strictEqual((await tokens.verify(second.accessToken)).sub, 'ada')
}

async function tryReplica() {
  const shared = createMemoryStore()
  const [first, second] = [1, 2].map(() => replicate(shared, { bound: '1s' }))
  const [writer, reader] = [first, second].map((revocation) =>
    createManager({}, { store: revocation, clock: () => Date.now() }),
  )
  try {
    await Promise.all([writer.ready(), reader.ready()])
    const { accessToken } = await writer.sessions.open({ uid: 'ada' })
    await writer.logout(await reader.verify(accessToken), { everywhere: true })
    await refuses(reader.verify(accessToken), 'TOKEN_REVOKED')
  } finally {
    await Promise.all([first.close(), second.close()])
  }
}

async function tryHealth() {
  const { tokens } = createSessions()
  await tokens.ready()
  strictEqual((await tokens.health()).status, 'up')
}
