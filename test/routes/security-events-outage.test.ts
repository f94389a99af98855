import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { TokenConfig, type TokenConfigOptions, TokenManager } from '../../packages/tokenlib/src/index.js'
import {
  createBackChannelLogout,
  createEventReceiver,
  createGlobalTokenRevocation,
  trustIssuer,
} from '../../packages/issuers/src/index.js'
import { MAX_DEFERRED } from '../../packages/tokenlib/src/revocation/revoker.js'
import type { RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { createTimedClock, PATIENT, SECRET, withBearer } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import {
  accessToken,
  API,
  CLIENT,
  eventToken,
  ID,
  logoutToken,
  RISC,
  sendEvent,
  sendLogout,
  sendRevocation,
} from './security-events-fixture.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

/** A store that fails while it is down, and what it has: `data` never fails. */
function createFailing() {
  const clock = createTimedClock()
  const data = createMemoryStore({ clock })
  const state = { isDown: false, failsOnly: null as string | null }
  const failing = <Method extends (...given: never[]) => Promise<unknown>>(name: string, method: Method) =>
    (async (...given) => {
      if (state.isDown && (state.failsOnly ?? name) === name) throw new Error('ECONNREFUSED')
      return method(...given)
    }) as Method
  const store: RevocationStore = {
    ...data,
    prepare: failing('prepare', data.prepare),
    revoke: failing('revoke', data.revoke),
    claim: failing('claim', data.claim),
    restore: failing('restore', data.restore as NonNullable<typeof data.restore>),
    lookup: failing('lookup', data.lookup),
    feed: failing('feed', data.feed),
    // What it has can be looked at afterwards.
    close: async () => undefined,
  }
  const start = (given: RevocationStore = store, options: TokenConfigOptions = {}) => {
    const tokens = new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT, ...options }),
      clock,
      store: given,
      issuers: [
        trustIssuer({
          issuer: ID.issuer,
          audience: API,
          keys: { keys: [ID.jwk] },
          subjectPrefix: 'id:',
          leeway: 0,
        }),
      ],
    })
    return { tokens, logout: createBackChannelLogout(tokens, { clientId: CLIENT }) }
  }
  return { clock, data, store, state, start }
}

type Failing = ReturnType<typeof createFailing>

const hasWritten = async ({ data }: Failing): Promise<boolean> => {
  const { entries } = await data.feed(null, { waitMs: 0 })
  return entries.some(({ kind }) => kind === 'token')
}

const written = async (failing: Failing): Promise<void> => {
  while (!(await hasWritten(failing))) await failing.clock.advance('10ms')
}

describe('a logout while the store does not answer', () => {
  test('is accepted, refused here immediately, and written when the store is back', async () => {
    const failing = createFailing()
    const { tokens, logout } = failing.start()
    const other = failing.start(failing.data).tokens
    await tokens.ready()
    const token = accessToken(ID, 'ada', 'tablet')
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
    failing.state.isDown = true
    expect((await sendLogout(logout, logoutToken())).status).toBe(200)
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(other.verify(token))).toBe('ok')
    expect(await hasWritten(failing)).toBe(false)
    failing.state.isDown = false
    // Also before it is written.
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
    await written(failing)
    expect(await outcomeOf(other.verify(token))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
  })

  test('is kept if only a lookup fails: a replica cannot tell whether it was used a moment ago', async () => {
    const failing = createFailing()
    const { tokens, logout } = failing.start(replicate(failing.store, { bound: '1m', clock: failing.clock }))
    await tokens.ready()
    Object.assign(failing.state, { isDown: true, failsOnly: 'lookup' })
    expect((await sendLogout(logout, logoutToken())).status).toBe(200)
    expect(await outcomeOf(tokens.verify(accessToken(ID, 'ada', 'tablet')))).toBe('TOKEN_REVOKED')
    expect(await hasWritten(failing)).toBe(false)
    failing.state.isDown = false
    await written(failing)
    await tokens.close()
  })

  test('is forgotten if another process had used its token, which a replica has not read', async () => {
    const failing = createFailing()
    const { watch: _, ...unwatched } = failing.store
    const store = replicate(unwatched, { bound: '1m', clock: failing.clock })
    const { tokens, logout } = failing.start(store)
    const other = failing.start(failing.data)
    await tokens.ready()
    failing.state.isDown = true
    const used = logoutToken({ sid: undefined })
    expect((await sendLogout(other.logout, used)).status).toBe(200)
    await failing.clock.advance(20)
    const seconds = Math.floor(failing.clock() / 1000)
    const token = ID.sign({ aud: API, sub: 'ada', iat: seconds, exp: seconds + 600 }, { typ: 'at+jwt' })
    await failing.clock.advance(20)
    expect(store.replica?.readState().isFresh).toBe(true)
    expect((await sendLogout(logout, used)).status).toBe(200)
    failing.state.isDown = false
    while ((await outcomeOf(tokens.verify(token))) !== 'ok') await failing.clock.advance('10ms')
    expect(await outcomeOf(other.tokens.verify(token))).toBe('ok')
    await store.close()
  })

  test('does not reach a token that was issued after it', async () => {
    const failing = createFailing()
    const { tokens, logout } = failing.start()
    await tokens.ready()
    failing.state.isDown = true
    expect((await sendLogout(logout, logoutToken({ sid: undefined }))).status).toBe(200)
    await failing.clock.advance(100)
    failing.state.isDown = false
    await written(failing)
    const seconds = Math.floor(failing.clock() / 1000)
    const claims = { aud: API, sub: 'ada', iat: seconds, exp: seconds + 600 }
    expect(await outcomeOf(tokens.verify(ID.sign(claims, { typ: 'at+jwt' })))).toBe('ok')
    expect(await outcomeOf(tokens.verify(accessToken(ID, 'ada')))).toBe('TOKEN_REVOKED')
  })

  test('is forgotten if its token had been used before: the user stays logged in', async () => {
    const failing = createFailing()
    const { tokens, logout } = failing.start()
    const used = logoutToken({ sid: undefined })
    expect((await sendLogout(logout, used)).status).toBe(200)
    await failing.clock.advance(30)
    const seconds = Math.floor(failing.clock() / 1000)
    const claims = { aud: API, sub: 'ada', iat: seconds, exp: seconds + 600 }
    const token = ID.sign(claims, { typ: 'at+jwt' })
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
    await failing.clock.advance(30)
    failing.state.isDown = true
    // Nobody can tell at this moment.
    expect((await sendLogout(logout, used)).status).toBe(200)
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
    failing.state.isDown = false
    while ((await outcomeOf(tokens.verify(token))) !== 'ok') await failing.clock.advance('10ms')
    const { entries } = await failing.data.feed(null, { waitMs: 0 })
    expect(entries.find(({ kind }) => kind === 'user')?.notBefore).toBeLessThan(seconds * 1000)
  })

  test('is forgotten if the key of its token had been revoked', async () => {
    const failing = createFailing()
    const { tokens, logout } = failing.start()
    await tokens.revoke.key('k1', { issuer: ID.issuer })
    failing.state.isDown = true
    expect((await sendLogout(logout, logoutToken())).status).toBe(200)
    failing.state.isDown = false
    await failing.clock.advance('300ms')
    const { entries } = await failing.data.feed(null, { waitMs: 0 })
    expect(new Set(entries.map(({ kind }) => kind))).toEqual(new Set(['key']))
  })

  test('is remembered as used: a repetition changes nothing', async () => {
    const failing = createFailing()
    const { tokens, logout } = failing.start()
    await tokens.ready()
    failing.state.isDown = true
    const token = logoutToken({ sid: undefined })
    const seen: string[] = []
    tokens.on('revoked', ({ kind }) => seen.push(kind))
    for (let at = 0; at < 5; at++) expect((await sendLogout(logout, token)).status).toBe(200)
    expect(seen).toEqual(['user', 'token'])
    failing.state.isDown = false
    await written(failing)
    expect((await sendLogout(logout, token)).status).toBe(200)
    expect(seen).toEqual(['user', 'token'])
  })

  test('is accepted as well if the store fails only when it is asked to revoke', async () => {
    const failing = createFailing()
    const { tokens, logout } = failing.start()
    await tokens.ready()
    failing.state.failsOnly = 'revoke'
    failing.state.isDown = true
    expect((await sendLogout(logout, logoutToken())).status).toBe(200)
    expect(await outcomeOf(tokens.verify(accessToken(ID, 'ada', 'tablet')))).toBe('TOKEN_REVOKED')
    await written(failing)
  })

  test('is accepted with a replica, and reaches the store', async () => {
    const failing = createFailing()
    const store = replicate(failing.store, { bound: '1m', clock: failing.clock })
    const { tokens, logout } = failing.start(store)
    await tokens.ready()
    failing.state.isDown = true
    const token = accessToken(ID, 'ada', 'tablet')
    expect((await sendLogout(logout, logoutToken())).status).toBe(200)
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
    failing.state.isDown = false
    await written(failing)
    expect(await outcomeOf(failing.start(failing.data).tokens.verify(token))).toBe('TOKEN_REVOKED')
    await store.close()
  })

  test('stays refused if the store has taken it, and neither its answer nor its feed has arrived', async () => {
    const failing = createFailing()
    const { watch: _, ...unwatched } = failing.store
    let attempts = 0
    const deaf: RevocationStore = {
      ...unwatched,
      restore: async (batch) => {
        await failing.store.restore?.(batch)
        attempts++
        await new Promise(() => {})
      },
    }
    const store = replicate(deaf, { bound: '1m', clock: failing.clock })
    const { tokens, logout } = failing.start(store, { JWT_REVOCATION_TIMEOUT: '100ms' })
    await tokens.ready()
    const token = accessToken(ID, 'ada', 'tablet')
    failing.state.isDown = true
    await failing.clock.advance('61s')
    expect(store.replica?.readState().isFresh).toBe(false)
    // So nobody knows whether this one was used before.
    expect((await sendLogout(logout, logoutToken())).status).toBe(200)
    failing.state.failsOnly = 'restore'
    while (store.replica?.readState().isFresh === false) await failing.clock.advance('1s')
    failing.state.failsOnly = 'feed'
    await written(failing)
    for (let round = 0; round < 50; round++) {
      await failing.clock.advance('100ms')
      expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
    }
    // The second time, it was found in the store.
    expect(attempts).toBe(1)
    await store.close()
  })

  test('closes sockets at once, also if the replica has become stale', async () => {
    const failing = createFailing()
    const store = replicate(failing.store, { bound: '1s', clock: failing.clock })
    const { tokens, logout } = failing.start(store)
    await tokens.ready()
    const upgrade = await tokens.sockets.authenticate(withBearer(accessToken(ID, 'ada', 'tablet')))
    const closed = new Promise<number>((resolve) => {
      const socket = { readyState: 1, close: resolve, addEventListener: () => undefined }
      tokens.sockets.closeWhenInvalid(socket, upgrade, { every: '1h' })
    })
    failing.state.isDown = true
    await failing.clock.advance('2s')
    expect(store.replica?.readState().isFresh).toBe(false)
    expect((await sendLogout(logout, logoutToken())).status).toBe(200)
    expect(await closed).toBe(4401)
    await store.close()
  })

  test('is a 503 with everywhere, although it is kept', async () => {
    const failing = createFailing()
    const store = replicate(failing.store, { bound: '1m', whenStale: 'ask', clock: failing.clock })
    const { tokens } = failing.start(store)
    await tokens.ready()
    const logout = createBackChannelLogout(tokens, { clientId: CLIENT, everywhere: true })
    failing.state.isDown = true
    expect((await sendLogout(logout, logoutToken())).status).toBe(503)
    expect(await outcomeOf(tokens.verify(accessToken(ID, 'ada', 'tablet')))).toBe('TOKEN_REVOKED')
    await store.close()
  })

  test('is a 503 once too many are waiting, and what was accepted is written', async () => {
    const failing = createFailing()
    const { tokens, logout } = failing.start()
    await tokens.ready()
    failing.state.isDown = true
    // A user of the issuer takes two entries, with the prefix and without. The last two users take one each: full.
    const others = Array.from({ length: MAX_DEFERRED / 2 - 1 }, (_, at) => `id:user ${at}`)
    const users = [...others, 'bob', 'the last']
    await Promise.all(users.map((user) => tokens.revoke.user(user, { deferUnless: [] })))
    expect((await sendLogout(logout, logoutToken())).status).toBe(503)
    const own = tokens.createAccessToken({ uid: 'bob' })
    await failing.clock.advance(1)
    failing.state.isDown = false
    const count = async (): Promise<number> =>
      (await failing.data.lookup([{ kind: 'user', id: 'the last' }])).filter(Boolean).length
    while ((await count()) === 0) await failing.clock.advance('10ms')
    expect(await outcomeOf(tokens.verify(own))).toBe('ok')
    expect((await sendLogout(logout, logoutToken())).status).toBe(200)
  })
})

describe('a manager that is closed while logouts wait', () => {
  test('writes them first', async () => {
    const failing = createFailing()
    const { tokens, logout } = failing.start()
    await tokens.ready()
    failing.state.isDown = true
    expect((await sendLogout(logout, logoutToken())).status).toBe(200)
    failing.state.isDown = false
    const closing = tokens.close()
    expect(internalsOf(tokens).isClosed).toBe(true)
    await closing
    expect(await hasWritten(failing)).toBe(true)
  })

  test('says how many are lost if the store does not answer, and stops trying', async () => {
    const failing = createFailing()
    const { tokens, logout } = failing.start()
    await tokens.ready()
    failing.state.isDown = true
    expect((await sendLogout(logout, logoutToken())).status).toBe(200)
    const warned = once(process, 'warning')
    await tokens.close()
    const [{ message }] = (await warned) as [Error]
    expect(message).toMatch(/[1-9] revocations are lost/)
    let calls = 0
    tokens.on('storeUnavailable', () => calls++)
    await failing.clock.advance('10s')
    expect(calls).toBe(0)
  })

  test('accepts no further one, whose revocation nobody would write', async () => {
    const failing = createFailing()
    const { tokens, logout } = failing.start()
    await tokens.ready()
    await tokens.close()
    expect((await sendLogout(logout, logoutToken())).status).toBe(503)
  })

  test('waits no longer than for one answer of the store', async () => {
    const failing = createFailing()
    const silent = { ...failing.store, restore: () => new Promise<void>(() => undefined) }
    const { tokens, logout } = failing.start(silent, { JWT_REVOCATION_TIMEOUT: '200ms' })
    await tokens.ready()
    failing.state.isDown = true
    expect((await sendLogout(logout, logoutToken())).status).toBe(200)
    failing.state.isDown = false
    const startedAt = failing.clock()
    await failing.clock.runUntil(tokens.close())
    expect(failing.clock() - startedAt).toBe(200)
  })
})

test('a security event while the store does not answer is accepted and written later', async () => {
  const failing = createFailing()
  const { tokens } = failing.start()
  await tokens.ready()
  const receiver = createEventReceiver(tokens, { audience: API })
  failing.state.isDown = true
  const subject = { format: 'iss_sub', iss: ID.issuer, sub: 'ada' }
  expect((await sendEvent(receiver, eventToken(`${RISC}account-disabled`, subject))).status).toBe(202)
  expect(await outcomeOf(tokens.verify(accessToken(ID, 'ada')))).toBe('TOKEN_REVOKED')
  failing.state.isDown = false
  await written(failing)
  expect(await outcomeOf(tokens.verify(accessToken(ID, 'ada')))).toBe('TOKEN_REVOKED')
})

test('Global Token Revocation is a 503: its subject is not signed, and only the store can bind the JWT to it', async () => {
  const failing = createFailing()
  const { tokens } = failing.start()
  await tokens.ready()
  const routes = createGlobalTokenRevocation(tokens, { audience: `${API}/global-token-revocation` })
  failing.state.isDown = true
  const subject = { format: 'iss_sub', iss: ID.issuer, sub: 'ada' }
  expect((await sendRevocation(routes, subject)).status).toBe(503)
  failing.state.isDown = false
  expect(await outcomeOf(tokens.verify(accessToken(ID, 'ada')))).toBe('ok')
})
