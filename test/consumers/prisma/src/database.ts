import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { createPostgresStore } from 'tokenlib/postgres'
import { PrismaClient } from './generated/client.js'

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'] })
pool.on('error', (error) => console.error(error.message))

const prisma = new PrismaClient({ adapter: new PrismaPg(pool) })
const store = createPostgresStore(pool)

export { pool, prisma, store }
