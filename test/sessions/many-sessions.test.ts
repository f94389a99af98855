import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { FOREVER } from '../../packages/tokenlib/src/revocation/revocation.js'
import type { RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import { MAX_ENDED_AT_ONCE } from '../../packages/tokenlib/src/revocation/session-store.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createSqliteStore } from '../../packages/tokenlib/src/stores/sqlite.js'
import { SECRET } from '../helpers/manager.js'
import { firstToken } from '../../packages/contracts/src/store-fixture.js'
import { createFolder, type DatabaseFolder } from '../stores/sqlite-fixture.js'

// Stores in this process do their work between two turns of the event loop. Whatever a user has in thousands must be
// done in steps, or no other request is answered until the last one. Turns are counted here; benchmarks/event-loop.js
// measures how long they are.
const SESSIONS = 1000
const HOUR = 3_600_000
const DAY = 24 * HOUR

let folder: DatabaseFolder | null = null
afterEach(() => {
  folder?.remove()
  folder = null
})

const STORES: Record<string, (clock: () => number) => RevocationStore> = {
  memory: (clock) => createMemoryStore({ clock }),
  sqlite: (clock) => {
    folder = createFolder()
    return createSqliteStore(folder.openInMemory(), { clock, onWarning: () => undefined })
  },
}

describe.each(Object.keys(STORES))('a user with thousands of sessions: %s', (kind) => {
  /** A store with many sessions of one user, a manager, and the sizes of the batches that were revoked. */
  const open = async (startsAheadMs = 0) => {
    let offset = startsAheadMs
    const batches: number[] = []
    const store = STORES[kind]!(() => Date.now() + offset)
    const { revoke } = store
    const counted = Object.assign(store, {
      revoke(batch: Parameters<typeof revoke>[0]) {
        batches.push(batch.length)
        return revoke.call(store, batch)
      },
    })
    await store.prepare({ longestLifetime: DAY })
    const sids: string[] = []
    for (let at = 0; at < SESSIONS; at++) {
      const nonce = `${String(at).padStart(13, 'n')}A`
      const expiry = { expiresAt: FOREVER, until: FOREVER }
      const { sid } = await store.sessions!.open({ user: 'ada', nonce, ...expiry, ip: null, userAgent: null })
      sids.push(sid)
    }
    offset = 0
    const config = new TokenConfig({
      JWT_SECRET_KEY: SECRET,
      JWT_REVOCATION_TIMEOUT: '60s',
      JWT_REFRESH_IDLE_EXPIRES: '7d',
    })
    const tokens = new TokenManager({ config, store: counted })
    await tokens.ready()
    return { store, tokens, sids, batches, moveClock: (ms: number) => void (offset = ms) }
  }

  /** How often others had their turn while a call was under way. */
  const countTurns = async (call: () => Promise<unknown>): Promise<number> => {
    let turns = 0
    let isOver = false
    const count = (): void => {
      turns++
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    await call()
    isOver = true
    return turns
  }

  test('sessions.endOthers revokes in small batches, and others have their turn', async () => {
    const { tokens, store, sids, batches } = await open()
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    const payload = await tokens.verify(accessToken)
    let late = ''
    const revoked: string[] = []
    tokens.on('revoked', ({ id }) => void revoked.push(id))
    const turns = await countTurns(async () => {
      const ending = tokens.sessions.endOthers(payload)
      // A later login is not one of those that were there.
      await nextTurn()
      late = (await tokens.sessions.open({ uid: 'ada' })).accessToken
      expect(await ending).toBe(SESSIONS)
    })
    expect(turns).toBeGreaterThanOrEqual(SESSIONS / MAX_ENDED_AT_ONCE)
    expect(Math.max(...batches)).toBeLessThanOrEqual(MAX_ENDED_AT_ONCE)
    expect(new Set(revoked)).toEqual(new Set(sids))
    const keys = sids.map((id) => ({ kind: 'session', id }) as const)
    expect(new Set(await store.lookup(keys))).toEqual(new Set([FOREVER]))
    for (const token of [accessToken, late]) await tokens.verify(token)
    expect(await tokens.sessions.list('ada')).toHaveLength(2)
  })

  test('revoke.user ends sessions of a clock that was ahead in steps, and no later one', async () => {
    const { tokens, store, sids } = await open(3 * HOUR)
    let late = ''
    const turns = await countTurns(async () => {
      const ending = tokens.revoke.user('ada')
      await nextTurn()
      late = (await tokens.sessions.open({ uid: 'ada' })).accessToken
      const { position } = await ending
      expect((await store.feed(position, { waitMs: 0 })).entries).toEqual([])
    })
    expect(turns).toBeGreaterThanOrEqual(SESSIONS / MAX_ENDED_AT_ONCE - 1)
    const keys = sids.map((id) => ({ kind: 'session', id }) as const)
    expect(new Set(await store.lookup(keys))).toEqual(new Set([FOREVER]))
    await tokens.verify(late)
    expect(await tokens.sessions.list('ada')).toHaveLength(1)
  })

  test('a login that ends thousands of sessions lets others have their turn', async () => {
    const { tokens } = await open()
    const turns = await countTurns(() => tokens.sessions.open({ uid: 'ada' }, { maxSessions: 3 }))
    expect(turns).toBeGreaterThanOrEqual(SESSIONS / MAX_ENDED_AT_ONCE - 1)
    expect(await tokens.sessions.list('ada')).toHaveLength(3)
  })

  test('a list that skips thousands of idle sessions lets others have their turn', async () => {
    const { tokens, store, sids, moveClock } = await open()
    moveClock(5 * DAY)
    const rules = { graceMs: 0, idleMs: FOREVER, ip: null, userAgent: null }
    await store.sessions!.rotate(sids[0]!, firstToken(sids[0]!), rules)
    moveClock(9 * DAY)
    const turns = await countTurns(async () => {
      expect((await tokens.sessions.list('ada', { limit: 10 })).map(({ id }) => id)).toEqual([sids[0]])
    })
    expect(turns).toBeGreaterThanOrEqual(2)
  })

  // The memory store pauses by time.
  if (kind === 'memory') return

  test('pruning thousands of sessions lets others have their turn', async () => {
    const { store, tokens, moveClock } = await open()
    await tokens.revoke.all()
    // Those that end are the revocations: sessions here never do.
    const batch = Array.from({ length: 2 * SESSIONS }, (_, at) => ({
      kind: 'token' as const,
      id: `token-${at}`,
      notBefore: FOREVER,
      until: Date.now() + 1000,
    }))
    await store.revoke(batch)
    // What the store prunes after a write, it does now.
    await nextTurn()
    moveClock(DAY)
    let dropped = 0
    const turns = await countTurns(async () => void (dropped = await store.prune(FOREVER)))
    expect(dropped).toBeGreaterThanOrEqual(2 * SESSIONS)
    expect(turns).toBeGreaterThanOrEqual(2)
  })
})
