import pg from 'pg'
import postgres from 'postgres'
import { type Connection, describePostgres } from './postgres-contract.js'

const CLIENTS: Record<string, (url: string) => Connection> = {
  'a Pool of pg': (connectionString) => {
    const client = new pg.Pool({ connectionString }).on('error', () => undefined)
    return { client, end: () => client.end() }
  },
  'sql of postgres': (url) => {
    const client = postgres(url)
    return { client, end: () => client.end() }
  },
}

for (const [name, connect] of Object.entries(CLIENTS)) describePostgres(name, connect)
