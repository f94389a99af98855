import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { NOW } from '../helpers/manager.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'

const at = (seconds: number) => new Date((NOW + seconds) * 1000)
const from = (userAgent: string) => new Request('http://localhost/', { headers: { 'user-agent': userAgent } })

test('sessions are listed with what their requests told, newest first, and only the live ones of the user', async () => {
  const { tokens, clock } = createRevocable()
  const phone = await tokens.createTokenPair({ uid: 'ada' }, { request: from('Phone'), ip: '192.0.2.1' })
  clock.seconds += 10
  const desk = await tokens.createTokenPair({ uid: 'ada' }, { userAgent: 'Desk', ip: '192.0.2.2' })
  await tokens.createTokenPair({ uid: 'grace' })
  clock.seconds += 10
  await tokens.refresh(phone.refreshToken, { request: from('Phone 2') })
  const [{ sid: phoneSid }, { sid: deskSid }] = [
    await tokens.verifyToken(phone.accessToken),
    await tokens.verifyToken(desk.accessToken),
  ]
  expect(await tokens.listSessions('ada')).toEqual([
    {
      id: deskSid,
      createdAt: at(10),
      lastUsedAt: at(10),
      expiresAt: at(10 + 20 * 86_400),
      ip: '192.0.2.2',
      userAgent: 'Desk',
    },
    {
      id: phoneSid,
      createdAt: at(0),
      lastUsedAt: at(20),
      expiresAt: at(20 * 86_400),
      ip: '192.0.2.1',
      userAgent: 'Phone 2',
    },
  ])
  await tokens.logout(await tokens.verifyToken(desk.accessToken))
  expect((await tokens.listSessions('ada')).map(({ id }) => id)).toEqual([phoneSid])
})

test('a session id from the list revokes that session', async () => {
  const { tokens } = createRevocable()
  const { accessToken } = await tokens.createTokenPair({ uid: 'ada' })
  const [session] = await tokens.listSessions('ada')
  await tokens.revokeSession(session?.id ?? '')
  expect(await outcomeOf(tokens.verifyToken(accessToken))).toBe('TOKEN_REVOKED')
})

test('revokeOtherSessions leaves the own one, however many there are', async () => {
  const { tokens } = createRevocable()
  const mine = await tokens.createTokenPair({ uid: 'ada' })
  const others = []
  for (let count = 0; count < 1100; count++) others.push(await tokens.createTokenPair({ uid: 'ada' }))
  const grace = await tokens.createTokenPair({ uid: 'grace' })
  expect(await tokens.revokeOtherSessions(await tokens.verifyToken(mine.accessToken))).toBe(1100)
  expect(await tokens.listSessions('ada')).toHaveLength(1)
  expect(await outcomeOf(tokens.verifyToken(mine.accessToken))).toBe('ok')
  expect(await outcomeOf(tokens.verifyToken(grace.accessToken))).toBe('ok')
  for (const { refreshToken } of [others[0], others.at(-1)].filter((pair) => pair !== undefined))
    expect(await outcomeOf(tokens.refresh(refreshToken))).toBe('TOKEN_REVOKED')
  expect(await tokens.revokeOtherSessions(await tokens.verifyToken(mine.accessToken))).toBe(0)
})

test('of a Node request the address of the connection is known', async () => {
  const { tokens } = createRevocable()
  const server = createServer((request, response) => {
    void tokens.createTokenPair({ uid: 'ada' }, { request }).then(() => response.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as AddressInfo
    await (await fetch(`http://127.0.0.1:${port}/`, { headers: { 'user-agent': 'Test/1' } })).text()
  } finally {
    server.close()
  }
  expect(await tokens.listSessions('ada')).toMatchObject([{ ip: '127.0.0.1', userAgent: 'Test/1' }])
})

test('what a client says of itself is cut and cleaned', async () => {
  const { tokens } = createRevocable()
  await tokens.createTokenPair(
    { uid: 'ada' },
    { userAgent: `a\0b\x1b[31m\ud800${'x'.repeat(600)}`, ip: 'y'.repeat(99) },
  )
  const [session] = await tokens.listSessions('ada')
  expect(session?.userAgent).toMatch(/^a b \[31m x+$/)
  expect(session?.userAgent).toHaveLength(512)
  expect(session?.ip).toHaveLength(64)
})

test('a session that never ends has no expiry', async () => {
  const { tokens } = createRevocable({ JWT_REFRESH_TOKEN_EXPIRES: false })
  await tokens.createTokenPair({ uid: 'ada' })
  expect(await tokens.listSessions('ada')).toMatchObject([{ expiresAt: null, ip: null, userAgent: null }])
})
