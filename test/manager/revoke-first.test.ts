import { describe, expect, test } from 'vitest'
import type { TokenEvents } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock } from '../helpers/manager.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'

/** A store whose reads of single sessions wait for the test. */
function createSlowStore() {
  const clock = createClock()
  const memory = createMemoryStore({ clock })
  const { sessions } = memory
  if (sessions === undefined) throw new Error('The memory store keeps sessions')
  const calls: string[] = []
  let answerReads: (error?: Error) => void = () => undefined
  const mayRead = new Promise<void>((resolve, reject) => {
    answerReads = (error) => (error === undefined ? resolve() : reject(error))
  })
  const store = {
    ...memory,
    revoke: (batch: Parameters<typeof memory.revoke>[0]) => {
      calls.push('revoke')
      return memory.revoke(batch)
    },
    sessions: {
      ...sessions,
      async get(...given: Parameters<typeof sessions.get>) {
        calls.push('get')
        const found = await sessions.get(...given)
        await mayRead
        return found
      },
    },
  }
  return {
    ...createRevocable({}, { clock, store }),
    calls,
    answerReads: (error?: Error) => answerReads(error),
  }
}

describe('a revocation waits for no read that only its event needs', () => {
  test('revokeSession by an id: the event comes when the user is known', async () => {
    const { tokens, calls, answerReads } = createSlowStore()
    const revoked: TokenEvents['revoked'][] = []
    tokens.on('revoked', (event) => revoked.push(event))
    const { accessToken } = await tokens.createTokenPair({ uid: 'ada' })
    const { sid = '' } = tokens.verifyTokenWithoutRevocation(accessToken)
    await tokens.revokeSession(sid)
    expect(calls).toContain('revoke')
    expect(await outcomeOf(tokens.verifyToken(accessToken))).toBe('TOKEN_REVOKED')
    answerReads()
    await expect.poll(() => revoked).toMatchObject([{ kind: 'session', id: sid, sub: 'ada' }])
  })

  test('a read that fails leaves the user out', async () => {
    const { tokens, answerReads } = createSlowStore()
    const revoked: TokenEvents['revoked'][] = []
    tokens.on('revoked', (event) => revoked.push(event))
    const { accessToken } = await tokens.createTokenPair({ uid: 'ada' })
    const { sid = '' } = tokens.verifyTokenWithoutRevocation(accessToken)
    await tokens.revokeSession(sid)
    answerReads(new Error('ECONNRESET'))
    await expect.poll(() => revoked).toMatchObject([{ kind: 'session', id: sid, sub: null }])
  })

  test('nothing is read for a payload, a user, a token or a logout', async () => {
    const { tokens, calls } = createSlowStore()
    const create = async () => {
      const { accessToken } = await tokens.createTokenPair({ uid: 'ada' })
      return tokens.verifyTokenWithoutRevocation(accessToken)
    }
    await tokens.revokeSession(await create())
    await tokens.revokeToken(await create())
    await tokens.logout(await create())
    await tokens.revokeOtherSessions(await create())
    await tokens.revokeUser('ada')
    await tokens.revokeKey('old')
    await tokens.revokeAll()
    expect(calls.filter((call) => call === 'get')).toEqual([])
  })
})
