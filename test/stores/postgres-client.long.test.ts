import pg from 'pg'
import { describePostgres } from './postgres-contract.js'

// A file of its own, because it takes as long as all other clients together: one connection does one thing at a time.
describePostgres('a Client of pg', (connectionString) => {
  const client = new pg.Client({ connectionString })
  return { client, canWatch: false, open: () => client.connect(), end: () => client.end() }
})
