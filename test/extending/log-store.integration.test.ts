import { randomBytes, randomUUID } from 'node:crypto'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { storeContract } from '@tokenlib/contracts'
import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openLog, withLog } from '../../examples/extending/log-store.js'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { FOREVER, type Revocation } from '../../packages/tokenlib/src/revocation/revocation.js'
import type { RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import { createPostgresStore } from '../../packages/tokenlib/src/stores/postgres.js'
import { createRedisStore } from '../../packages/tokenlib/src/stores/redis.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { PATIENT } from '../helpers/manager.js'
import {
  describeWithNats,
  describeWithOwnServer,
  describeWithPostgres,
  describeWithRedis,
} from '../helpers/servers/describe-with-servers.js'
import { startNats } from '../helpers/servers/start-nats.js'
import { CLIENT_CONTRACT, WHOLE_CONTRACT } from '../stores/contract-parts.js'

const toEntry = (id: string): Revocation => ({
  kind: 'token',
  id,
  notBefore: FOREVER,
  until: Date.now() + 3_600_000,
})

describeWithRedis('a feed over a log', (redisUrl) => {
  let redis: Redis
  beforeAll(() => void (redis = new Redis(redisUrl)))
  afterAll(() => redis.disconnect())

  describeWithNats('on a NATS server', (natsUrl) => {
    let nats: NatsConnection
    beforeAll(async () => void (nats = await connect({ servers: natsUrl })))
    afterAll(() => nats.close())

    /** As many processes as wanted, on one store and one log. */
    async function start(count: number) {
      const place = randomUUID()
      const open = async () => {
        const store = withLog(createRedisStore(redis, { namespace: place }), await openLog(nats, place))
        await store.prepare({ longestLifetime: 3_600_000 })
        onTestFinished(() => store.close())
        return store
      }
      const stores = []
      while (stores.length < count) stores.push(await open())
      const direct = createRedisStore(redis, { namespace: place })
      await direct.prepare({ longestLifetime: 3_600_000 })
      return {
        stores: stores as [RevocationStore, RevocationStore, ...RevocationStore[]],
        direct,
        place,
        open,
      }
    }

    async function wipe(place: string): Promise<void> {
      await redis.del(await redis.keys(`{tokenlib:${place}}:*`))
    }

    async function readAll(store: RevocationStore, after: string | null = null) {
      const ids: string[] = []
      for (let position = after; ;) {
        const { entries, next, more, reset } = await store.feed(position, { waitMs: 0 })
        ids.push(...entries.map(({ id }) => id))
        if (!more) return { ids, next, reset }
        position = next
      }
    }

    storeContract(
      'over a log',
      {
        open: async (place, clock) =>
          withLog(createRedisStore(redis, { namespace: place, clock }), await openLog(nats, place)),
        isShared: true,
        limitsSessions: true,
        keepsData: true,
        spends: true,
        wipe,
      },
      // What the log does not carry is left to the store, which has the whole contract.
      CLIENT_CONTRACT,
    )

    test('what is revoked at the same time in several processes arrives once, and in one chain', async () => {
      const { stores, open } = await start(4)
      const reader = await open()
      const { next } = await readAll(reader)
      const ids = Array.from({ length: 100 }, (_, at) => `id-${at}`)
      await Promise.all(ids.map((id, at) => (stores[at % 4] as RevocationStore).revoke([toEntry(id)])))
      const read = await readAll(reader, next)
      expect(read.reset).toBe(false)
      expect(read.ids.toSorted()).toEqual(ids.toSorted())
    })

    test('what a process wrote that died before it reached the log arrives with the next revocation', async () => {
      const { stores, direct } = await start(2)
      const { next } = await readAll(stores[1])
      await direct.revoke([toEntry('left behind')])
      expect((await readAll(stores[1], next)).ids).toEqual([])
      await stores[0].revoke([toEntry('next')])
      expect((await readAll(stores[1], next)).ids).toEqual(['left behind', 'next'])
    })

    test('it also arrives without one, once a process repairs the log', async () => {
      const { stores, direct } = await start(2)
      const { next } = await readAll(stores[1])
      await direct.revoke([toEntry('left behind')])
      const now = performance.now()
      vi.spyOn(performance, 'now').mockImplementation(() => now + 60_001)
      await stores[0].feed(next, { waitMs: 0 })
      vi.restoreAllMocks()
      await vi.waitFor(async () => expect((await readAll(stores[1], next)).ids).toEqual(['left behind']))
    })

    test('a log that was emptied makes readers start again, and nothing is missing', async () => {
      const { stores, place } = await start(2)
      await stores[0].revoke([toEntry('before')])
      const { next } = await readAll(stores[1])
      await (await jetstreamManager(nats)).streams.delete(place)
      await openLog(nats, place)
      await stores[0].revoke([toEntry('after')])
      expect((await readAll(stores[1], next)).reset).toBe(true)
      expect((await readAll(stores[1])).ids.toSorted()).toEqual(['after', 'before'])
    })

    test.each([0, 1])(
      'a log with other records, and %i more than before, makes readers start again',
      async (more) => {
        const { stores, place } = await start(2)
        await stores[0].revoke([toEntry('before')])
        const { next } = await readAll(stores[1])
        const { streams } = await jetstreamManager(nats)
        const { state } = await streams.info(place)
        await streams.delete(place)
        await openLog(nats, place)
        for (let seq = 0; seq < state.last_seq + more; seq++)
          await stores[0].revoke([toEntry(`after ${seq}`)])
        expect((await readAll(stores[1], next)).reset).toBe(true)
      },
    )

    test('a store that has lost its history makes readers start again, and what follows arrives', async () => {
      const { stores, place } = await start(2)
      await stores[0].revoke([toEntry('before')])
      const { next } = await readAll(stores[1])
      await wipe(place)
      await stores[0].revoke([toEntry('after')])
      expect((await readAll(stores[1], next)).reset).toBe(true)
      const again = await readAll(stores[1])
      expect(again.ids).toContain('after')
      await stores[0].revoke([toEntry('later')])
      expect((await readAll(stores[1], again.next)).ids).toContain('later')
    })

    test('a reader that is behind what the log still has starts again', async () => {
      const { stores, place, open } = await start(1)
      const { next } = await readAll(stores[0])
      for (let number = 0; number < 5; number++) await stores[0].revoke([toEntry(`id-${number}`)])
      // Nothing was delivered to this one.
      const late = await open()
      expect((await readAll(late, next)).ids).toHaveLength(5)
      await (await jetstreamManager(nats)).streams.purge(place, { keep: 2 })
      expect((await readAll(late, next)).reset).toBe(true)
      expect((await readAll(late)).ids).toHaveLength(5)
    })

    test('a revocation reaches another process without a read of its store', async () => {
      const place = randomUUID()
      const config = new TokenConfig({ JWT_SECRET_KEY: randomBytes(32), ...PATIENT })
      let reads = 0
      const open = async (onRead: () => void) => {
        const store = createRedisStore(redis, { namespace: place })
        const feed: RevocationStore['feed'] = (after, wait) => {
          onRead()
          return store.feed(after, wait)
        }
        const tokens = new TokenManager({
          config,
          store: replicate(withLog({ ...store, feed }, await openLog(nats, place)), { bound: '5s' }),
        })
        onTestFinished(() => tokens.close())
        await tokens.ready()
        return tokens
      }
      const near = await open(() => undefined)
      const far = await open(() => reads++)
      const { accessToken } = await near.sessions.open({ uid: 'ada' })
      const payload = await far.verify(accessToken)
      const before = reads
      await near.logout(payload, { everywhere: true })
      await expect(far.verify(accessToken)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
      expect(reads - before).toBe(0)
    })

    test('a reuse ends the session in every process before it is answered', async () => {
      const { stores } = await start(2)
      const config = new TokenConfig({
        JWT_SECRET_KEY: randomBytes(32),
        JWT_REFRESH_GRACE: 0,
        ...PATIENT,
      })
      const [here, there] = stores.map(
        (store) => new TokenManager({ config, store: replicate(store, { bound: '20s' }) }),
      ) as [TokenManager, TokenManager]
      onTestFinished(() => Promise.all([here.close(), there.close()]).then(() => undefined))
      await Promise.all([here.ready(), there.ready()])
      const first = await here.sessions.open({ uid: 'ada' })
      const second = await here.sessions.refresh(first.refreshToken)
      const third = await here.sessions.refresh(second.refreshToken as string)
      await here.sessions.refresh(third.refreshToken as string)
      const { next } = await readAll(stores[1])
      await expect(here.sessions.refresh(first.refreshToken)).rejects.toMatchObject({
        code: 'REFRESH_TOKEN_REUSED',
      })
      expect((await readAll(stores[1], next)).ids).toHaveLength(1)
    })
  })

  describeWithOwnServer('nats', 'while the log does not answer', () => {
    test('a revocation is not acknowledged, and arrives when the log is back', async () => {
      const server = await startNats()
      onTestFinished(() => server.stop())
      const place = randomUUID()
      const config = new TokenConfig({ JWT_SECRET_KEY: randomBytes(32), JWT_REVOCATION_TIMEOUT: '1s' })
      const open = async () => {
        const nats = await connect({ servers: server.url, reconnectTimeWait: 50, maxReconnectAttempts: -1 })
        const store = withLog(createRedisStore(redis, { namespace: place }), await openLog(nats, place))
        const tokens = new TokenManager({ config, store: replicate(store, { bound: '2s' }) })
        await tokens.ready()
        onTestFinished(async () => {
          await tokens.close()
          await nats.close()
        })
        return tokens
      }
      const [here, there] = [await open(), await open()]
      const { accessToken } = await here.sessions.open({ uid: 'ada' })
      const payload = await here.verify(accessToken)
      await there.verify(accessToken)

      await server.kill()
      await expect(here.logout(payload)).rejects.toMatchObject({ code: 'REVOCATION_UNAVAILABLE' })
      await expect(here.verify(accessToken)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
      await vi.waitFor(
        () => expect(there.verify(accessToken)).rejects.toMatchObject({ code: 'REVOCATION_UNAVAILABLE' }),
        10_000,
      )
      await server.restart()
      await vi.waitFor(
        () => expect(there.verify(accessToken)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' }),
        20_000,
      )
    })
  })
})

describeWithPostgres('a feed of PostgreSQL over a log', (url) => {
  describeWithNats('on a NATS server', (natsUrl) => {
    let nats: NatsConnection
    const pool = new pg.Pool({ connectionString: url })
    beforeAll(async () => {
      nats = await connect({ servers: natsUrl })
      await createPostgresStore(pool).migrate()
    })
    afterAll(async () => {
      await nats.close()
      await pool.end()
    })

    storeContract(
      'over a log',
      {
        open: async (place, clock) =>
          withLog(createPostgresStore(pool, { namespace: place, clock }), await openLog(nats, place)),
        isShared: true,
        limitsSessions: true,
        keepsData: true,
        spends: true,
      },
      // Everything else is the same as with Redis.
      {
        ...WHOLE_CONTRACT,
        describe: (title, run) => (title.endsWith(': feed') ? describe(title, run) : undefined),
      },
    )
  })
})
