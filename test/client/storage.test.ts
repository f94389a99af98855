import { describe, expect, test } from 'vitest'
import { createTokenClient, type TokenClient } from '../../packages/client/src/index.js'
import { createVirtualClock } from '../../packages/tokenlib/src/testing/clocks.js'
import { ADA, BOB, createPauses, createSignal, hold, unavailable } from './open-server.js'
import { createDevice, locked, openDevice } from './open-storage.js'

const EXPIRED = 16 * 60
const REFRESH = 'POST /auth/refresh'

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** An app with a user who is logged in, and what it sent since then. */
async function openLoggedIn() {
  const opened = await openDevice()
  const client = opened.startApp()
  await client.logIn(ADA)
  opened.events.length = opened.device.calls.length = 0
  const before = opened.requests.length
  const fetchNotes = async (app: TokenClient = client): Promise<number> =>
    (await app.fetch(`${opened.origin}/notes`)).status
  const expire = (): void => void (opened.clock.seconds += EXPIRED)
  return { ...opened, client, fetchNotes, expire, since: () => opened.sent(before) }
}

describe('an app that is started again', () => {
  test('has its session, after one refresh for all requests', async () => {
    const { startApp, fetchNotes, since, device, events } = await openLoggedIn()
    const app = startApp()
    expect(await Promise.all(Array.from({ length: 10 }, () => fetchNotes(app)))).toEqual(Array(10).fill(200))
    expect(since().filter((route) => route === REFRESH)).toHaveLength(1)
    expect(await startApp().start()).toMatchObject({ sub: 'ada', claims: { role: 'reader' } })
    expect(events).toEqual(['refreshed', 'refreshed'])
    expect(device.calls).toEqual(['read', 'read', 'write', 'read'])
  })

  test('has stored a refresh token and nothing else, which fits into every key store', async () => {
    const { device, tokens } = await openLoggedIn()
    const payload = await tokens.verify(device.stored ?? '', { type: 'refresh' })
    expect(payload.sub).toBe('ada')
    // Keys of Android and iOS have had limits of 2,048 bytes.
    expect(device.stored?.length).toBeLessThan(1024)
  })

  test('without a login: no request is sent to find that out', async () => {
    const { startApp, since, events } = await openLoggedIn()
    const { storage } = createDevice()
    expect(await startApp({ storage }).start()).toBeNull()
    expect(await startApp({ storage }).session()).toBeNull()
    expect([since(), events]).toEqual([[], []])
  })

  test('during an outage, waits for the server', async () => {
    const { startApp, plan, events } = await openLoggedIn()
    const { clock } = createPauses()
    plan(
      REFRESH,
      unavailable({}),
      () => null,
      () => new Response('<h1>Wi-Fi</h1>', { status: 401 }),
    )
    const app = startApp({ clock })
    await expect(app.start()).rejects.toMatchObject({ code: 'ANSWER_INVALID' })
    expect(await app.start()).toMatchObject({ sub: 'ada' })
    expect(events).toEqual([
      'offline UNAVAILABLE',
      'offline UNAVAILABLE',
      'offline ANSWER_INVALID',
      'refreshed',
    ])
  })

  test('keeps its token while a deployment with a wrong key refuses it', async () => {
    const { startApp, plan, events, device } = await openLoggedIn()
    const { stored } = device
    plan(REFRESH, () => Response.json({ code: 'TOKEN_SIGNATURE_INVALID' }, { status: 401 }))
    const app = startApp()
    await expect(app.session()).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      cause: { code: 'TOKEN_SIGNATURE_INVALID' },
    })
    expect(device.stored).toBe(stored)
    expect(await app.session()).toMatchObject({ sub: 'ada' })
    expect(events).toEqual(['offline UNAVAILABLE', 'refreshed'])
  })

  test('and while only some servers of a deployment know the new key', async () => {
    const { client, startApp, plan, events, device, tokens } = await openLoggedIn()
    const refused = () => Response.json({ code: 'TOKEN_SIGNATURE_INVALID' }, { status: 401 })
    plan('GET /auth/session', refused, refused)
    await expect(client.session()).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      cause: { code: 'TOKEN_SIGNATURE_INVALID' },
    })
    expect(device.stored).not.toBeNull()
    expect(await client.session()).toMatchObject({ sub: 'ada' })
    expect(events).toEqual(['refreshed'])
    const app = startApp({ clock: createPauses().clock })
    await app.start()
    plan('GET /auth/session', refused, refused, refused, refused)
    expect(await app.start()).toMatchObject({ sub: 'ada' })
    expect(events).not.toContain('loggedOut')
    // The refresh route still ends it.
    await tokens.revoke.user('ada')
    plan('GET /auth/session', refused)
    expect(await app.session()).toBeNull()
    expect(device.stored).toBeNull()
  })
})

describe('a refresh token that is not stored', () => {
  test.each([0, 3 * 3600])('a response is lost: the previous one works %i seconds later', async (seconds) => {
    const { client, fetchNotes, expire, plan, clock, device, startApp, events } = await openLoggedIn()
    expire()
    const { stored } = device
    plan(REFRESH, async (_request, next) => {
      await next()
      return null
    })
    await expect(fetchNotes(client)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(device.stored).toBe(stored)
    clock.seconds += seconds
    expect(await fetchNotes(client)).toBe(200)
    expect(device.stored).not.toBe(stored)
    expect(await fetchNotes(startApp())).toBe(200)
    expect(events).toEqual(['offline UNAVAILABLE', 'refreshed', 'refreshed'])
  })

  test('the app is killed before the write', async () => {
    const { fetchNotes, expire, device, startApp } = await openLoggedIn()
    expire()
    const killed = new Promise<void>((resolve) => {
      device.before.write = () => {
        resolve()
        return new Promise(() => {})
      }
    })
    fetchNotes().catch(() => {})
    await killed
    device.before = {}
    expect(await fetchNotes(startApp())).toBe(200)
  })

  test('is not used, and the stored one is refreshed again', async () => {
    const { fetchNotes, expire, device, startApp, events } = await openLoggedIn()
    const { stored } = device
    device.before.write = locked
    for (let round = 0; round < 3; round++) {
      expire()
      expect(await fetchNotes()).toBe(200)
    }
    expect(device.stored).toBe(stored)
    device.before = {}
    expire()
    expect(await fetchNotes()).toBe(200)
    expire()
    expect(await fetchNotes(startApp())).toBe(200)
    const failed = ['storageFailed STORAGE_FAILED', 'refreshed']
    expect(events).toEqual([...failed, ...failed, ...failed, 'refreshed', 'refreshed'])
  })

  test('at a login: it is in memory until the storage works again', async () => {
    const { startApp, fetchNotes, expire, client, device, events } = await openLoggedIn()
    device.before.write = locked
    expect(await client.logIn(BOB)).toMatchObject({ sub: 'bob' })
    // The next start must not bring back the user before.
    expect(device.stored).toBeNull()
    for (let round = 0; round < 2; round++) {
      expect(await fetchNotes()).toBe(200)
      expire()
    }
    expect(await client.session()).toMatchObject({ sub: 'bob' })
    device.before = {}
    expire()
    expect(await fetchNotes()).toBe(200)
    expire()
    expect(await startApp().start()).toMatchObject({ sub: 'bob' })
    expect(await fetchNotes()).toBe(200)
    const failed = 'storageFailed STORAGE_FAILED'
    expect(events.filter((name) => name !== 'refreshed')).toEqual(['loggedIn', failed, failed, failed])
  })

  test.each(['logOut', 'logOutEverywhere'] as const)(
    'at a login whose token cannot be stored, %s ends the session',
    async (logOut) => {
      const { startApp, device, tokens, events, requests } = await openDevice()
      device.before = { write: locked, remove: locked }
      const client = startApp()
      await client.logIn(ADA)
      device.before = {}
      await client[logOut]()
      expect(await tokens.sessions.list('ada')).toEqual([])
      const count = requests.length
      expect(await client.session()).toBeNull()
      expect(requests).toHaveLength(count)
      expect(events).toEqual(['loggedIn', 'storageFailed STORAGE_FAILED', 'loggedOut'])
    },
  )

  test('at a login whose token cannot be stored, the server ends the session', async () => {
    const { startApp, origin, device, tokens, events } = await openDevice()
    device.before = { write: locked, remove: locked }
    const client = startApp()
    await client.logIn(BOB)
    device.before = {}
    await startApp().logIn(ADA)
    await tokens.revoke.user('bob')
    expect((await client.fetch(`${origin}/notes`)).status).toBe(401)
    // Ada's token is stored, but her session does not go on in place of Bob's.
    expect(events).toEqual(['loggedIn', 'storageFailed STORAGE_FAILED', 'loggedIn', 'loggedOut'])
  })

  test.each([
    ['', {}],
    [' or read', { read: locked }],
  ])(
    'at a login while a token of another user is stored that cannot be removed%s: it is rejected',
    async (_name, more) => {
      const { client, startApp, fetchNotes, device, tokens, events } = await openLoggedIn()
      device.before = { write: locked, remove: locked, ...more }
      await expect(client.logIn(BOB)).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
      expect(await tokens.sessions.list('bob')).toEqual([])
      expect(await fetchNotes()).toBe(401)
      expect(events).toEqual(['loggedIn', 'storageFailed STORAGE_FAILED', 'loggedOut'])
      device.before = {}
      // As if Bob had not logged in.
      expect(await startApp().start()).toMatchObject({ sub: 'ada' })
      expect(await client.logIn(BOB)).toMatchObject({ sub: 'bob' })
      expect(await startApp().start()).toMatchObject({ sub: 'bob' })
    },
  )

  test('at a login while the removal of another token hangs: it is rejected after 25 seconds', async () => {
    const { startApp, device } = await openLoggedIn()
    const clock = createVirtualClock()
    const removing = createSignal()
    device.before.write = locked
    device.before.remove = () => {
      removing.send()
      return new Promise(() => {})
    }
    const rejected = expect(startApp({ clock }).logIn(BOB)).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    await removing.sent
    await clock.advance('25s')
    await rejected
  })

  test('at a login whose write fails after it has stored the token: the session goes on', async () => {
    const { startApp, device, tokens } = await openLoggedIn()
    const write = async (token: string): Promise<void> => {
      device.stored = token
      locked()
    }
    device.before.remove = locked
    const client = startApp({ storage: { ...device.storage, write } })
    expect(await client.logIn(BOB)).toMatchObject({ sub: 'bob' })
    expect(await tokens.sessions.list('bob')).toHaveLength(1)
    expect(await startApp().start()).toMatchObject({ sub: 'bob' })
  })

  test('at a login that is rejected without a connection: its session does not go on', async () => {
    const { client, device, plan } = await openLoggedIn()
    device.before = { write: locked, remove: locked }
    plan('POST /auth/logout', () => null)
    await expect(client.logIn(BOB)).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(await client.session()).toMatchObject({ sub: 'ada' })
  })
})

describe('a storage that cannot be read', () => {
  test.each([
    ['throws', locked],
    ['has a number', 1],
    ['has nothing, and does not say null', undefined],
    ['has an empty text', ''],
    ['has a part of a token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIi'],
  ])('%s: nothing is sent or deleted, and it may be read later', async (_name, value) => {
    const { startApp, fetchNotes, device, since, events } = await openLoggedIn()
    const { stored } = device
    if (typeof value === 'function') device.before.read = value
    else device.stored = value as never
    const app = startApp()
    await expect(app.start()).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    await expect(fetchNotes(app)).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect([since(), device.calls]).toEqual([[], ['read', 'read']])
    device.before = {}
    device.stored = stored
    expect(await app.start()).toMatchObject({ sub: 'ada' })
    const failed = 'storageFailed STORAGE_FAILED'
    expect(events).toEqual([failed, failed, 'refreshed'])
  })

  test('a login replaces what is wrong in it', async () => {
    const { startApp, origin, device } = await openDevice()
    device.stored = 'corrupt'
    const app = startApp()
    await app.logIn(ADA)
    expect((await app.fetch(`${origin}/notes`)).status).toBe(200)
    expect(await startApp().start()).toMatchObject({ sub: 'ada' })
  })

  test('in time: it fails after 25 seconds, and at once until the call that hangs has ended', async () => {
    const { device, startApp } = await openLoggedIn()
    const clock = createVirtualClock()
    const app = startApp({ clock })
    const reading = createSignal()
    const released = createSignal()
    device.before.read = () => {
      reading.send()
      return released.sent
    }
    const failed = expect(app.session()).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      cause: { name: 'TimeoutError' },
    })
    await reading.sent
    await clock.advance('25s')
    await failed
    await expect(app.session()).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    released.send()
    await turns()
    expect(await app.start()).toMatchObject({ sub: 'ada' })
  })
})

describe('a login whose token is being written', () => {
  /** An app that has logged Ada in, but its storage hangs. */
  async function openHanging() {
    const opened = await openDevice()
    const { device, startApp, origin } = opened
    const clock = createVirtualClock()
    const client = startApp({ clock })
    const writing = createSignal()
    const released = createSignal()
    device.before.write = () => {
      writing.send()
      return released.sent
    }
    let isLoggedIn = false
    const login = client.logIn(ADA).then((session) => {
      isLoggedIn = true
      return session
    })
    await writing.sent
    const release = async (): Promise<void> => {
      device.before = {}
      released.send()
      await turns()
    }
    const expire = async (): Promise<void> => {
      opened.clock.seconds += EXPIRED
      await clock.advance(EXPIRED)
    }
    const fetchNotes = async (): Promise<number> => (await client.fetch(`${origin}/notes`)).status
    return { ...opened, client, clock, login, release, expire, fetchNotes, isLoggedIn: () => isLoggedIn }
  }
  test('waits for it, while requests are sent', async () => {
    const { fetchNotes, login, release, isLoggedIn, startApp } = await openHanging()
    expect(await fetchNotes()).toBe(200)
    expect(isLoggedIn()).toBe(false)
    await release()
    expect(await login).toMatchObject({ sub: 'ada' })
    expect(await startApp().start()).toMatchObject({ sub: 'ada' })
  })

  test('waits for at most 25 seconds, and the session goes on', async () => {
    const { clock, login, fetchNotes, expire, release, device, events, startApp } = await openHanging()
    await clock.advance('25s')
    expect(await login).toMatchObject({ sub: 'ada' })
    expect(events).toEqual(['loggedIn', 'storageFailed STORAGE_FAILED'])
    // Nothing waits for the storage a second time.
    await expire()
    expect(await fetchNotes()).toBe(200)
    await release()
    expect(device.calls).toEqual(['write', 'write'])
    expect(await startApp().start()).toMatchObject({ sub: 'ada' })
  })

  test('can be logged out, and is not stored afterwards', async () => {
    const { clock, client, login, tokens, release, device } = await openHanging()
    const rejected = expect(login).rejects.toMatchObject({ code: 'SESSION_CHANGED' })
    const logout = expect(client.logOut()).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    await turns()
    await clock.advance('25s')
    await Promise.all([logout, rejected])
    expect(await tokens.sessions.list('ada')).toEqual([])
    await release()
    expect([device.stored, await client.session()]).toEqual([null, null])
  })

  test('can be logged out, whatever becomes of the write', async () => {
    const { client, login, release, device, events } = await openHanging()
    const rejected = expect(login).rejects.toMatchObject({ code: 'SESSION_CHANGED' })
    const logout = client.logOut()
    await turns()
    await release()
    await Promise.all([logout, rejected])
    expect([device.stored, events]).toEqual([null, ['loggedIn', 'loggedOut']])
  })

  test('and a later one are not stored after a logout', async () => {
    const { clock, client, login, release, device } = await openHanging()
    await clock.advance('25s')
    await login
    await client.logIn(BOB)
    await expect(client.logOut()).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    await release()
    expect(device.calls).toEqual(['write', 'remove'])
  })

  test('does not replace a later one', async () => {
    const { clock, client, login, release, device, startApp } = await openHanging()
    await clock.advance('25s')
    await login
    expect(await client.logIn(BOB)).toMatchObject({ sub: 'bob' })
    await release()
    expect(device.calls).toEqual(['write', 'write'])
    expect(await startApp().start()).toMatchObject({ sub: 'bob' })
  })
})

describe('two processes of an app', () => {
  test('refresh at the same time and in turns, and stay logged in', async () => {
    const { client, startApp, fetchNotes, expire, events } = await openLoggedIn()
    const widget = startApp()
    for (let round = 0; round < 2; round++) {
      expire()
      expect(await Promise.all([fetchNotes(client), fetchNotes(widget)])).toEqual([200, 200])
      for (const app of [client, client, widget, widget, client]) {
        expire()
        expect(await fetchNotes(app)).toBe(200)
      }
    }
    expect(new Set(events)).toEqual(new Set(['refreshed']))
  })

  test('what one of them gets too late does not replace the newer token', async () => {
    const { client, startApp, fetchNotes, expire, plan, device } = await openLoggedIn()
    expire()
    const refresh = hold(plan, REFRESH)
    const late = fetchNotes(client)
    await refresh.reached
    const widget = startApp()
    for (let round = 0; round < 3; round++) {
      expire()
      await fetchNotes(widget)
    }
    const { stored } = device
    refresh.release()
    await late
    expect(device.stored).toBe(stored)
    expire()
    expect([await fetchNotes(client), await fetchNotes(widget)]).toEqual([200, 200])
  })

  test('a token that the other has just replaced is read again', async () => {
    const { startApp, fetchNotes, expire, plan, since } = await openLoggedIn()
    const { clock, pauses } = createPauses()
    const [app, widget] = [startApp({ clock }), startApp()]
    expire()
    plan(REFRESH, async (_request, next) => {
      expect(await fetchNotes(widget)).toBe(200)
      expire()
      expect(await fetchNotes(widget)).toBe(200)
      return next()
    })
    expect(await fetchNotes(app)).toBe(200)
    expect(pauses).toEqual([1000])
    expect(since().filter((route) => route === REFRESH)).toHaveLength(4)
  })

  test('a logout of one ends the session of the other, without a refresh', async () => {
    const { client, startApp, fetchNotes, since, events } = await openLoggedIn()
    const widget = startApp()
    await widget.start()
    await client.logOut()
    const count = since().length
    expect(await fetchNotes(widget)).toBe(401)
    expect(since().slice(count)).toEqual(['GET /notes'])
    expect(events).toEqual(['refreshed', 'loggedOut', 'loggedOut'])
    await client.logIn(BOB)
    expect(await widget.session()).toMatchObject({ sub: 'bob' })
  })

  test('a login of one is not removed when the server refuses the token of the other', async () => {
    const { client, startApp, fetchNotes, expire, plan, tokens, events } = await openLoggedIn()
    expire()
    plan(REFRESH, async (_request, next) => {
      await tokens.revoke.user('ada')
      await startApp().logIn(BOB)
      return next()
    })
    // Nothing is repeated in the name of somebody else.
    expect(await fetchNotes(client)).toBe(401)
    expect(await client.session()).toMatchObject({ sub: 'bob' })
    expect(events).toEqual(['loggedIn', 'loggedIn'])
  })
})

describe('the end of a session', () => {
  test('a logout revokes it, and removes the token first', async () => {
    const { client, startApp, tokens, device, plan } = await openLoggedIn()
    plan('POST /auth/logout', async (_request, next) => {
      expect(device.stored).toBeNull()
      return next()
    })
    await client.logOut()
    expect(await tokens.sessions.list('ada')).toEqual([])
    expect(await startApp().start()).toBeNull()
  })

  test('a logout without a connection rejects, but the device has forgotten the token', async () => {
    const { client, startApp, plan, device } = await openLoggedIn()
    plan('POST /auth/logout', () => null)
    await expect(client.logOut()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(device.stored).toBeNull()
    expect(await client.session()).toBeNull()
    expect(await startApp().start()).toBeNull()
  })

  test('a logout whose token cannot be removed revokes it, and rejects', async () => {
    const { client, startApp, tokens, device } = await openLoggedIn()
    device.before.remove = locked
    await expect(client.logOut()).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(await tokens.sessions.list('ada')).toEqual([])
    device.before = {}
    expect(await startApp().start()).toBeNull()
    expect(device.stored).toBeNull()
  })

  test('a logout whose token cannot be read removes it, ends the session by the token in memory, and rejects', async () => {
    const { client, device, tokens } = await openLoggedIn()
    device.before.read = locked
    await expect(client.logOut()).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(device.stored).toBeNull()
    expect(await tokens.sessions.list('ada')).toEqual([])
  })

  test('by the server: the token is removed', async () => {
    const { client, fetchNotes, tokens, device, events } = await openLoggedIn()
    await tokens.revoke.user('ada')
    expect(await fetchNotes()).toBe(401)
    expect(await client.session()).toBeNull()
    expect([device.stored, events]).toEqual([null, ['loggedOut']])
  })

  test.each([
    ['logOutEverywhere', (client: TokenClient) => client.logOutEverywhere()],
    ['endSession', async (client: TokenClient) => client.endSession((await client.session())?.id ?? '')],
  ])('%s removes the token', async (_name, end) => {
    const { client, device, events } = await openLoggedIn()
    await end(client)
    expect([device.stored, events]).toEqual([null, ['loggedOut']])
  })

  test('stepUp stores the next token', async () => {
    const { client, expire, device, startApp } = await openLoggedIn()
    const { stored } = device
    expire()
    expect(await client.stepUp(ADA)).toMatchObject({ fresh: true })
    expect(device.stored).not.toBe(stored)
    await expect(client.stepUp(BOB)).rejects.toMatchObject({ code: 'CREDENTIALS_INVALID' })
    expect(await startApp().start()).toMatchObject({ sub: 'ada' })
  })
})

test.each([
  { storage: undefined },
  { storage: null },
  { storage: {} },
  { storage: { read: async () => null, write: async () => {} } },
  { storage: createDevice().storage, transport: 'cookies' },
  { storage: createDevice().storage, proof: async () => new Response() },
])('%o is a TypeError', (options) => {
  expect(() => createTokenClient(options as never)).toThrow(TypeError)
})
