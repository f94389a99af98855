import { Redis } from 'ioredis'
import { createRedisStore } from 'tokenlib/stores/redis'
import { afterAll } from 'vitest'
import { describeWithRedis } from '../helpers/servers/describe-with-servers.js'
import { EVERY_DAY, testHistories } from './histories/test-histories.js'

describeWithRedis('a store on Redis', (url) => {
  const client = new Redis(url)
  afterAll(() => client.disconnect())
  testHistories(
    { open: (namespace, clock) => createRedisStore(client, { namespace, clock }), isShared: true },
    EVERY_DAY,
  )
})
