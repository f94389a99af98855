import { deepEqual, equal, ok } from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { Pool } from 'pg'
import { afterAll, beforeAll, test } from 'vitest'
import { createPostgresStore } from 'tokenlib/postgres'
import {
  describeWithOwnServer,
  describeWithPostgres,
  describeWithRedis,
} from '../helpers/servers/describe-with-servers.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { startWorkerd } from '../helpers/servers/start-workerd.js'

const entry = fileURLToPath(new URL('workers/connections.ts', import.meta.url))
const SECRET = 'x3Jq8vN2xWc5Rt7Yb1Zq8vN2xWc5Rt7Yb1'

interface Answer {
  readonly value?: string
  readonly error?: { readonly code: string; readonly cause: string }
}

/** A Worker in workerd that has these bindings, and how to call it. */
function useWorker(
  texts: Readonly<Record<string, string>>,
): (path: string, body?: string) => Promise<Answer> {
  let server: RunningServer
  beforeAll(async () => {
    const bindings = Object.entries({ SECRET, ...texts }).map(
      ([name, text]) => `(name = "${name}", text = "${text}")`,
    )
    server = await startWorkerd({ main: { entry, bindings } })
  }, 60_000)
  afterAll(() => server.stop())
  return async (path, body = '') => {
    const response = await fetch(`${server.url}/${path}`, { method: 'POST', body })
    return (await response.json()) as Answer
  }
}

function testClient(client: string, send: ReturnType<typeof useWorker>): void {
  const login = async (owner: string): Promise<string> =>
    (await send(`${client}/${owner}/login`, 'ada')).value ?? ''

  test(`${client}: a client for each request works`, async () => {
    const token = await login('own')
    deepEqual(await send(`${client}/own/check`, token), { value: 'ada' })
    deepEqual(await send(`${client}/own/logout`, token), { value: 'ada' })
    equal((await send(`${client}/own/check`, token)).error?.code, 'TOKEN_REVOKED')
  })

  // The client may connect again, so some of these calls succeed; none hangs, and none passes what is revoked.
  test(`${client}: a client of an earlier request is refused within the deadline`, async () => {
    const token = await login('kept')
    const before = [await send(`${client}/kept/check`, token), await send(`${client}/kept/check`, token)]
    const refused = before.find(({ error }) => error?.code === 'REVOCATION_UNAVAILABLE')
    ok(refused !== undefined, JSON.stringify(before))
    ok(refused.error?.cause.includes('request'), refused.error?.cause)
    await send(`${client}/own/logout`, token)
    for (let attempt = 0; attempt < 3; attempt++) {
      const { error } = await send(`${client}/kept/check`, token)
      ok(error?.code === 'TOKEN_REVOKED' || error?.code === 'REVOCATION_UNAVAILABLE', error?.code)
    }
  })
}

describeWithOwnServer('workerd', 'connections of a Worker', () => {
  describeWithRedis('to Redis', (url) => {
    const send = useWorker({ REDIS_URL: url })
    for (const client of ['ioredis', 'redis']) testClient(client, send)
  })

  describeWithPostgres('to PostgreSQL', (url) => {
    beforeAll(async () => {
      const pool = new Pool({ connectionString: url })
      for (const prefix of ['pg_', 'postgres_']) await createPostgresStore(pool, { prefix }).migrate()
      await pool.end()
    })
    const send = useWorker({ DATABASE_URL: url })
    for (const client of ['pg', 'postgres']) testClient(client, send)
  })
})
