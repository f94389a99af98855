// Compiled by `npm run typecheck`, never run: each line that must not compile has @ts-expect-error.
import { DatabaseSync } from '@photostructure/sqlite'
import { Cluster, Redis } from 'ioredis'
import { Client, Pool } from 'pg'
import postgres from 'postgres'
import { createClient, createCluster } from 'redis'
import { z } from 'zod'
import {
  type RefreshedTokens,
  type RevocationStore,
  type SessionInfo,
  TokenConfig,
  TokenManager,
} from 'tokenlib'
import { defineStore } from 'tokenlib/kit'
import { createMemoryStore } from 'tokenlib/memory'
import { createPostgresStore } from 'tokenlib/postgres'
import { createRedisStore } from 'tokenlib/redis'
import { createSqliteStore } from 'tokenlib/sqlite'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function same<A, B>(...differ: Equal<A, B> extends true ? [] : ['types differ']): void

const config = new TokenConfig({ JWT_SECRET_KEY: 's' })

// Every client a store is made for fits as it comes.
for (const revocation of [
  createMemoryStore(),
  createSqliteStore(new DatabaseSync(':memory:')),
  createRedisStore(new Redis()),
  createRedisStore(new Cluster([])),
  createRedisStore(createClient()),
  createRedisStore(createCluster({ rootNodes: [] })),
  createPostgresStore(new Pool()),
  createPostgresStore(new Client()),
  createPostgresStore(postgres()),
]) {
  new TokenManager({ config, store: revocation })
}
// @ts-expect-error a client is not a store
new TokenManager({ config, store: new Redis() })
// @ts-expect-error nor is one kind of client another
createPostgresStore(new Redis())
// @ts-expect-error nor the other way round
createRedisStore(new Pool())

// A store of one's own has the methods, and nothing else.
declare const own: RevocationStore
new TokenManager({ config, store: own })
same<ReturnType<typeof defineStore<RevocationStore>>, RevocationStore>()
const { lookup: _lookup, ...incomplete } = own
// @ts-expect-error a store that cannot look anything up
defineStore(incomplete)

const claims = z.object({ role: z.enum(['admin', 'user']) })
const tokens = new TokenManager({ config, claims, store: createMemoryStore() })
const payload = await tokens.accessTokenRequired(new Request('http://localhost'))
same<Awaited<ReturnType<typeof tokens.sessions.refresh>>, RefreshedTokens>()
same<Awaited<ReturnType<typeof tokens.sessions.list>>, readonly SessionInfo[]>()
await tokens.logout(payload)
await tokens.revoke.token(payload)
await tokens.revoke.session(payload)
await tokens.revoke.session('sid')
await tokens.sessions.endOthers(payload)
await tokens.sessions.refresh('token', { access: { expiresIn: '5m' }, ip: '192.0.2.1' })
// @ts-expect-error describeUser says what the claims are
await tokens.sessions.refresh('token', { claims: { role: 'user' } })
// @ts-expect-error a user is named by a string
await tokens.revoke.user(7)

tokens.on('rejected', ({ code, sub }) => {
  same<typeof sub, string | null>()
  if (code === 'REFRESH_TOKEN_REUSED') return
  // @ts-expect-error there is no such code
  if (code === 'TOKEN_LOST') return
})
tokens.on('reuseDetected', ({ presented, current }) => void (presented - current))
// @ts-expect-error there is no such event
tokens.on('revokd', () => {})
// @ts-expect-error nor such a fact
tokens.on('issued', ({ token }) => void token)
