import { Redis } from 'ioredis'
import { describeWithRedis } from '../helpers/servers/describe-with-servers.js'
import { fromIoredis, describeRedis } from './redis-contract.js'

// redis-clients.test.ts has the other clients.
describeWithRedis('Redis store', (url) => {
  describeRedis('ioredis', async () => fromIoredis(new Redis(url)))
})
