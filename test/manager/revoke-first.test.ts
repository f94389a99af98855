import { describe, expect, test } from 'vitest'
import type { TokenEvents } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock } from '../helpers/manager.js'
import { createRevocable, outcomeOf, settled } from '../helpers/revocable.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

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
  test('revoke.session by an id: the event comes when the user is known', async () => {
    const { tokens, calls, answerReads } = createSlowStore()
    const revoked: TokenEvents['revoked'][] = []
    tokens.on('revoked', (event) => revoked.push(event))
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    const { sid = '' } = internalsOf(tokens).verifyWithoutRevocation(accessToken)
    await tokens.revoke.session(sid)
    expect(calls).toContain('revoke')
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('TOKEN_REVOKED')
    answerReads()
    await settled()
    expect(revoked).toMatchObject([{ kind: 'session', id: sid, sub: 'ada' }])
  })

  test('a read that fails leaves the user out', async () => {
    const { tokens, answerReads } = createSlowStore()
    const revoked: TokenEvents['revoked'][] = []
    tokens.on('revoked', (event) => revoked.push(event))
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    const { sid = '' } = internalsOf(tokens).verifyWithoutRevocation(accessToken)
    await tokens.revoke.session(sid)
    answerReads(new Error('ECONNRESET'))
    await settled()
    expect(revoked).toMatchObject([{ kind: 'session', id: sid, sub: null }])
  })

  test('nothing is read for a payload, a user, a token or a logout', async () => {
    const { tokens, calls } = createSlowStore()
    const create = async () => {
      const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
      return internalsOf(tokens).verifyWithoutRevocation(accessToken)
    }
    await tokens.revoke.session(await create())
    await tokens.revoke.token(await create())
    await tokens.logout(await create())
    await tokens.sessions.endOthers(await create())
    await tokens.revoke.user('ada')
    await tokens.revoke.key('old')
    await tokens.revoke.all()
    expect(calls.filter((call) => call === 'get')).toEqual([])
  })
})
