import pg from 'pg'
import { createPostgresStore } from 'tokenlib/stores/postgres'
import { afterAll, beforeAll } from 'vitest'
import { describeWithPostgres } from '../helpers/servers/describe-with-servers.js'
import { EVERY_DAY, testHistories } from './histories/test-histories.js'

describeWithPostgres('a store on PostgreSQL', (url) => {
  const client = new pg.Pool({ connectionString: url }).on('error', () => undefined)
  beforeAll(() => createPostgresStore(client).migrate())
  afterAll(() => client.end())
  testHistories(
    { open: (namespace, clock) => createPostgresStore(client, { namespace, clock }), isShared: true },
    EVERY_DAY,
  )
})
