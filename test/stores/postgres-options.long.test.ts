import pg from 'pg'
import postgres from 'postgres'
import { type Connection, describePostgres } from './postgres-contract.js'

// The clients of postgres.test.ts, set up in other ways.
const CLIENTS: Record<string, (url: string) => Connection> = {
  'a Pool of pg with named statements': (connectionString) => {
    const client = new pg.Pool({ connectionString }).on('error', () => undefined)
    return { client, options: { namedStatements: true }, end: () => client.end() }
  },
  'sql of postgres, without prepared statements, with its own names and types': (url) => {
    const client = postgres(url, {
      prepare: false,
      transform: postgres.pascal,
      types: { bigint: postgres.BigInt },
    })
    return { client, end: () => client.end() }
  },
}

for (const [name, connect] of Object.entries(CLIENTS)) describePostgres(name, connect)
