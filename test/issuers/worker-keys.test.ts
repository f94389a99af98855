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
  keys.advance(601)
  expect(keys.isTrusted(key as never)).toBe(false)
  expect(keys.find(headerOf('a'))).toBeNull()
  expect(open).toHaveLength(2)
  const waiting = keys.look(headerOf('a'))
  await until(() => open.length === 3)
  expect(keys.find(headerOf('a'))).toEqual([key])
  expect(keys.isTrusted(key as never)).toBe(true)
  expect(keys.find(headerOf('b'))).toEqual([])
  open[2]?.(a.jwk, b.jwk)
  expect(await waiting).toEqual(['a'])
  expect(keys.find(headerOf('b'))).toHaveLength(1)

  // A load that was dropped is replaced after its deadline.
  keys.advance(601)
  void keys.load(headerOf('a')).catch(() => undefined)
  await until(() => open.length === 4)
  expect(keys.find(headerOf('a'))).toHaveLength(1)
  keys.advance(6.1)
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
  keys.advance(601)
  expect(await keys.look(headerOf('a'))).toEqual(['a'])
  expect(keys.failed).toHaveLength(1)
})
