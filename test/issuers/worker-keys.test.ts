import { expect, test } from 'vitest'
import { createJwk, createTestedKeys, headerOf, until } from '../helpers/key-server.js'

/** Requests that stay open until they are answered. */
function createHeldFetch() {
  const open: ((...keys: readonly unknown[]) => void)[] = []
  return {
    open,
    fetch: () => new Promise<Response>((resolve) => open.push((...keys) => resolve(Response.json({ keys })))),
  }
}

test('in a Worker, no request waits for what another one has started, or leaves anything behind', async () => {
  const [a, b] = [createJwk('a'), createJwk('b')]
  const { open, fetch } = createHeldFetch()
  const keys = createTestedKeys({ jwksUri: 'https://1.1.1.1/jwks', fetch }, { isWorkerd: true })
  // The first one never gets its answer; the second has its own request.
  void keys.load(headerOf('a')).catch(() => undefined)
  const second = keys.look(headerOf('a'))
  await until(() => open.length === 2)
  open[1]?.(a.jwk)
  expect(await second).toEqual(['a'])
  const [key] = keys.find(headerOf('a')) ?? []

  // Due: the first request waits for its load, and others go on with what is there.
  await keys.advance(601)
  expect(keys.isTrusted(key as never)).toBe(false)
  expect(keys.find(headerOf('a'))).toBeNull()
  expect(open).toHaveLength(2)
  const waiting = keys.look(headerOf('a'))
  await until(() => open.length === 3)
  expect(keys.find(headerOf('a'))).toEqual([key])
  expect(keys.isTrusted(key as never)).toBe(true)
  open[2]?.(a.jwk, b.jwk)
  expect(await waiting).toEqual(['a'])
  expect(keys.find(headerOf('b'))).toHaveLength(1)

  // A load that was dropped is replaced after its deadline.
  await keys.advance(601)
  void keys.load(headerOf('a')).catch(() => undefined)
  await until(() => open.length === 4)
  expect(keys.find(headerOf('a'))).toHaveLength(1)
  await keys.advance(6.1)
  expect(keys.find(headerOf('a'))).toBeNull()
  const replaced = keys.look(headerOf('a'))
  await until(() => open.length === 5)
  open[4]?.(a.jwk)
  expect(await replaced).toEqual(['a'])
  // What comes late changes nothing.
  open[0]?.(b.jwk)
  open[3]?.(b.jwk)
  await new Promise((resolve) => setImmediate(resolve))
  expect(keys.find(headerOf('a'))).toEqual([key])
})

test('in a Worker, keys stay in use if the request that waits for new ones gets none', async () => {
  const a = createJwk('a')
  let answer = Response.json({ keys: [a.jwk] })
  const keys = createTestedKeys(
    { jwksUri: 'https://1.1.1.1/jwks', fetch: async () => answer },
    { isWorkerd: true },
  )
  await keys.ready()
  answer = new Response(null, { status: 500 })
  await keys.advance(601)
  expect(await keys.look(headerOf('a'))).toEqual(['a'])
  expect(keys.failed).toHaveLength(1)
})

test('in a Worker, requests with a new key each look for it while one of them does', async () => {
  const [a, b] = [createJwk('a'), createJwk('b')]
  const { open, fetch } = createHeldFetch()
  const keys = createTestedKeys({ jwksUri: 'https://1.1.1.1/jwks', fetch }, { isWorkerd: true })
  const first = keys.ready()
  await until(() => open.length === 1)
  open[0]?.(a.jwk)
  await first
  const requests = [keys.look(headerOf('b')), keys.look(headerOf('b'))]
  await until(() => open.length === 3)
  for (const answer of open) answer(a.jwk, b.jwk)
  expect(await Promise.all(requests)).toEqual([['b'], ['b']])
  // After that, not before the cool-down ends.
  expect(await keys.look(headerOf('c'))).toEqual([])
})

test('in a Worker, four requests load at a time, and the others take what these have loaded', async () => {
  const a = createJwk('a')
  const { open, fetch } = createHeldFetch()
  const keys = createTestedKeys({ jwksUri: 'https://1.1.1.1/jwks', fetch }, { isWorkerd: true })
  const requests = Array.from({ length: 300 }, (_item, at) => keys.look(headerOf(at % 2 === 0 ? 'a' : 'b')))
  await until(() => open.length === 4)
  open[0]?.(a.jwk)
  await requests[0]
  for (const answer of open) answer(a.jwk)
  const found = await keys.runUntil(Promise.all(requests))
  expect(found.filter((kids) => kids?.length === 1)).toHaveLength(150)
  expect(open).toHaveLength(4)
})

test('in a Worker, the others are told that keys are unavailable if these four have not loaded any', async () => {
  const { fetch, open } = createHeldFetch()
  const keys = createTestedKeys({ jwksUri: 'https://1.1.1.1/jwks', fetch }, { isWorkerd: true })
  const requests = Array.from({ length: 300 }, () => keys.look(headerOf('a')))
  await until(() => open.length === 4)
  for (const answer of open) answer()
  const outcomes = await keys.runUntil(Promise.allSettled(requests))
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['rejected']))
  expect(open).toHaveLength(4)
})
