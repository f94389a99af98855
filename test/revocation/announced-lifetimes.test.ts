import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { RevocationStore } from '../../packages/tokenlib/src/index.js'
import type { StoreNeeds } from '../../packages/tokenlib/src/kit.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock } from '../helpers/manager.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'

const DAY = 86_400

/** Two processes on one store; the first one's `prepare` can be made to fail. */
async function createTwo() {
  const clock = createClock()
  const store = createMemoryStore({ clock })
  let isBroken = false
  const reached: RevocationStore = {
    ...store,
    async prepare(needs: StoreNeeds) {
      if (isBroken) throw new Error('ECONNREFUSED')
      await store.prepare(needs)
    },
  }
  const { tokens: issuer } = createRevocable({}, { clock, store: reached })
  const { tokens: other } = createRevocable({}, { clock, store })
  await issuer.ready()
  await other.ready()
  /** A token of 90 days, whose lifetime the store did not take. */
  const issueUnannounced = async (): Promise<string> => {
    isBroken = true
    const failed = new Promise((resolve) => issuer.on('storeUnavailable', resolve))
    const token = issuer.createAccessToken({ uid: 'ada' }, { expiresIn: '90d' })
    await failed
    isBroken = false
    return token
  }
  /** The other process revokes the user, and so many days go by. */
  const revokeAndWait = async (days: number): Promise<void> => {
    await other.revoke.user('ada')
    clock.seconds += days * DAY
    await store.prune(1000)
  }
  return { issuer, issueUnannounced, revokeAndWait }
}

test('a lifetime that could not be announced is announced after the next answer of the store', async () => {
  const { issuer, issueUnannounced, revokeAndWait } = await createTwo()
  const token = await issueUnannounced()
  const short = issuer.createAccessToken({ uid: 'grace' })
  await issuer.verify(short)
  await nextTurn()
  await revokeAndWait(60)
  expect(await outcomeOf(issuer.verify(token))).toBe('TOKEN_REVOKED')
})

test('a lifetime that could not be announced is announced with the next token that lives as long', async () => {
  const { issuer, issueUnannounced, revokeAndWait } = await createTwo()
  const token = await issueUnannounced()
  issuer.createAccessToken({ uid: 'grace' }, { expiresIn: '90d' })
  await nextTurn()
  await revokeAndWait(60)
  expect(await outcomeOf(issuer.verify(token))).toBe('TOKEN_REVOKED')
})
