import { strict as assert } from 'node:assert'
import { TokenConfig, TokenManager } from 'tokenlib'
import { pool, prisma, store } from './database.js'

// A single connection: a second pool would show.
pool.options.max = 1
await store.migrate()
await prisma.$executeRaw`create table users (id text primary key, email text not null unique)`

const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: crypto.randomUUID() }), store })
await tokens.ready()

const user = await prisma.user.create({ data: { id: 'ada', email: 'ada@example.com' } })
const { accessToken } = await tokens.sessions.open({ uid: user.id })
assert.equal((await tokens.verify(accessToken)).sub, 'ada')
await tokens.logout(await tokens.verify(accessToken))
await assert.rejects(tokens.verify(accessToken), { code: 'TOKEN_REVOKED' })

// Inside of a transaction of Prisma, which has the only connection, the store has to wait for it.
const open = await prisma.$transaction(async (transaction) => {
  const opening = tokens.sessions.open({ uid: 'grace' })
  await transaction.user.create({ data: { id: 'grace', email: 'grace@example.com' } })
  return { opening }
})
assert.equal(typeof (await open.opening).accessToken, 'string')
assert.equal(await prisma.user.count(), 2)

const connections = await prisma.$queryRaw<{ count: bigint }[]>`
  select count(*) from pg_stat_activity where datname = current_database()`
assert.deepEqual(connections, [{ count: 1n }])

await tokens.close()
await prisma.$disconnect()
// Disconnecting leaves a pool of the application open.
assert.equal((await pool.query('select 1')).rowCount, 1)
await pool.end()
