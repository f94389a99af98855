import { expect, test } from 'vitest'
import { ADA, openServer } from './open-server.js'

/** A page whose cookies are those of a session that was revoked, as it is when it is loaded. */
async function openWithDeadCookies() {
  const server = await openServer({ JWT_TOKEN_LOCATION: 'cookies' })
  const { client: before, reload } = server.createCookieClient()
  await before.logIn(ADA)
  await server.tokens.revoke.user('ada')
  const client = reload()
  const events: string[] = []
  client.on('loggedOut', () => void events.push('loggedOut'))
  client.on('loggedIn', () => void events.push('loggedIn'))
  return { ...server, client, events, asked: server.requests.length }
}

test('a page with the cookies of a session that is over is not logged in, and hears of no logout', async () => {
  const { client, events, sent, asked } = await openWithDeadCookies()
  expect(await client.session()).toBeNull()
  expect(sent(asked)).toEqual(['GET /auth/session', 'POST /auth/refresh'])
  expect(events).toEqual([])
  await client.logIn(ADA)
  expect(await client.session()).toMatchObject({ sub: 'ada' })
  expect(events).toEqual(['loggedIn'])
})

test('its requests are refused once, and nothing is refreshed again', async () => {
  const { client, events, origin, sent, asked } = await openWithDeadCookies()
  expect((await client.fetch(`${origin}/notes`)).status).toBe(401)
  expect((await client.fetch(`${origin}/notes`)).status).toBe(401)
  expect(sent(asked)).toEqual(['GET /notes', 'POST /auth/refresh', 'GET /notes'])
  expect(events).toEqual([])
})

test('a logout deletes them', async () => {
  const { client, events, sent, asked } = await openWithDeadCookies()
  await client.logOut()
  expect(events).toEqual(['loggedOut'])
  expect(await client.session()).toBeNull()
  expect(sent(asked)).toEqual(['POST /auth/logout'])
})
