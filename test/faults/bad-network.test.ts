import { expect, test } from 'vitest'
import {
  describeWithMysql,
  describeWithPostgres,
  describeWithRedis,
} from '../helpers/servers/describe-with-servers.js'
import { runBadNetwork } from './bad-network.js'
import type { ClientName } from './harness/place.js'

const LIMIT = 120_000
const TITLE = 'lets no revoked token pass, whether closed, slow, silent or cut, by %s'

async function trouble(url: string, client: ClientName): Promise<void> {
  // A deadline that a loaded machine keeps, since a slow network must not make a difference.
  const config = { JWT_REVOCATION_TIMEOUT: '1s' }
  const { hostname: host, port } = new URL(url)
  const target = { url, host, port: Number(port) }
  const outcome = await runBadNetwork(target, { client, troubleMs: 300, perSecond: 200, config })
  expect(outcome).toMatchObject({
    revokedAccepted: 0,
    strange: 0,
    refusedOtherwise: 0,
    slowWrong: 0,
    holeOtherwise: 0,
    stuck: 0,
  })
}

describeWithRedis('a network to Redis', (url) => {
  test.each(['ioredis', 'redis'] as const)(TITLE, (client) => trouble(url, client), LIMIT)
})

describeWithPostgres('a network to PostgreSQL', (url) => {
  test.each(['pg', 'postgres'] as const)(TITLE, (client) => trouble(url, client), LIMIT)
})

describeWithMysql('a network to MariaDB', (url) => {
  test.each(['mysql2', 'mariadb'] as const)(TITLE, (client) => trouble(url, client), LIMIT)
})
