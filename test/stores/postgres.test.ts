import pg from 'pg'
import { describePostgres } from './postgres-contract.js'

// postgres-clients.test.ts has the other clients.
describePostgres('a Pool of pg', (connectionString) => {
  const client = new pg.Pool({ connectionString }).on('error', () => undefined)
  return { client, end: () => client.end() }
})
