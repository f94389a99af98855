import { expect, test } from 'vitest'
import { createIntrospectionRoute } from '../../packages/issuers/src/index.js'
import { advance, createRevocable } from '../helpers/revocable.js'
import { send } from './oauth-fixture.js'

const INACTIVE = [200, { active: false }]

test('200 introspections of a used refresh token do nothing to its session', async () => {
  const { tokens, clock } = createRevocable()
  const routes = createIntrospectionRoute(tokens, { client: () => 'anybody', refreshTokens: true })
  const events: string[] = []
  tokens.on('reuseDetected', () => events.push('reuseDetected'))
  tokens.on('revoked', () => events.push('revoked'))
  const first = await tokens.sessions.open({ uid: 'ada' })
  const second = await advance({ tokens, clock }, first.refreshToken)
  const third = await advance({ tokens, clock }, second.refreshToken)
  clock.seconds += 3600
  const answers = new Set<string>()
  for (let count = 0; count < 200; count++) {
    answers.add(JSON.stringify(await send(routes, { token: first.refreshToken })))
  }
  expect([...answers]).toEqual([JSON.stringify(INACTIVE)])
  expect(events).toEqual([])
  expect((await send(routes, { token: third.refreshToken }))[1]).toMatchObject({ active: true })
  await tokens.sessions.refresh(third.refreshToken)
})
