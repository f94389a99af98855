import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { defineStore, MAX_DATA_BYTES, type SessionStore } from '../../packages/tokenlib/src/kit.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'

const config = new TokenConfig({ JWT_SECRET_KEY: 'a-secret-of-more-than-thirty-two-bytes!' })
type Sessions = Required<SessionStore>

// A manager whose store answers some calls in its own way.
function create(options = {}, replace: (sessions: Sessions) => Partial<Sessions> = () => ({})) {
  const memory = createMemoryStore()
  const sessions = memory.sessions as Sessions
  const store = { ...memory, sessions: { ...sessions, ...replace(sessions) } }
  const tokens = new TokenManager({ config, store, ...options })
  const open = async (data?: object, uid = 'ada') => {
    const { accessToken } = await tokens.sessions.open({ uid }, { data: data as never })
    return (await tokens.verify(accessToken)).sid as string
  }
  const read = async (sid: string) => (await tokens.sessions.get(sid))?.data
  return { tokens, open, read, update: tokens.sessions.update, inner: sessions }
}

const thrownBy = async (run: Promise<unknown>): Promise<{ code?: string; message: string }> =>
  run.then(
    () => ({ code: 'nothing thrown', message: '' }),
    (error: Error) => error,
  )

test('data is set at the login and changed later, member by member', async () => {
  const { tokens, open, update, read } = create()
  const sid = await open({
    label: "Ada's phone",
    tenant: 'north',
    cart: { items: [1, null] },
    none: undefined,
    gone: null,
  })
  const data = { label: "Ada's phone", tenant: 'north', cart: { items: [1, null] } }
  expect(await read(sid)).toEqual(data)
  const updated = await update(sid, 'ada', { cart: { items: [2] }, tenant: undefined, extra: true })
  expect(updated).toEqual(await tokens.sessions.get(sid))
  expect(updated?.data).toEqual({ ...data, cart: { items: [2] }, extra: true })
  expect(await tokens.sessions.list('ada')).toEqual([updated])
  await update(sid, 'ada', { label: null, tenant: null, extra: null })
  expect(await read(sid)).toEqual({ cart: { items: [2] } })
  await update(sid, 'ada', { cart: null })
  expect(await read(sid)).toBeNull()
  expect((await update(sid, 'ada', {}))?.data).toBeNull()
  expect(await read(await open())).toBeNull()
  expect(await read(await open({}))).toBeNull()
})

test('data stays when the session is refreshed', async () => {
  const { tokens, read } = create()
  const { refreshToken, accessToken } = await tokens.sessions.open(
    { uid: 'ada' },
    { data: { label: 'phone' } },
  )
  await tokens.sessions.refresh(refreshToken)
  const { sid } = await tokens.verify(accessToken)
  expect(await read(String(sid))).toEqual({ label: 'phone' })
})

test('a member named __proto__ is a member', async () => {
  const { open, read } = create()
  const sid = await open(JSON.parse('{"__proto__":{"isAdmin":true}}') as object)
  const data = (await read(sid)) as object
  expect(Object.getPrototypeOf(data)).toBe(Object.prototype)
  expect(JSON.stringify(data)).toBe('{"__proto__":{"isAdmin":true}}')
})

describe('data that cannot be kept is refused, and nothing changes', () => {
  const cycle: { self?: object } = {}
  cycle.self = cycle
  let deep: unknown = 1
  for (let at = 0; at < 2000; at++) deep = [deep]
  const label = (value: unknown) => ({ label: value })

  test.each<[string, unknown]>([
    ['null', null],
    ['a text', 'phone'],
    ['a list', [1]],
    ['a function', () => 1],
    ['a Date', { when: new Date() }],
    ['a Map', { map: new Map() }],
    ['NaN', { amount: Number.NaN }],
    ['a bigint', { amount: 1n }],
    ['a function in it', { run: () => 1 }],
    ['undefined deep in it', { list: [undefined] }],
    ['a cycle', { cycle }],
    ['a depth', { deep }],
    ['a number as its label', label(5)],
    ['an empty label', label('')],
    ['a blank label', label(' \t ')],
    ['a long label', label('x'.repeat(101))],
    ['a control character in its label', label('a\nb')],
    ['half a character in its label', label('\ud83d')],
  ])('%s', async (_name, data) => {
    const { tokens, open, update, read } = create()
    const sid = await open({ tenant: 'north' })
    for (const attempt of [open(data as object), update(sid, 'ada', data as never)]) {
      const error = await thrownBy(attempt)
      expect(error).toBeInstanceOf(TypeError)
      expect(error).toMatchObject({
        code: 'SESSION_DATA_INVALID',
        message: expect.stringMatching(/data/) as string,
      })
    }
    expect(await read(sid)).toEqual({ tenant: 'north' })
    expect(await tokens.sessions.list('ada')).toHaveLength(1)
  })

  test.each([
    ['one byte', 'x'],
    ['two bytes', 'ä'],
    ['three bytes', '漢'],
    ['four bytes', '🦊'],
    ['an escape', '"'],
  ])('more than 2,048 bytes, in characters of %s', async (_name, character) => {
    const { tokens, open, update, read } = create()
    const size = (text: string) => Buffer.byteLength(JSON.stringify({ note: text }))
    let note = ''
    while (size(note + character) <= MAX_DATA_BYTES) note += character
    note += 'x'.repeat(MAX_DATA_BYTES - size(note))
    const sid = await open({ note })
    expect(Buffer.byteLength(JSON.stringify(await read(sid)))).toBe(2048)
    const other = await open()
    for (const attempt of [
      open({ note: `${note}x` }),
      update(sid, 'ada', { note: `${note}x` }),
      update(other, 'ada', { note: `${note}x` }),
      update(sid, 'ada', { label: 'x' }),
    ]) {
      expect(await thrownBy(attempt)).toMatchObject({
        name: 'SessionDataError',
        code: 'SESSION_DATA_TOO_LARGE',
        message: expect.stringMatching(/2048 bytes .*with its label/) as string,
      })
    }
    expect(await read(sid)).toEqual({ note })
    expect(await tokens.sessions.list('ada')).toHaveLength(2)
  })
})

describe('a schema', () => {
  const sessionData = z.strictObject({ tenant: z.string(), cart: z.number().default(0) })

  test('checks every write, and what it returns is kept', async () => {
    const { tokens, open, update, read } = create({ sessionData })
    const sid = await open({ tenant: 'north', label: 'phone' })
    expect(await read(sid)).toEqual({ tenant: 'north', cart: 0, label: 'phone' })
    await update(sid, 'ada', { cart: 5 })
    for (const [changes, problem] of [
      [{ tenant: null }, /data\.tenant/],
      [{ tenant: 5 }, /data\.tenant/],
      [{ tenat: 'south' }, /tenat/],
    ] as const) {
      const error = await thrownBy(update(sid, 'ada', changes))
      expect(error).toMatchObject({
        code: 'SESSION_DATA_INVALID',
        message: expect.stringMatching(problem) as string,
      })
    }
    expect(await thrownBy(open({ cart: 5 }))).toMatchObject({ code: 'SESSION_DATA_INVALID' })
    expect(await read(sid)).toEqual({ tenant: 'north', cart: 5, label: 'phone' })
    expect(await tokens.sessions.list('ada')).toHaveLength(1)
  })

  test('does not see the label, which a session without other data may have too', async () => {
    const { open, update, read } = create({ sessionData })
    const sid = await open()
    await update(sid, 'ada', { label: 'phone' })
    expect(await read(sid)).toEqual({ label: 'phone' })
    const declared = create({ sessionData: z.object({ label: z.string() }) })
    expect((await thrownBy(declared.open({ label: 'phone' }))).message).toMatch(/leave it out of the schema/)
  })

  test('may be asynchronous', async () => {
    const { open, read } = create({
      sessionData: z.object({ tenant: z.string().transform(async (name) => `${name}!`) }),
    })
    expect(await read(await open({ tenant: 'north' }))).toEqual({ tenant: 'north!' })
  })

  test.each([
    ['no JSON', z.object({}).transform(() => ({ when: new Date() }))],
    ['no object', z.object({}).transform(() => 5)],
  ])('that returns %s is refused', async (_name, schema) => {
    expect(await thrownBy(create({ sessionData: schema }).open({ a: 1 }))).toMatchObject({
      code: 'SESSION_DATA_INVALID',
    })
  })

  test('is a Standard Schema', () => {
    for (const schema of [{}, null, 'x', { parse() {} }]) {
      expect(() => create({ sessionData: schema })).toThrow(/sessionData must be a Standard Schema/)
    }
  })
})

test('changes at the same time are all kept', async () => {
  const { open, update, read } = create()
  const sid = await open({ label: 'phone' })
  const names = Array.from({ length: 20 }, (_, at) => `member${at}`)
  await Promise.all(names.map((name) => update(sid, 'ada', { [name]: true })))
  expect(Object.keys((await read(sid)) as object)).toEqual(expect.arrayContaining(['label', ...names]))
})

test('a session that changes again and again is an outage, not a loss', async () => {
  const { open, update, read } = create({}, () => ({ writeData: async () => false }))
  const sid = await open({ label: 'phone' })
  expect(await outcomeOf(update(sid, 'ada', { label: 'other' }))).toBe('REVOCATION_UNAVAILABLE')
  expect(await read(sid)).toEqual({ label: 'phone' })
})

test('only a live session of the user is changed', async () => {
  const { tokens, open, update, read } = create()
  const [own, foreign, ended] = [await open(), await open({ label: 'theirs' }, 'grace'), await open()]
  await tokens.sessions.end(ended, 'ada')
  for (const sid of [foreign, ended, 'unknown', 'AZxAAAAAAAAAAAAAAAAAAA']) {
    expect(await update(sid, 'ada', { label: 'mine' })).toBeNull()
  }
  expect(await read(foreign)).toEqual({ label: 'theirs' })
  for (const [id, uid] of [
    [own, ''],
    ['', 'ada'],
    [own, undefined],
    [undefined, 'ada'],
  ] as never[][]) {
    await expect(update(id as never, uid as never, { label: 'a' })).rejects.toBeInstanceOf(TypeError)
  }
  await tokens.revoke.user('ada')
  expect(await update(own, 'ada', { label: 'mine' })).toBeNull()
})

test('an idle session is not changed', async () => {
  const { tokens, clock } = createRevocable({ JWT_REFRESH_IDLE_EXPIRES: 600 })
  const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
  const { sid } = await tokens.verify(accessToken)
  clock.seconds += 601
  expect(await tokens.sessions.update(String(sid), 'ada', { label: 'phone' })).toBeNull()
})

test('a login with a limit has data too', async () => {
  const { tokens } = create()
  await tokens.sessions.open({ uid: 'ada' }, { maxSessions: 1, data: { label: 'phone' } })
  expect(await tokens.sessions.list('ada')).toMatchObject([{ data: { label: 'phone' } }])
})

test('a store that keeps no data is told, and loses none', async () => {
  const memory = createMemoryStore()
  const { writeData: _, ...sessions } = memory.sessions as Sessions
  const tokens = new TokenManager({ config, store: defineStore({ ...memory, sessions }) })
  const open = (data?: object) => tokens.sessions.open({ uid: 'ada' }, { data: data as never })
  expect(await outcomeOf(open({ label: 'phone' }))).toBe('CONFIGURATION_INVALID')
  expect(await tokens.sessions.list('ada')).toEqual([])
  const { sid } = await tokens.verify((await open()).accessToken)
  const update = tokens.sessions.update(String(sid), 'ada', { label: 'phone' })
  expect((await thrownBy(update)).message).toMatch(/sessions\.writeData/)
  expect(await tokens.sessions.list('ada')).toMatchObject([{ data: null }])
  const none = new TokenManager({ config }).sessions
  expect(await outcomeOf(none.open({ uid: 'ada' }, { data: { label: 'phone' } }))).toBe(
    'CONFIGURATION_INVALID',
  )
  expect(await outcomeOf(none.update('sid', 'ada', { label: 'phone' }))).toBe('CONFIGURATION_INVALID')
})

describe('a store that fails', () => {
  const failing = async (): Promise<never> => {
    throw new Error('ECONNREFUSED')
  }

  test.each(['get', 'writeData'] as const)('at %s is an outage', async (method) => {
    const { open, update } = create({}, () => ({ [method]: failing }))
    const sid = await open({ label: 'phone' })
    expect(await outcomeOf(update(sid, 'ada', { label: 'other' }))).toBe('REVOCATION_UNAVAILABLE')
  })

  test.each([undefined, null, 'yes', 1])('by answering %j to a change is an outage', async (answer) => {
    const { open, update } = create({}, () => ({ writeData: async () => answer as never }))
    const sid = await open({ label: 'phone' })
    expect(await outcomeOf(update(sid, 'ada', { label: 'other' }))).toBe('REVOCATION_UNAVAILABLE')
  })

  test.each(['', '{', '5', '[]', 'null', 5, {}])('by returning %j as data is an outage', async (data) => {
    const { tokens, open, update } = create({}, (sessions) => ({
      get: async (...given) => ({ ...(await sessions.get(...given))!, data: data as string }),
      list: async (...given) =>
        (await sessions.list(...given)).map((session) => ({ ...session, data: data as string })),
    }))
    const sid = await open()
    for (const call of [
      tokens.sessions.get(sid),
      tokens.sessions.list('ada'),
      update(sid, 'ada', { label: 'phone' }),
    ]) {
      expect(await outcomeOf(call)).toBe('REVOCATION_UNAVAILABLE')
    }
  })
})
