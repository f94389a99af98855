import { drizzle } from 'drizzle-orm/postgres-js'
import pg from 'pg'
import postgres from 'postgres'
import { CLIENT_CONTRACT } from './contract-parts.js'
import { type Connection, describePostgres } from './postgres-contract.js'

describePostgres('sql of postgres', (url) => {
  const client = postgres(url)
  return { client, end: () => client.end() }
})

// The clients of the two whole contracts, set up in other ways.
const CLIENTS: Record<string, (url: string) => Connection> = {
  'a Client of pg': (connectionString) => {
    const client = new pg.Client({ connectionString })
    return { client, canWatch: false, open: () => client.connect(), end: () => client.end() }
  },
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
  // Which replaces how this client reads and writes dates and JSON.
  'sql of postgres, as Drizzle leaves it': (url) => {
    const { $client: client } = drizzle(postgres(url))
    return { client, end: () => client.end() }
  },
}

for (const [name, connect] of Object.entries(CLIENTS)) describePostgres(name, connect, CLIENT_CONTRACT)
