import { expect, test } from 'vitest'
import { EXPIRED, openLoggedIn, readNote, unavailable } from './open-server.js'

// bearer.test.ts has everything else. Here the client waits for a second or more before it sends a request again.
test('a refresh that is refused for a while is repeated', async () => {
  const { client, clock, origin, plan, events } = await openLoggedIn()
  clock.seconds += EXPIRED
  plan('POST /auth/refresh', unavailable(), unavailable())
  expect((await client.fetch(`${origin}/notes`)).status).toBe(200)
  expect(events).toEqual(['loggedIn', 'refreshed'])
})

test('a request that the store could not check waits as Retry-After says', async () => {
  const { client, origin, plan } = await openLoggedIn()
  plan('POST /notes', unavailable({ 'retry-after': '1' }))
  const response = await client.fetch(`${origin}/notes`, { method: 'POST', body: 'milk' })
  expect(await readNote(response)).toEqual([200, { body: 'milk', method: 'POST' }])
})

test('a 503 is returned after three attempts', async () => {
  const { client, origin, plan, sent, before } = await openLoggedIn()
  plan('GET /notes', ...Array.from({ length: 9 }, () => unavailable()))
  const response = await client.fetch(`${origin}/notes`)
  expect(await readNote(response)).toEqual([503, { code: 'REVOCATION_UNAVAILABLE' }])
  expect(sent(before)).toHaveLength(3)
})
