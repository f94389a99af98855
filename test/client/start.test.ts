import { afterEach, describe, expect, test, vi } from 'vitest'
import { ADA, createPauses, openServer, unavailable } from './open-server.js'

const COOKIES = { JWT_TOKEN_LOCATION: 'cookies' } as const

/** A page that is loaded again after a login, and the pauses that it makes: they pass immediately. */
async function reload(onPause?: (end: () => void) => void) {
  const server = await openServer(COOKIES)
  const { pauses, clock } = createPauses(onPause)
  const { client: before, reload: create, jar } = server.createCookieClient({ clock })
  await before.logIn(ADA)
  const client = create()
  const offline: string[] = []
  client.on('offline', ({ code }) => offline.push(code))
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
  return { ...server, client, jar, create, offline, pauses }
}

afterEach(() => vi.restoreAllMocks())

const ASK = 'GET /auth/session'
const OUT = unavailable({})

describe('start', () => {
  test('waits for a server that is not available, with growing pauses', async () => {
    const { client, plan, offline, pauses } = await reload()
    plan(ASK, OUT, () => null, OUT, OUT, OUT, OUT, OUT, OUT)
    expect(await client.start()).toMatchObject({ sub: 'ada' })
    expect(offline).toEqual(Array.from({ length: 8 }, () => 'UNAVAILABLE'))
    expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000])
  })

  test('is not logged out by an outage while the access token is renewed', async () => {
    const { client, clock, plan, offline } = await reload()
    clock.seconds += 16 * 60
    plan('POST /auth/refresh', OUT, OUT)
    expect(await client.start()).toMatchObject({ sub: 'ada' })
    expect(offline).toEqual(['UNAVAILABLE', 'UNAVAILABLE'])
  })

  test('waits as long as the server asks for, at most five minutes, and not to the second', async () => {
    const { client, plan, pauses } = await reload()
    const limited = (seconds: string) => () =>
      Response.json({ code: 'RATE_LIMITED' }, { status: 429, headers: { 'retry-after': seconds } })
    plan(ASK, limited('60'), limited('99999999'), unavailable({ 'retry-after': '40' }))
    expect(await client.start()).toMatchObject({ sub: 'ada' })
    expect(pauses).toEqual([60_500, 301_000, 42_000])
  })

  test('knows immediately that nobody is logged in', async () => {
    const { createClient, createCookieClient, plan, sent } = await openServer(COOKIES)
    plan(ASK, OUT)
    expect(await createClient().start()).toBeNull()
    expect(await createCookieClient().client.start()).toBeNull()
    expect(sent()).toEqual([])
  })

  test('takes the answer that there is no session', async () => {
    const { client, tokens, offline } = await reload()
    await tokens.revoke.user('ada')
    expect(await client.start()).toBeNull()
    expect(offline).toEqual([])
  })

  test.each([
    ['a page of something else', () => new Response('<html>'), 'ANSWER_INVALID'],
    ['a path without session routes', () => new Response('', { status: 404 }), 'ANSWER_INVALID'],
  ])('does not wait for %s', async (_, answer, code) => {
    const { client, plan } = await reload()
    plan(ASK, answer)
    await expect(client.start()).rejects.toMatchObject({ code })
  })

  test('ends when its signal aborts: before, during a request and during a pause', async () => {
    const pause = new AbortController()
    const { client, plan, sent } = await reload(() => pause.abort('pause'))
    const asked = sent().length
    await expect(client.start({ signal: AbortSignal.abort('before') })).rejects.toBe('before')
    const during = new AbortController()
    plan(ASK, async (_, next) => {
      during.abort('request')
      return next()
    })
    await expect(client.start({ signal: during.signal })).rejects.toBe('request')
    plan(ASK, unavailable({ 'retry-after': '300' }))
    await expect(client.start({ signal: pause.signal })).rejects.toBe('pause')
    expect(sent().length - asked).toBeLessThanOrEqual(3)
  })

  test('has the session of a login during a pause', async () => {
    const { client, plan } = await reload()
    plan(ASK, OUT)
    const entered = new Promise((resolve) => client.on('offline', () => resolve(client.logIn(ADA))))
    const started = client.start()
    expect(await started).toMatchObject({ sub: 'ada' })
    await entered
  })

  test('refuses an unknown option', async () => {
    const { client } = await reload()
    expect(() => client.start({ timeout: 1 } as object)).toThrow(TypeError)
  })
})

describe('endOtherSessions', () => {
  test('ends every session but its own, and resolves to their number', async () => {
    const { createClient } = await openServer()
    const [phone, laptop] = [createClient(), createClient()]
    await laptop.logIn(ADA)
    await phone.logIn(ADA)
    expect(await laptop.endOtherSessions()).toBe(1)
    expect(await laptop.endOtherSessions()).toBe(0)
    expect(await laptop.session()).toMatchObject({ sub: 'ada' })
    expect(await phone.session()).toBeNull()
  })

  test('rejects without a session', async () => {
    const { createClient } = await openServer()
    await expect(createClient().endOtherSessions()).rejects.toMatchObject({ code: 'TOKEN_MISSING' })
  })
})
