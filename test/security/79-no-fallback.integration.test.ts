import { expect } from 'vitest'
import type { RevocationStore } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock, withBearer } from '../helpers/manager.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { createPlace, describeStores, openManager } from './harness/stores.js'

/** A store that can be cut off and come back, as two processes see it: the one that is cut off, and another. */
function createCut() {
  const clock = createClock()
  const store = createMemoryStore({ clock })
  let isCut = false
  const reach = async <Value>(run: () => Value | Promise<Value>): Promise<Value> => {
    if (isCut) throw new Error('ECONNREFUSED')
    return run()
  }
  const sessions = store.sessions!
  const cut: RevocationStore = {
    ...store,
    prepare: (needs) => reach(() => store.prepare(needs)),
    lookup: (keys) => reach(() => store.lookup(keys)),
    revoke: (batch) => reach(() => store.revoke(batch)),
    sessions: {
      open: (session) => reach(() => sessions.open(session)),
      rotate: (...given) => reach(() => sessions.rotate(...given)),
      present: (...given) => reach(() => sessions.present(...given)),
      list: (...given) => reach(() => sessions.list(...given)),
      get: (...given) => reach(() => sessions.get(...given)),
    },
  }
  return {
    clock,
    tokens: createRevocable({}, { clock, store: cut }).tokens,
    elsewhere: createRevocable({}, { clock, store }).tokens,
    setCut: (value: boolean) => void (isCut = value),
  }
}

const UNAVAILABLE = 'REVOCATION_UNAVAILABLE'

describeAttacks('an empty memory in place of a lost store (CWE-636, OpenTranscribe PR 336)', () => {
  ownAttack('what the store said before does not stand in for what it cannot say now', async () => {
    const { tokens, elsewhere, setCut } = createCut()
    const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    const check = (): Promise<string> => outcomeOf(tokens.accessTokenRequired(withBearer(accessToken)))
    for (let times = 0; times < 3; times++) expect(await check()).toBe('ok')
    setCut(true)
    for (let times = 0; times < 3; times++) expect(await check()).toBe(UNAVAILABLE)
    expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe(UNAVAILABLE)
    expect(await outcomeOf(tokens.accessTokenOptional(withBearer(accessToken)))).toBe(UNAVAILABLE)
    await elsewhere.revoke.user('ada')
    expect(await check()).toBe(UNAVAILABLE)
    setCut(false)
    expect(await check()).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('TOKEN_REVOKED')
  })

  ownAttack('nobody logs in or refreshes into a memory that only one process has', async () => {
    const { tokens, elsewhere, clock, setCut } = createCut()
    const before = await tokens.sessions.open({ uid: 'ada' })
    let issued = 0
    tokens.on('issued', () => issued++)
    setCut(true)
    expect(await outcomeOf(tokens.sessions.open({ uid: 'ada' }))).toBe(UNAVAILABLE)
    expect(await outcomeOf(tokens.sessions.refresh(before.refreshToken))).toBe(UNAVAILABLE)
    expect(await outcomeOf(tokens.sessions.list('ada'))).toBe(UNAVAILABLE)
    expect(issued).toBe(0)
    setCut(false)
    // What was not rotated is not used up.
    clock.seconds += 60
    expect(await outcomeOf(elsewhere.sessions.refresh(before.refreshToken))).toBe('ok')
    expect(await elsewhere.sessions.list('ada')).toHaveLength(1)
  })

  ownAttack('a revocation is never kept for later, nor only here', async () => {
    const { tokens, elsewhere, setCut } = createCut()
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    const payload = await tokens.verify(accessToken)
    let told = 0
    tokens.on('revoked', () => told++)
    setCut(true)
    const attempts = [
      () => tokens.logout(payload),
      () => tokens.revoke.token(payload),
      () => tokens.revoke.session(payload),
      () => tokens.sessions.endOthers(payload),
      () => tokens.revoke.user('ada'),
      () => tokens.revoke.key(tokens.keys.current ?? ''),
      () => tokens.revoke.all(),
    ]
    for (const attempt of attempts) expect(await outcomeOf(attempt())).toBe(UNAVAILABLE)
    expect(told).toBe(0)
    setCut(false)
    // Both say the same, so that the caller knows what it has to repeat.
    for (const manager of [tokens, elsewhere]) expect(await outcomeOf(manager.verify(accessToken))).toBe('ok')
    await attempts[0]?.()
    for (const manager of [tokens, elsewhere]) {
      expect(await outcomeOf(manager.verify(accessToken))).toBe('TOKEN_REVOKED')
    }
  })

  ownAttack('a store that is not there when the application starts', async () => {
    const { tokens, setCut, elsewhere } = createCut()
    setCut(true)
    const token = elsewhere.createAccessToken({ uid: 'ada' })
    expect(await outcomeOf(tokens.verify(token))).toBe(UNAVAILABLE)
    setCut(false)
    expect(await outcomeOf(tokens.ready())).toBe('ok')
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
    for (const store of [
      {},
      [],
      new Map(),
      async () => createMemoryStore(),
      { ...createMemoryStore(), lookup: 1 },
    ]) {
      expect(() => createRevocable({}, { store: store as RevocationStore })).toThrow(
        /The option store must be a store/,
      )
    }
  })

  describeStores(['SQLite', 'Redis', 'PostgreSQL', 'MariaDB'], (kind) => {
    ownAttack('a database that is emptied while processes run', async () => {
      const place = createPlace()
      const clock = createClock()
      const tokens = await openManager(kind, place, clock)
      const revoked = await tokens.sessions.open({ uid: 'ada' })
      const bystander = await tokens.sessions.open({ uid: 'bob' })
      const single = tokens.createAccessToken({ uid: 'bob' })
      await tokens.logout(await tokens.verify(revoked.accessToken))
      expect(await outcomeOf(tokens.verify(bystander.accessToken))).toBe('ok')
      clock.seconds += 60
      await kind.wipe(place)
      // Nobody knows any more who was revoked: so everybody is.
      for (const token of [revoked.accessToken, bystander.accessToken, single]) {
        expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
      }
      expect(await outcomeOf(tokens.sessions.refresh(bystander.refreshToken))).toBe('TOKEN_REVOKED')
      clock.seconds += 1
      const fresh = await tokens.sessions.open({ uid: 'ada' })
      expect(await outcomeOf(tokens.verify(fresh.accessToken))).toBe('ok')
    })
  })
})
