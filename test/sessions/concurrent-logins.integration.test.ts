import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TokenConfig, TokenManager, type RevocationStore, type TokenPair } from 'tokenlib'
import { createPostgresStore } from 'tokenlib/postgres'
import { createRedisStore } from 'tokenlib/redis'
import type { LimitedOpening, SessionStore } from '../../packages/tokenlib/src/revocation/session-store.js'
import { openToken, PATIENT, SECRET } from '../helpers/manager.js'
import { describeWithPostgres, describeWithRedis } from '../helpers/servers/describe-with-servers.js'

const ADA = { uid: 'ada' }
const LIMIT = { maxSessions: 3 }
const PATIENTLY = { timeout: 20_000 }

const sidOf = ({ accessToken }: TokenPair): string => String(openToken(accessToken).claims['sid'])
const createManager = (store: RevocationStore, timeout: string): TokenManager => {
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_REVOCATION_TIMEOUT: timeout })
  return new TokenManager({ config, store })
}

/** A store, and what it has answered to logins with a limit, in time or not. */
function watchOpenings(store: RevocationStore) {
  const sessions = store.sessions as Required<SessionStore>
  const openings: Promise<LimitedOpening>[] = []
  const openLimited: Required<SessionStore>['openLimited'] = (...given) => {
    const opening = sessions.openLimited(...given)
    openings.push(opening)
    return opening
  }
  const readOpened = async (): Promise<string[]> => {
    const settled = await Promise.allSettled(openings)
    return settled.flatMap((one) =>
      one.status === 'fulfilled' && one.value.outcome === 'opened' ? [one.value.sid] : [],
    )
  }
  return { store: { ...store, sessions: { ...sessions, openLimited } }, readOpened }
}

/** Thirty logins of one user at the same time; the sessions of those that were not refused. */
async function logInAtOnce(tokens: TokenManager): Promise<string[]> {
  const settled = await Promise.allSettled(Array.from({ length: 30 }, () => tokens.sessions.open(ADA, LIMIT)))
  for (const one of settled) {
    if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'REVOCATION_UNAVAILABLE' })
  }
  return settled.flatMap((one) => (one.status === 'fulfilled' ? [sidOf(one.value)] : []))
}

function concurrentLogIns(createStore: () => RevocationStore): void {
  test('leave sessions that were handed out, as many as the limit allows', async () => {
    const { store, readOpened } = watchOpenings(createStore())
    const tokens = createManager(store, '250ms')
    await tokens.ready()
    const handedOut = await logInAtOnce(tokens)
    const late = (await readOpened()).filter((sid) => !handedOut.includes(sid))
    const readLive = async () => (await store.sessions.list('ada', LIST)).map(({ sid }) => sid)
    await expect
      .poll(async () => (await readLive()).filter((sid) => late.includes(sid)), PATIENTLY)
      .toEqual([])
    const live = await readLive()
    expect(handedOut).toEqual(expect.arrayContaining(live))
    // A store that is slow may answer one of them too late. That one has ended a session, and no other one did.
    expect(late.length).toBeLessThanOrEqual(1)
    expect(live.length).toBeLessThanOrEqual(3)
    expect(live.length + late.length).toBeGreaterThanOrEqual(Math.min(3, handedOut.length))
  })
}

const LIST = { limit: 1000, before: null, idleMs: Number.MAX_SAFE_INTEGER }

describeWithPostgres('concurrent logins of a user on PostgreSQL', (url) => {
  const pool = new pg.Pool({ connectionString: url }).on('error', () => undefined)
  const createStore = (client: pg.Pool | pg.Client = pool, namespace: string = randomUUID()) =>
    createPostgresStore(client, { namespace })
  beforeAll(() => createStore().migrate())
  afterAll(() => pool.end())

  concurrentLogIns(createStore)

  test('end nothing once they are refused because they had to wait for another process', async () => {
    const inTransaction = new pg.Client({ connectionString: url })
    await inTransaction.connect()
    try {
      const { store, readOpened } = watchOpenings(createStore(pool, 'waiting'))
      const other = createManager(createStore(inTransaction, 'waiting'), PATIENT.JWT_REVOCATION_TIMEOUT)
      const tokens = createManager(store, '50ms')
      await tokens.ready()
      const handedOut = [await other.sessions.open(ADA, LIMIT), await other.sessions.open(ADA, LIMIT)]
      await inTransaction.query('begin')
      handedOut.push(await other.sessions.open(ADA, LIMIT))
      expect(await logInAtOnce(tokens)).toEqual([])
      // PostgreSQL counts the deadline from the arrival of a statement, which is later on a busy machine.
      await inTransaction.query('select pg_sleep(0.5)')
      await inTransaction.query('commit')
      expect(await readOpened()).toEqual([])
      const live = (await other.sessions.list('ada')).map(({ id }) => id)
      expect(live.toSorted()).toEqual(handedOut.map(sidOf).toSorted())
    } finally {
      await inTransaction.end()
    }
  })
})

describeWithRedis('concurrent logins of a user on Redis', (url) => {
  const redis = new Redis(url)
  afterAll(() => redis.disconnect())

  concurrentLogIns(() => createRedisStore(redis, { namespace: randomUUID() }))

  test('that are refused because its answers are late end at most one session, and leave none behind', async () => {
    let held: Promise<void> | null = null
    let release = (): void => undefined
    const client = {
      async call(command: string, args: string[]) {
        const answer = await redis.call(command, ...args)
        await held
        return answer
      },
    }
    const { store, readOpened } = watchOpenings(createRedisStore(client, { namespace: randomUUID() }))
    const other = createManager(store, PATIENT.JWT_REVOCATION_TIMEOUT)
    const tokens = createManager(store, '50ms')
    await tokens.ready()
    const handedOut: string[] = []
    for (let count = 0; count < 3; count++) handedOut.push(sidOf(await other.sessions.open(ADA, LIMIT)))
    const readLive = async () => (await other.sessions.list('ada')).map(({ id }) => id)
    // Logins of the same millisecond are in the order of their ids.
    const newestFirst = await readLive()
    expect(newestFirst.toSorted()).toEqual(handedOut.toSorted())
    held = new Promise((resolve) => (release = resolve))
    expect(await logInAtOnce(tokens)).toEqual([])
    release()
    expect(await readOpened()).toHaveLength(4)
    await expect.poll(readLive, PATIENTLY).toEqual(newestFirst.slice(0, 2))
  })
})
