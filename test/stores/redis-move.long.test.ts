import { Cluster } from 'ioredis'
import { createRedisStore } from 'tokenlib/redis'
import { expect, onTestFinished, test, vi } from 'vitest'
import { FOREVER } from '../../packages/tokenlib/src/revocation/revocation.js'
import type { RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import { SWEEP } from '../../packages/tokenlib/src/stores/redis/revocation-scripts.js'
import { systemClock } from '../../packages/tokenlib/src/time.js'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import { ALL, HOUR, session, start, token } from './redis-fixture.js'

const CLUSTER = { 'cluster-enabled': 'yes', 'cluster-announce-ip': '127.0.0.1' }
const COUNT = 50

/** Two nodes; the first has all slots. */
async function startCluster() {
  const [source, target] = [await start(CLUSTER), await start(CLUSTER)]
  await target.client.cluster('RESET', 'HARD')
  await target.client.call('CLUSTER', 'MEET', '127.0.0.1', String(source.server.port))
  for (const { client } of [source, target]) {
    await vi.waitFor(async () => {
      const info = await client.cluster('INFO')
      expect(info).toMatch(/cluster_known_nodes:2/)
      expect(info).toMatch(/cluster_state:ok/)
    }, 20_000)
  }
  const cluster = new Cluster([{ host: '127.0.0.1', port: source.server.port }], {
    retryDelayOnTryAgain: 1,
    maxRedirections: 3,
  })
  onTestFinished(() => cluster.disconnect())
  const slot = await source.client.cluster('KEYSLOT', '{tokenlib:tokenlib}:meta')
  const ids = { source: await source.client.cluster('MYID'), target: await target.client.cluster('MYID') }
  return {
    cluster,
    keys: () => source.client.keys('*'),
    beginMove: async () => {
      await target.client.cluster('SETSLOT', slot, 'IMPORTING', ids.source)
      await source.client.cluster('SETSLOT', slot, 'MIGRATING', ids.target)
    },
    move: (keys: readonly string[]) =>
      source.client.call(
        'MIGRATE',
        '127.0.0.1',
        String(target.server.port),
        '',
        '0',
        '5000',
        'KEYS',
        ...keys,
      ),
    endMove: async () => {
      for (const { client } of [target, source]) await client.cluster('SETSLOT', slot, 'NODE', ids.target)
    },
  }
}

describeWithOwnServer('redis', 'A Redis cluster that moves the slot of a store', () => {
  test('does not walk through the keys of one node alone', { timeout: 60_000 }, async () => {
    const { cluster, keys, beginMove, move, endMove } = await startCluster()
    let ahead = 5 * HOUR
    let beforeSweep = async (): Promise<void> => undefined
    const watched = {
      async call(command: string, args: string[]) {
        if (args[0] === SWEEP.digest) await beforeSweep()
        return cluster.call(command, args)
      },
    }
    const store = createRedisStore(watched, {
      clock: () => systemClock() + ahead,
    }) as Required<RevocationStore>
    await store.prepare({ longestLifetime: HOUR })
    const opened = await Promise.all(Array.from({ length: COUNT }, () => store.sessions.open(session())))
    ahead = 0
    const revoke = () => store.revoke([{ ...ALL, notBefore: 0, until: 0 }])

    // All keys have moved but the sessions.
    beforeSweep = async () => {
      beforeSweep = async () => undefined
      await beginMove()
      await move((await keys()).filter((key) => !key.includes(':s:')))
    }
    await expect(revoke()).rejects.toThrow(/TRYAGAIN|redirections/)
    await move(await keys())
    await endMove()
    await revoke()
    const found = await store.lookup(opened.map(({ sid }) => ({ kind: 'session', id: sid })))
    expect(found).toEqual(opened.map(() => FOREVER))
  })

  test('never hides a revocation from a lookup', { timeout: 60_000 }, async () => {
    const { cluster, keys, beginMove, move, endMove } = await startCluster()
    const store = createRedisStore(cluster)
    await store.prepare({ longestLifetime: HOUR })
    await store.revoke([token('gone'), token('here')])
    const lookups = async () =>
      (
        await Promise.allSettled([
          store.lookup([token('gone')]),
          store.lookup([ALL, token('here')]),
          store.lookup([ALL, token('gone'), token('absent')]),
        ])
      ).map(({ status }) => status)
    const expected = ['rejected', 'rejected', 'rejected']

    await beginMove()
    await move((await keys()).filter((key) => key.endsWith(':gone')))
    expect(await lookups()).toEqual(expected)
    await move((await keys()).filter((key) => !key.endsWith(':here')))
    expect(await lookups()).toEqual(expected)
    await move(await keys())
    await endMove()
    expect(await store.lookup([token('gone'), token('here'), ALL])).toEqual([FOREVER, FOREVER, undefined])
  })
})
